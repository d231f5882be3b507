// SPDX-License-Identifier: MIT
// The driver's API over the emulated runtime: contexts, and what libgstcuda asks of a driver.
// Streams and memory belong to the context that was current; kernels reach that context's only.

#include <string.h>

#include <mutex>
#include <set>
#include <vector>

#include "cuda.h"
#include "emu.h"
#include "tensor_map.h"

struct CUctx_st {
    bool destroyed;
};
static CUctx_st primary;
static std::mutex mutex;
static std::set<CUcontext> known;
static thread_local std::vector<CUcontext> stack;

CUcontext emu::current() { return stack.empty() ? &primary : stack.back(); }

// The runtime would report its errors again.
static CUresult result(cudaError_t error)
{
    if (error)
        cudaGetLastError();
    return (CUresult) error;
}

// Most calls need a context, and make none by themselves.
static CUresult in_context(cudaError_t (*f)(void *), void *data)
{
    if (stack.empty())
        return CUDA_ERROR_INVALID_CONTEXT;
    return stack.back()->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : result(f(data));
}

template <class F> static CUresult in_context(F f)
{
    return in_context([](void *data) { return (*(F *) data)(); }, &f);
}

// ---- devices

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *version) { return result(cudaDriverGetVersion(version)); }
CUresult cuDeviceGetCount(int *count) { return result(cudaGetDeviceCount(count)); }

CUresult cuGetErrorName(CUresult error, const char **text)
{
    *text = cudaGetErrorName((cudaError_t) error);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    *text = cudaGetErrorString((cudaError_t) error);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    cudaDeviceProp prop;
    const CUresult error = result(cudaGetDeviceProperties(&prop, device));
    if (!error && bytes > 0) {
        strncpy(name, prop.name, bytes - 1);
        name[bytes - 1] = 0;
    }
    return error;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    if (attribute != CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)
        return result(cudaDeviceGetAttribute(value, (cudaDeviceAttr) attribute, device));
    *value = 512;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice, CUdevice)
{
    *can = 0;
    return CUDA_SUCCESS;
}

// ---- contexts

CUresult cuCtxCreate_v2(CUcontext *context, unsigned, CUdevice device)
{
    if (device)
        return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard<std::mutex> lock(mutex);
    *context = new CUctx_st {};
    known.insert(*context);
    stack.push_back(*context);
    return CUDA_SUCCESS;
}

// What comes after `params` in a call that has one argument more than its caller thinks is
// whatever the registers held.
enum { CTX_FLAGS = 0xff };

CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count, unsigned flags,
                        CUdevice device)
{
    if (params || count || flags & ~CTX_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    return cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned flags,
                        CUdevice device)
{
    return params || flags & ~CTX_FLAGS ? CUDA_ERROR_INVALID_VALUE
                                        : cuCtxCreate_v2(context, flags, device);
}

// It stays behind as a tombstone: who still uses it is told so.
CUresult cuCtxDestroy_v2(CUcontext context)
{
    const std::lock_guard<std::mutex> lock(mutex);
    if (!known.count(context) || context->destroyed)
        return CUDA_ERROR_INVALID_CONTEXT;
    context->destroyed = true;
    emu::release_all(context);
    if (!stack.empty() && stack.back() == context)
        stack.pop_back();
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    const std::lock_guard<std::mutex> lock(mutex);
    if (context != &primary && !known.count(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context->destroyed)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    stack.push_back(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    if (stack.empty())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context)
        *context = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = emu::current();
    return CUDA_SUCCESS;
}

// ---- memory

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
    const emu::memory *m = emu::in_arena((void *) at) ? emu::owner((void *) at) : nullptr;
    if (!m || !m->live)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *) data = m->context; break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *) data = m->pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *) data = 0; break;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
    return in_context([=] { return cudaMalloc((void **) at, bytes); });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *at, size_t *pitch, size_t width, size_t height, unsigned)
{
    *pitch = (width + 511) / 512 * 512; // as hardware has it
    return cuMemAlloc_v2(at, *pitch * height);
}

CUresult cuMemAllocHost_v2(void **at, size_t bytes)
{
    return in_context([=] { return cudaMallocHost(at, bytes); });
}

CUresult cuMemFree_v2(CUdeviceptr at)
{
    return in_context([=] { return cudaFree((void *) at); });
}

CUresult cuMemFreeHost(void *at)
{
    return in_context([=] { return cudaFreeHost(at); });
}

static CUresult copy(const CUDA_MEMCPY2D *c, CUstream stream, bool wait)
{
    if (c->srcMemoryType > CU_MEMORYTYPE_DEVICE || c->dstMemoryType > CU_MEMORYTYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    const bool from = c->srcMemoryType == CU_MEMORYTYPE_DEVICE;
    const bool to   = c->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    const char *src = from ? (const char *) c->srcDevice : (const char *) c->srcHost;
    char *dst       = to ? (char *) c->dstDevice : (char *) c->dstHost;
    src += c->srcY * c->srcPitch + c->srcXInBytes;
    dst += c->dstY * c->dstPitch + c->dstXInBytes;
    const cudaMemcpyKind kind = from ? to ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost
                                : to ? cudaMemcpyHostToDevice
                                     : cudaMemcpyHostToHost;
    return in_context([=] {
        return wait ? cudaMemcpy2D(dst, c->dstPitch, src, c->srcPitch, c->WidthInBytes, c->Height,
                                   kind)
                    : cudaMemcpy2DAsync(dst, c->dstPitch, src, c->srcPitch, c->WidthInBytes,
                                        c->Height, kind, stream);
    });
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c) { return copy(c, nullptr, true); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream s) { return copy(c, s, false); }

// ---- streams

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return in_context([=] { return cudaStreamCreateWithFlags(stream, flags); });
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return in_context([=] { return cudaStreamDestroy(stream); });
}

CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }

CUresult cuStreamSynchronize(CUstream stream)
{
    return in_context([=] { return cudaStreamSynchronize(stream); });
}

// ---- tensor maps

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *base, const cuuint64_t *size, const cuuint64_t *stride,
                                const cuuint32_t *box, const cuuint32_t *step,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill)
{
    emu::tensor_map m = { emu::TENSOR_MAP, rank, (const char *) base, {}, {}, {}, 16u << swizzle };
    if (type != CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 || interleave || fill)
        return CUDA_ERROR_NOT_SUPPORTED; // by the emulator
    if (rank < 1 || rank > 5 || (uintptr_t) map % 64 || (uintptr_t) base % 16 || swizzle > 3)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned r = 0; r < rank; r++) {
        if (size[r] < 1 || size[r] > 1ull << 32 || box[r] < 1 || box[r] > 256 || step[r] != 1)
            return CUDA_ERROR_INVALID_VALUE;
        if (r && (stride[r - 1] % 16 || stride[r - 1] >= 1ull << 40))
            return CUDA_ERROR_INVALID_VALUE;
        m.size[r] = (uint32_t) size[r], m.box[r] = box[r], m.stride[r] = r ? stride[r - 1] : 2;
    }
    if (box[0] * 2 % 16 || (swizzle && box[0] * 2 > m.swizzle))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(map, &m, sizeof(m));
    return CUDA_SUCCESS;
}

// ---- what the runtime finds

// As the driver: the newest that is no newer than the version asked for. Its prototype may be another
// one than the caller's header has. conform.py compares each with PFN_<name>_v<since> of the toolkit.
static const struct {
    const char *name;
    unsigned since;
    void *entry;
} entry_points[] = {
    { "cuCtxCreate", 3020, (void *) cuCtxCreate_v2 },
    { "cuCtxCreate", 11040, (void *) cuCtxCreate_v3 },
    { "cuCtxCreate", 12050, (void *) cuCtxCreate_v4 },
    { "cuCtxDestroy", 4000, (void *) cuCtxDestroy_v2 },
    { "cuCtxPushCurrent", 4000, (void *) cuCtxPushCurrent_v2 },
    { "cuCtxPopCurrent", 4000, (void *) cuCtxPopCurrent_v2 },
    { "cuCtxGetCurrent", 4000, (void *) cuCtxGetCurrent },
    { "cuPointerGetAttribute", 4000, (void *) cuPointerGetAttribute },
    { "cuMemAllocPitch", 3020, (void *) cuMemAllocPitch_v2 },
    { "cuMemAllocHost", 3020, (void *) cuMemAllocHost_v2 },
    { "cuMemFree", 3020, (void *) cuMemFree_v2 },
    { "cuMemFreeHost", 2000, (void *) cuMemFreeHost },
    { "cuMemcpy2DAsync", 3020, (void *) cuMemcpy2DAsync_v2 },
    { "cuStreamCreate", 2000, (void *) cuStreamCreate },
    { "cuStreamDestroy", 4000, (void *) cuStreamDestroy_v2 },
    { "cuStreamSynchronize", 2000, (void *) cuStreamSynchronize },
    { "cuTensorMapEncodeTiled", 12000, (void *) cuTensorMapEncodeTiled },
};

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **entry, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *found)
{
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    *entry = nullptr;
    for (const auto &e : entry_points) { // of a name the older ones come first
        if (strcmp(symbol, e.name))
            continue;
        if (version >= e.since)
            *entry = e.entry;
        result = *entry ? cudaDriverEntryPointSuccess : cudaDriverEntryPointVersionNotSufficent;
    }
    if (found)
        *found = result;
    return cudaSuccess;
}

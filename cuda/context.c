// SPDX-License-Identifier: MIT
// The context of a queue: the caller's, or the one that is current.

#include "backend.h"

// version: of CUDA, since when the call has had the arguments that its type has. A driver gives
// the newest that is no newer, and later ones may have other arguments.
static void *find(const char *name, unsigned version)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *entry = NULL;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found);
    if (error == cudaSuccess && found == cudaDriverEntryPointSuccess)
        return entry;
    cudaGetLastError();
    return NULL;
}

bool sam_cuda_driver_find(struct sam_queue *q)
{
    struct sam_cuda_driver *driver = &sam_cuda(q)->driver;
    driver->push    = (__typeof__(driver->push)) find("cuCtxPushCurrent", 4000);
    driver->pop     = (__typeof__(driver->pop)) find("cuCtxPopCurrent", 4000);
    driver->current = (__typeof__(driver->current)) find("cuCtxGetCurrent", 4000);
    driver->pointer = (__typeof__(driver->pointer)) find("cuPointerGetAttribute", 4000);
    driver->tensor_map = (__typeof__(driver->tensor_map)) find("cuTensorMapEncodeTiled", 12000);
    if (!driver->push || !driver->pop || !driver->current || !driver->pointer)
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "CUDA: the driver lacks the calls for contexts; use backend 'cpu'");
    return !q->status;
}

// The driver makes a context that was destroyed current, as if it were there, and what follows
// ends the process. But it knows the pinned memory of a context no more.
static bool is_alive(const struct sam_cuda *cuda)
{
    const CUdeviceptr ring = (CUdeviceptr) (uintptr_t) cuda->ring;
    unsigned type;
    return !ring || cuda->driver.pointer(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ring)
           != CUDA_ERROR_INVALID_VALUE;
}

void sam_cuda_enter(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    if (!q->is_given)
        return;
    const CUresult error = is_alive(cuda) ? cuda->driver.push((CUcontext) q->context)
                                          : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (error == CUDA_SUCCESS) {
        cuda->entered++;
        return;
    }
    cuda->is_lost = true;
    sam_queue_fail(q, SAM_EDEVICE,
                   "CUDA: the context that was given cannot be made current: driver error %d",
                   (int) error);
}

void sam_cuda_leave(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    CUcontext left;
    if (!cuda->entered)
        return;
    cuda->entered--;
    cuda->driver.pop(&left);
}

// Memory of a pool, or mapped by hand, has a device but no context.
bool sam_cuda_holds(struct sam_queue *q, const void *p)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    const CUdeviceptr at = (CUdeviceptr) (uintptr_t) p;
    CUcontext context = NULL;
    unsigned type = 0;
    int device = -1;
    if (cuda->driver.pointer(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS ||
        type != CU_MEMORYTYPE_DEVICE ||
        cuda->driver.pointer(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) != CUDA_SUCCESS ||
        device != cuda->device)
        return false;
    return cuda->driver.pointer(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at) != CUDA_SUCCESS ||
           !context || context == (CUcontext) q->context;
}

// SPDX-License-Identifier: MIT
// The part of the CUDA driver API that the emulator has, and the types that libgstcuda's headers
// name: names, values and signatures as in the toolkit's header (conform.py compares them).
#ifndef EMU_CUDA_H
#define EMU_CUDA_H

#include "cuda_runtime_api.h"

#define CUDAAPI

typedef enum cudaError_enum {
    CUDA_SUCCESS                 = 0,
    CUDA_ERROR_INVALID_VALUE     = 1,
    CUDA_ERROR_OUT_OF_MEMORY     = 2,
    CUDA_ERROR_NO_DEVICE         = 100,
    CUDA_ERROR_INVALID_DEVICE    = 101,
    CUDA_ERROR_INVALID_CONTEXT   = 201,
    CUDA_ERROR_INVALID_HANDLE    = 400,
    CUDA_ERROR_NOT_FOUND         = 500,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_NOT_SUPPORTED     = 801,
    CUDA_ERROR_UNKNOWN           = 999,
} CUresult;

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUarray_st *CUarray;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraphicsResource_st *CUgraphicsResource;
typedef unsigned long long CUtexObject;

// Only named.
typedef struct CUDA_RESOURCE_DESC_st CUDA_RESOURCE_DESC;
typedef struct CUDA_TEXTURE_DESC_st CUDA_TEXTURE_DESC;
typedef struct CUexecAffinityParam_st CUexecAffinityParam;
typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef struct CUDA_RESOURCE_VIEW_DESC_st CUDA_RESOURCE_VIEW_DESC;
typedef enum CUgraphicsRegisterFlags_enum {
    CU_GRAPHICS_REGISTER_FLAGS_NONE = 0
} CUgraphicsRegisterFlags;
typedef enum CUgraphicsMapResourceFlags_enum {
    CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE = 0
} CUgraphicsMapResourceFlags;

typedef enum CUdevice_attribute_enum {
    CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT        = 14,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
} CUdevice_attribute;

typedef enum CUpointer_attribute_enum {
    CU_POINTER_ATTRIBUTE_CONTEXT        = 1,
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE    = 2,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
} CUpointer_attribute;

typedef enum CUmemorytype_enum {
    CU_MEMORYTYPE_HOST    = 1,
    CU_MEMORYTYPE_DEVICE  = 2,
    CU_MEMORYTYPE_ARRAY   = 3,
    CU_MEMORYTYPE_UNIFIED = 4,
} CUmemorytype;

typedef struct CUDA_MEMCPY2D_st {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

typedef struct CUtensorMap_st {
#ifdef __cplusplus
    alignas(128)
#else
    _Alignas(128)
#endif
    cuuint64_t opaque[16];
} CUtensorMap;

typedef enum CUtensorMapDataType_enum {
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9
} CUtensorMapDataType;

typedef enum CUtensorMapInterleave_enum {
    CU_TENSOR_MAP_INTERLEAVE_NONE = 0
} CUtensorMapInterleave;

typedef enum CUtensorMapSwizzle_enum {
    CU_TENSOR_MAP_SWIZZLE_NONE = 0,
    CU_TENSOR_MAP_SWIZZLE_32B  = 1,
    CU_TENSOR_MAP_SWIZZLE_64B  = 2,
    CU_TENSOR_MAP_SWIZZLE_128B = 3,
} CUtensorMapSwizzle;

typedef enum CUtensorMapL2promotion_enum {
    CU_TENSOR_MAP_L2_PROMOTION_NONE    = 0,
    CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
} CUtensorMapL2promotion;

typedef enum CUtensorMapFloatOOBfill_enum {
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0
} CUtensorMapFloatOOBfill;

#define cuCtxPopCurrent  cuCtxPopCurrent_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2

EMU_API CUresult cuInit(unsigned int flags);
EMU_API CUresult cuDriverGetVersion(int *version);
EMU_API CUresult cuGetErrorName(CUresult error, const char **text);
EMU_API CUresult cuGetErrorString(CUresult error, const char **text);
EMU_API CUresult cuDeviceGet(CUdevice *device, int ordinal);
EMU_API CUresult cuDeviceGetCount(int *count);
EMU_API CUresult cuDeviceGetName(char *name, int bytes, CUdevice device);
EMU_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);
EMU_API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
EMU_API CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
EMU_API CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count,
                                unsigned int flags, CUdevice device);
EMU_API CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
                                CUdevice device);
EMU_API CUresult cuCtxDestroy_v2(CUcontext context);
EMU_API CUresult cuCtxPushCurrent_v2(CUcontext context);
EMU_API CUresult cuCtxPopCurrent_v2(CUcontext *context);
EMU_API CUresult cuCtxGetCurrent(CUcontext *context);
EMU_API CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at);
EMU_API CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes);
EMU_API CUresult cuMemAllocPitch_v2(CUdeviceptr *at, size_t *pitch, size_t width, size_t height,
                                    unsigned int element);
EMU_API CUresult cuMemAllocHost_v2(void **at, size_t bytes);
EMU_API CUresult cuMemFree_v2(CUdeviceptr at);
EMU_API CUresult cuMemFreeHost(void *at);
EMU_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
EMU_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
EMU_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
EMU_API CUresult cuStreamDestroy_v2(CUstream stream);
EMU_API CUresult cuStreamDestroy(CUstream stream); // the first version, by which libgstcuda asks
EMU_API CUresult cuStreamSynchronize(CUstream stream);
EMU_API CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type,
                                        cuuint32_t rank, void *base, const cuuint64_t *size,
                                        const cuuint64_t *stride, const cuuint32_t *box,
                                        const cuuint32_t *step, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle,
                                        CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill fill);

#endif // EMU_CUDA_H

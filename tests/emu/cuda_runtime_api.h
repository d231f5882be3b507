// SPDX-License-Identifier: MIT
// The part of the CUDA runtime API that the emulator has: names, values and
// signatures as in the toolkit's header (conform.py compares the two).
#ifndef EMU_CUDA_RUNTIME_API_H
#define EMU_CUDA_RUNTIME_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define EMU_API      extern "C"
#define EMU_ELSE(v)  = v // default argument
#else
#define EMU_API
#define EMU_ELSE(v)
#endif

#define EMU_VECTOR(name, T)                                                            \
    struct name##1 { T x; };                                                           \
    struct __attribute__((aligned(2 * sizeof(T)))) name##2 { T x, y; };                \
    struct name##3 { T x, y, z; };                                                     \
    struct __attribute__((aligned(sizeof(T) < 4 ? 4 * sizeof(T) : 16))) name##4 { T x, y, z, w; }; \
    typedef struct name##1 name##1;                                                    \
    typedef struct name##2 name##2;                                                    \
    typedef struct name##3 name##3;                                                    \
    typedef struct name##4 name##4;
EMU_VECTOR(char, signed char)
EMU_VECTOR(uchar, unsigned char)
EMU_VECTOR(short, short)
EMU_VECTOR(ushort, unsigned short)
EMU_VECTOR(int, int)
EMU_VECTOR(uint, unsigned)
EMU_VECTOR(float, float)
EMU_VECTOR(longlong, long long)
EMU_VECTOR(ulonglong, unsigned long long)
EMU_VECTOR(double, double)

typedef struct dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
#endif
} dim3;

#define EMU_ERRORS(X)                                                                              \
    X(cudaSuccess, 0, "no error")                                                                  \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                               \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                          \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                    \
    X(cudaErrorInsufficientDriver, 35,                                                             \
      "CUDA driver version is insufficient for CUDA runtime version")                              \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                       \
    X(cudaErrorNoKernelImageForDevice, 209,                                                        \
      "no kernel image is available for execution on the device")                                  \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                              \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")        \
    X(cudaErrorNotReady, 600, "device not ready")                                                  \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                    \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")               \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                      \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                                       \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                   \
    X(cudaErrorNotSupported, 801, "operation not supported")                                       \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")  \
    X(cudaErrorStreamCaptureInvalidated, 901,                                                      \
      "operation failed due to a previous error during capture")                                   \
    X(cudaErrorStreamCaptureMerge, 902,                                                            \
      "operation would result in a merge of separate capture sequences")                           \
    X(cudaErrorStreamCaptureUnmatched, 903, "capture was not initiated in this stream")            \
    X(cudaErrorStreamCaptureUnjoined, 904, "capture sequence contains a fork that was not joined") \
    X(cudaErrorStreamCaptureIsolation, 905,                                                        \
      "dependency created on uncaptured work in another stream")                                   \
    X(cudaErrorStreamCaptureImplicit, 906,                                                         \
      "the legacy stream would depend on a capturing blocking stream")                             \
    X(cudaErrorCapturedEvent, 907,                                                                 \
      "operation not permitted on an event last recorded in a capturing stream")                   \
    X(cudaErrorUnknown, 999, "unknown error")
#define EMU_ENUM(name, value, text) name = value,
enum cudaError { EMU_ERRORS(EMU_ENUM) };
typedef enum cudaError cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost     = 0,
    cudaMemcpyHostToDevice   = 1,
    cudaMemcpyDeviceToHost   = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault        = 4,
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal      = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed     = 2,
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone        = 0,
    cudaStreamCaptureStatusActive      = 1,
    cudaStreamCaptureStatusInvalidated = 2,
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize    = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock            = 1,
    cudaDevAttrMaxSharedMemoryPerBlock       = 8,
    cudaDevAttrMultiProcessorCount           = 16,
    cudaDevAttrComputeCapabilityMajor        = 75,
    cudaDevAttrComputeCapabilityMinor        = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin  = 97,
};
enum {
    cudaStreamDefault = 0,
    cudaStreamNonBlocking = 1,
    cudaEventDefault = 0,
    cudaEventDisableTiming = 2,
    cudaHostAllocDefault = 0
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
    int major, minor, multiProcessorCount, maxThreadsPerBlock, warpSize, regsPerBlock, l2CacheSize;
    int integrated, unifiedAddressing;
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
};

enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1,
    cudaDriverEntryPointVersionNotSufficent = 2, // as NVIDIA spells it
};
enum { cudaEnableDefault = 0 };

typedef struct CUstream_st *cudaStream_t;
#define cudaStreamLegacy    ((cudaStream_t) 0x1)
#define cudaStreamPerThread ((cudaStream_t) 0x2)
typedef struct CUevent_st *cudaEvent_t;
#define CUDART_CB
typedef void (CUDART_CB *cudaHostFn_t)(void *priv);
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

EMU_API cudaError_t cudaGetLastError(void);
EMU_API cudaError_t cudaPeekAtLastError(void);
EMU_API const char *cudaGetErrorString(cudaError_t error);
EMU_API const char *cudaGetErrorName(cudaError_t error);

EMU_API cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **entry,
                                                     unsigned int version, unsigned long long flags,
                                                     enum cudaDriverEntryPointQueryResult *found
                                                         EMU_ELSE(NULL));
EMU_API cudaError_t cudaGetDeviceCount(int *count);
EMU_API cudaError_t cudaDriverGetVersion(int *version);
EMU_API cudaError_t cudaRuntimeGetVersion(int *version);
EMU_API cudaError_t cudaGetDevice(int *device);
EMU_API cudaError_t cudaSetDevice(int device);
EMU_API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
EMU_API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
EMU_API cudaError_t cudaDeviceSynchronize(void);
EMU_API cudaError_t cudaDeviceReset(void);
EMU_API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
EMU_API cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value);

EMU_API cudaError_t cudaMalloc(void **p, size_t bytes);
EMU_API cudaError_t cudaFree(void *p);
EMU_API cudaError_t cudaMallocHost(void **p, size_t bytes);
EMU_API cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
EMU_API cudaError_t cudaFreeHost(void *p);
EMU_API cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream);
EMU_API cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
EMU_API cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
EMU_API cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
EMU_API cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes,
                                    enum cudaMemcpyKind kind, cudaStream_t stream EMU_ELSE(0));
EMU_API cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                 size_t width, size_t height, enum cudaMemcpyKind kind);
EMU_API cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                      size_t width, size_t height, enum cudaMemcpyKind kind,
                                      cudaStream_t stream EMU_ELSE(0));
EMU_API cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes,
                                            size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream EMU_ELSE(0));
EMU_API cudaError_t cudaMemset(void *dst, int value, size_t bytes);
EMU_API cudaError_t cudaMemsetAsync(void *dst, int value, size_t bytes,
                                    cudaStream_t stream EMU_ELSE(0));

EMU_API cudaError_t cudaStreamCreate(cudaStream_t *stream);
EMU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
EMU_API cudaError_t cudaStreamDestroy(cudaStream_t stream);
EMU_API cudaError_t cudaStreamSynchronize(cudaStream_t stream);
EMU_API cudaError_t cudaStreamQuery(cudaStream_t stream);
EMU_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                        unsigned flags EMU_ELSE(0));
EMU_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *priv);
EMU_API cudaError_t cudaEventCreate(cudaEvent_t *event);
EMU_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
EMU_API cudaError_t cudaEventDestroy(cudaEvent_t event);
EMU_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream EMU_ELSE(0));
EMU_API cudaError_t cudaEventSynchronize(cudaEvent_t event);
EMU_API cudaError_t cudaEventQuery(cudaEvent_t event);
EMU_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

EMU_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
EMU_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
EMU_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                          enum cudaStreamCaptureStatus *status);
EMU_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                         unsigned long long flags EMU_ELSE(0));
EMU_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
EMU_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
EMU_API cudaError_t cudaGraphDestroy(cudaGraph_t graph);

#endif // EMU_CUDA_RUNTIME_API_H

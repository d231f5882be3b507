// SPDX-License-Identifier: MIT
// The part of cuBLAS that the emulator has; see cuda_runtime_api.h.
#ifndef EMU_CUBLAS_V2_H
#define EMU_CUBLAS_V2_H

#include "cuda_runtime_api.h"

typedef enum {
    CUBLAS_STATUS_SUCCESS          = 0,
    CUBLAS_STATUS_NOT_INITIALIZED  = 1,
    CUBLAS_STATUS_INVALID_VALUE    = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR   = 14,
    CUBLAS_STATUS_NOT_SUPPORTED    = 15,
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType_t;
typedef enum {
    CUBLAS_COMPUTE_32F           = 68,
    CUBLAS_COMPUTE_32F_FAST_16F  = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
} cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
} cublasMath_t;
typedef struct cublasContext *cublasHandle_t;

#define cublasCreate       cublasCreate_v2
#define cublasDestroy      cublasDestroy_v2
#define cublasSetStream    cublasSetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSgemm        cublasSgemm_v2
EMU_API cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
EMU_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
EMU_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
EMU_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes);
EMU_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
EMU_API const char *cublasGetStatusString(cublasStatus_t status);
EMU_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *a, cudaDataType_t atype, int lda, long long stridea,
    const void *b, cudaDataType_t btype, int ldb, long long strideb, const void *beta, void *c,
    cudaDataType_t ctype, int ldc, long long stridec, int batches, cublasComputeType_t compute,
    cublasGemmAlgo_t algo);
EMU_API cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                    cublasOperation_t transb, int m, int n, int k,
                                    const void *alpha, const void *a, cudaDataType_t atype, int lda,
                                    const void *b, cudaDataType_t btype, int ldb, const void *beta,
                                    void *c, cudaDataType_t ctype, int ldc,
                                    cublasComputeType_t compute, cublasGemmAlgo_t algo);
EMU_API cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                                      cublasOperation_t transb, int m, int n, int k,
                                      const float *alpha, const float *a, int lda, const float *b,
                                      int ldb, const float *beta, float *c, int ldc);

#endif // EMU_CUBLAS_V2_H

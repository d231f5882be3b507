// SPDX-License-Identifier: MIT
// cuBLAS and cuBLASLt by plain loops: float sums, one rounding at the end.

#include <stdlib.h>
#include <string.h>

#include <vector>

#include "cublasLt.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "warm.h"

namespace {

struct matrix {
    char *p;
    cudaDataType_t type;
    int64_t rows, cols, down, right, batch; // strides, in elements
    int batches;

    size_t at(int64_t r, int64_t c, int b) const
    {
        return (size_t) (r * down + c * right + b * batch);
    }
    size_t size() const { return type == CUDA_R_32F ? 4 : 2; }
    float load(size_t i) const
    {
        const uint16_t *half = (const uint16_t *) p + i;
        return type == CUDA_R_32F   ? ((const float *) p)[i]
               : type == CUDA_R_16F ? emu::fp16::widen(*half)
                                    : emu::bf16::widen(*half);
    }
    void store(size_t i, float v) const
    {
        if (type == CUDA_R_32F)
            ((float *) p)[i] = v;
        else
            ((uint16_t *) p)[i] = type == CUDA_R_16F ? emu::fp16::narrow(v) : emu::bf16::narrow(v);
    }
    matrix transposed(bool yes) const
    {
        return yes ? matrix{ p, type, cols, rows, right, down, batch, batches } : *this;
    }
};

struct product { // d = epilogue(alpha a b + beta c + bias)
    matrix a, b, c, d, bias;
    float alpha, beta;
    int epilogue;
    void *workspace;
    size_t workspace_bytes;
};

// Every element the library may touch lies in one live allocation.
bool good(const matrix &m, const char *name)
{
    const size_t bytes = (m.at(m.rows - 1, m.cols - 1, m.batches - 1) + 1) * m.size();
    if (emu::inside(m.p, bytes))
        return true;
    emu::finding(nullptr, "cuBLAS: matrix %s of %zu bytes at %s", name, bytes,
                 emu::describe(m.p).c_str());
    return false;
}

void run(const product &x)
{
    const int64_t m = x.d.rows, n = x.d.cols, k = x.a.cols;
    std::vector<float> b((size_t) (k * n)), sum((size_t) n);
    if (x.workspace)
        memset(x.workspace, 0xff, x.workspace_bytes);
    for (int z = 0; z < x.d.batches; z++) {
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                b[l * n + j] = x.b.load(x.b.at(l, j, z));
        for (int64_t i = 0; i < m; i++) {
            std::fill(sum.begin(), sum.end(), 0.0f);
            for (int64_t l = 0; l < k; l++) {
                const float a = x.a.load(x.a.at(i, l, z));
                for (int64_t j = 0; j < n; j++)
                    sum[j] += a * b[l * n + j];
            }
            for (int64_t j = 0; j < n; j++) {
                float v = x.alpha * sum[j];
                if (x.beta != 0.0f)
                    v += x.beta * x.c.load(x.c.at(i, j, z));
                if (x.epilogue & CUBLASLT_EPILOGUE_BIAS)
                    v += x.bias.load(i);
                if (x.epilogue & CUBLASLT_EPILOGUE_RELU)
                    v = fmaxf(v, 0.0f);
                if (x.epilogue & CUBLASLT_EPILOGUE_GELU)
                    v = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
                x.d.store(x.d.at(i, j, z), v);
            }
        }
    }
}

cublasStatus_t submit(const product &x, cudaStream_t stream)
{
    if (x.a.rows != x.d.rows || x.b.cols != x.d.cols || x.a.cols != x.b.rows ||
        x.a.batches != x.d.batches || x.b.batches != x.d.batches)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!good(x.a, "a") || !good(x.b, "b") || !good(x.d, "d") ||
        (x.beta != 0.0f && !good(x.c, "c")) ||
        (x.epilogue & CUBLASLT_EPILOGUE_BIAS && !good(x.bias, "bias")))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    emu::plan("product %d %zd %zd %zd", x.d.batches, x.d.rows, x.d.cols, x.a.cols);
    const auto op = [x] { if (!emu::plans() && !emu_is_idle) run(x); };
    return emu::enqueue(stream, op) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

} // namespace

// ---- cuBLAS

struct cublasContext {
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = new cublasContext {};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    *handle = { stream, nullptr, 0 }; // the real one forgets the workspace, too
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    handle->workspace       = workspace;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "the operation completed successfully"
           : status == CUBLAS_STATUS_NOT_INITIALIZED ? "the library was not initialized"
           : status == CUBLAS_STATUS_INVALID_VALUE ? "an unsupported value or parameter was passed"
           : status == CUBLAS_STATUS_EXECUTION_FAILED
               ? "the function failed to launch on the GPU"
               : "the requested functionality is not supported";
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType_t atype,
                                          int lda, long long stridea, const void *b,
                                          cudaDataType_t btype, int ldb, long long strideb,
                                          const void *beta, void *c, cudaDataType_t ctype, int ldc,
                                          long long stridec, int batches,
                                          cublasComputeType_t compute, cublasGemmAlgo_t)
{
    if (m < 1 || n < 1 || k < 1 || lda < (transa ? k : m) || ldb < (transb ? n : k) || ldc < m)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (compute < CUBLAS_COMPUTE_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const matrix ma = {
        (char *) a, atype, transa ? k : m, transa ? m : k, 1, lda, stridea, batches
    };
    const matrix mb = {
        (char *) b, btype, transb ? n : k, transb ? k : n, 1, ldb, strideb, batches
    };
    const matrix mc = { (char *) c, ctype, m, n, 1, ldc, stridec, batches };
    return submit({ ma.transposed(transa),
                    mb.transposed(transb),
                    mc,
                    mc,
                    {},
                    *(const float *) alpha,
                    *(const float *) beta,
                    CUBLASLT_EPILOGUE_DEFAULT,
                    handle->workspace,
                    handle->workspace_bytes },
                  handle->stream);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *a, cudaDataType_t atype, int lda, const void *b,
                            cudaDataType_t btype, int ldb, const void *beta, void *c,
                            cudaDataType_t ctype, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo)
{
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, atype, lda, 0, b,
                                      btype, ldb, 0, beta, c, ctype, ldc, 0, 1, compute, algo);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, int m, int n, int k, const float *alpha,
                              const float *a, int lda, const float *b, int ldb, const float *beta,
                              float *c, int ldc)
{
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, CUDA_R_32F, lda, b, CUDA_R_32F,
                        ldb, beta, c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

// ---- cuBLASLt

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t {
    int transa, transb, epilogue, bias_type;
    void *bias;
};
struct cublasLtMatrixLayoutOpaque_t {
    cudaDataType_t type;
    int64_t rows, cols, ld, batch;
    int order, batches;

    matrix of(const void *p) const
    {
        const bool row = order == CUBLASLT_ORDER_ROW;
        return { (char *) p, type, rows, cols, row ? ld : 1, row ? 1 : ld, batch, batches };
    }
};
struct cublasLtMatmulPreferenceOpaque_t {
    uint64_t workspace;
    uint32_t schemes, alignment[4]; // of A, B, C, D
};

template <class T> static cublasStatus_t create(T **p, T value)
{
    *p = new T(value);
    return CUBLAS_STATUS_SUCCESS;
}

template <class T> static cublasStatus_t destroy(T *p) { delete p; return CUBLAS_STATUS_SUCCESS; }

template <class T> static cublasStatus_t set(T *p, const void *value, size_t bytes)
{
    if (bytes != sizeof(T))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(p, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

// EMU_CUBLASLT=0: as on a machine where the library does not work.
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    const char *works = getenv("EMU_CUBLASLT");
    return works && !atoi(works) ? CUBLAS_STATUS_NOT_INITIALIZED : create(handle, {});
}

const char *cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    if (compute < CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return create(desc, { CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, -1, nullptr });
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy(desc); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attr,
                                              const void *value, size_t bytes)
{
    switch (attr) {
    case CUBLASLT_MATMUL_DESC_TRANSA:         return set(&desc->transa, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:         return set(&desc->transb, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:       return set(&desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:   return set(&desc->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return set(&desc->bias_type, value, bytes);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    return create(layout, { type, (int64_t) rows, (int64_t) cols, ld, 0, CUBLASLT_ORDER_COL, 1 });
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attr,
                                                const void *value, size_t bytes)
{
    switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER:                return set(&layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:          return set(&layout->batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(&layout->batch, value, bytes);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *pref)
{
    return create(pref, { 0, CUBLASLT_REDUCTION_SCHEME_MASK, { 256, 256, 256, 256 } });
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref)
{
    return destroy(pref);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void *value, size_t bytes)
{
    switch (attr) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:   return set(&pref->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return set(&pref->schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        return set(&pref->alignment[attr - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
                   bytes);
    }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

// What an algorithm was chosen for, and is good for.
struct algorithm {
    uint64_t workspace;
    uint32_t alignment[4];
};
static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t), "");

static int64_t width(cublasLtMatrixLayout_t l)
{
    return l->ld * (l->type == CUDA_R_32F ? 4 : 2);
}

// A bias has the type of D, in a product of floats.
static bool is_supported(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t c,
                         cublasLtMatrixLayout_t d)
{
    return c->type == d->type && (!(desc->epilogue & CUBLASLT_EPILOGUE_BIAS) ||
                                  desc->bias_type < 0 || desc->bias_type == d->type);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t pref, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    algorithm algo = { pref->workspace, {} };
    const cublasLtMatrixLayout_t layout[] = { a, b, c, d };
    memcpy(algo.alignment, pref->alignment, sizeof(algo.alignment));
    *found = 0;
    for (int i = 0; i < 4; i++) // rows that are less aligned than the first need another one
        while (width(layout[i]) % algo.alignment[i])
            algo.alignment[i] /= 2;
    if (!is_supported(desc, c, d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *found = wanted > 0;
    if (wanted > 0) {
        results[0] = { {}, (size_t) pref->workspace, CUBLAS_STATUS_SUCCESS, 1.0f, {} };
        memcpy(&results[0].algo, &algo, sizeof(algo));
    }
    return CUBLAS_STATUS_SUCCESS;
}

// What the chosen algorithm may not be given; the real one reads and writes beyond, or faults.
static bool fits(const cublasLtMatmulAlgo_t *chosen, const void *const (&p)[4],
                 const void *workspace, size_t workspace_bytes)
{
    algorithm algo;
    memcpy(&algo, chosen, sizeof(algo));
    for (int i = 0; i < 4; i++)
        if (p[i] && algo.alignment[i] && (uintptr_t) p[i] % algo.alignment[i]) {
            emu::finding(nullptr, "cuBLASLt: matrix %c at %p, the algorithm wants %u bytes aligned",
                         "ABCD"[i], p[i], algo.alignment[i]);
            return false;
        }
    return workspace_bytes >= algo.workspace && (!workspace_bytes || workspace);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t adesc, const void *b,
                              cublasLtMatrixLayout_t bdesc, const void *beta, const void *c,
                              cublasLtMatrixLayout_t cdesc, void *d, cublasLtMatrixLayout_t ddesc,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    if (!is_supported(desc, cdesc, ddesc))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (algo && !fits(algo, { a, b, c, d }, workspace, workspace_bytes))
        return CUBLAS_STATUS_INVALID_VALUE;
    const cudaDataType_t bias_type =
        desc->bias_type < 0 ? ddesc->type : (cudaDataType_t) desc->bias_type;
    const matrix bias = { (char *) desc->bias, bias_type, ddesc->rows, 1, 1, 0, 0, 1 };
    return submit({ adesc->of(a).transposed(desc->transa), bdesc->of(b).transposed(desc->transb),
                    cdesc->of(c), ddesc->of(d), bias, *(const float *) alpha, *(const float *) beta,
                    desc->epilogue, workspace, workspace_bytes },
                  stream);
}

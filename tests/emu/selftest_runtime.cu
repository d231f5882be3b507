// SPDX-License-Identifier: MIT
// Tests of the emulator: the runtime API, cuBLAS and cuBLASLt.

#include "selftest.h"

static __global__ void twice(float *p, int n)
{
    if (threadIdx.x < (unsigned) n)
        p[threadIdx.x] *= 2.0f;
}

void contexts()
{
    CUcontext a, b;
    CUdeviceptr p;
    CUstream s;
    check(cuMemAlloc_v2(&p, 256) == CUDA_ERROR_INVALID_CONTEXT, "no context yet");
    check(!cuCtxCreate_v2(&a, 0, 0) && !cuMemAlloc_v2(&p, 256) && !cuStreamCreate(&s, 0),
          "memory and a stream of a context");
    EMU_LAUNCH(twice, 1, 64, 0, s, (float *) p, 64);
    silent(true, "a context's own memory and stream");
    check(!cuCtxCreate_v2(&b, 0, 0), "a second context");
    EMU_LAUNCH(twice, 1, 64, 0, s, (float *) p, 64);
    check(cudaGetLastError() == cudaErrorInvalidResourceHandle, "a stream of another context");
    EMU_LAUNCH(twice, 1, 64, 0, 0, (float *) p, 64);
    caught("memory of another context", ALWAYS, "device memory of 256 bytes",
           cudaErrorIllegalAddress);
    CUcontext owner, popped;
    check(!cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p) && owner == a,
          "whose memory it is");
    check(!cuCtxPopCurrent(&popped) && popped == b && !cuCtxDestroy_v2(b), "popped");
    check(!cuStreamDestroy_v2(s) && !cuMemFree_v2(p) && !cuCtxDestroy_v2(a), "destroyed");
    check(cuCtxPushCurrent(a) == CUDA_ERROR_CONTEXT_IS_DESTROYED, "and gone");
}

void runtime()
{
    on_device<float> a(64);
    for (int i = 0; i < 64; i++)
        a.host[i] = i;
    a.up();
    EMU_LAUNCH(twice, 1, 2048, 0, 0, a.p, 64);
    check(cudaGetLastError() == cudaErrorInvalidConfiguration, "too many threads");
    EMU_LAUNCH(twice, dim3(1, 70000), 32, 0, 0, a.p, 64);
    check(cudaGetLastError() == cudaErrorInvalidConfiguration, "too many blocks");
    EMU_LAUNCH(twice, 1, 32, 60000, 0, a.p, 64);
    check(cudaGetLastError() == cudaErrorInvalidValue, "too much shared memory");
    check(cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000) ==
              cudaSuccess,
          "attribute");
    EMU_LAUNCH(twice, 1, 32, 60000, 0, a.p, 0);
    check(cudaGetLastError() == cudaSuccess, "allowed by the attribute");
    check(cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 240000) ==
              cudaErrorInvalidValue,
          "attribute over the device's limit");
    cudaGetLastError();

    cudaStream_t s, t;
    cudaEvent_t e, f;
    float *pinned;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreate(&e);
    cudaEventCreate(&f);
    cudaMallocHost(&pinned, 64 * sizeof(float));
    EMU_LAUNCH(twice, 1, 64, 0, s, a.p, 64);
    cudaMemcpyAsync(pinned, a.p, 64 * sizeof(float), cudaMemcpyDeviceToHost, s);
    check(std::isnan(pinned[1]), "a result read too early is not there");
    cudaStreamSynchronize(s);
    check(pinned[1] == 2, "after the synchronisation it is");

    EMU_LAUNCH(twice, 1, 64, 0, s, a.p, 64);
    cudaMemcpyAsync(pinned, a.p, 64 * sizeof(float), cudaMemcpyDeviceToHost, t);
    cudaStreamSynchronize(t);
    check(pinned[1] == 2, "a stream that waits for no event comes too early");
    cudaEventRecord(e, s);
    check(cudaEventQuery(e) == cudaErrorNotReady, "event not ready");
    cudaStreamWaitEvent(t, e, 0);
    cudaMemcpyAsync(pinned, a.p, 64 * sizeof(float), cudaMemcpyDeviceToHost, t);
    cudaEventRecord(f, t);
    cudaEventSynchronize(f);
    float ms;
    check(pinned[1] == 4 && cudaEventElapsedTime(&ms, e, f) == cudaSuccess && ms >= 0,
          "one that waits does not");

    cudaGraph_t graph;
    cudaGraphExec_t exec = nullptr;
    float *none;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    EMU_LAUNCH(twice, 1, 64, 0, s, a.p, 64);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(t, e, 0);
    EMU_LAUNCH(twice, 1, 64, 0, t, a.p, 64);
    cudaEventRecord(f, t);
    cudaStreamWaitEvent(s, f, 0);
    cudaMemcpyAsync(pinned, a.p, 64 * sizeof(float), cudaMemcpyDeviceToHost, s);
    check(cudaStreamEndCapture(s, &graph) == cudaSuccess &&
              cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess,
          "capture over two streams");
    a.down();
    check(a.host[1] == 4, "a capture runs nothing");
    cudaGraphLaunch(exec, s);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    check(pinned[1] == 64, "a graph replays");
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);

    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    check(cudaMalloc(&none, 4) == cudaErrorStreamCaptureUnsupported, "cudaMalloc in a capture");
    check(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureInvalidated && !graph,
          "... spoils it");
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    check(cudaMalloc(&none, 4) == cudaSuccess, "cudaMalloc in a relaxed capture");
    check(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported,
          "synchronise in a capture");
    cudaStreamEndCapture(s, &graph);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(t, e, 0);
    EMU_LAUNCH(twice, 1, 64, 0, t, a.p, 64);
    check(cudaStreamEndCapture(s, &graph) == cudaErrorStreamCaptureUnjoined,
          "a fork that is not joined");
    cudaFree(none);
    cudaGetLastError();

    check(cudaMemcpy(a.host.data(), a.p, 300, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue,
          "copy past the end");
    check(cudaMemcpy(a.p, a.host.data(), 256, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue,
          "copy the wrong way");
    check(cudaMalloc(&none, (size_t) 1 << 40) == cudaErrorMemoryAllocation, "out of memory");
    cudaGetLastError();
    cudaFreeHost(pinned);
    cudaEventDestroy(e);
    cudaEventDestroy(f);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    silent(true, "nothing else found");
}

void blas()
{
    enum { M = 37, N = 20, K = 50, Z = 2 };
    on_device<half> w((size_t) Z * M * K), x((size_t) Z * N * K), y((size_t) Z * N * M);
    on_device<half> bias(M);
    on_device<char> work(1024);
    fill(w);
    fill(x);
    fill(bias);
    auto want = [&](int z, int i, int j, bool with_bias) {
        double sum = with_bias ? (float) bias.host[i] : 0;
        for (int l = 0; l < K; l++)
            sum += (double) (float) w.host[(z * M + i) * K + l] *
                   (double) (float) x.host[(z * N + j) * K + l];
        return with_bias ? 0.5 * sum * (1 + tanh(0.7978845608 * (sum + 0.044715 * sum * sum * sum)))
                         : sum;
    };
    auto error = [&](bool with_bias) {
        y.down();
        double worst = 0;
        for (int z = 0; z < Z; z++)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++)
                    worst = worse(worst, fabs((float) y.host[(z * N + j) * M + i] -
                                              want(z, i, j, with_bias)));
        return worst;
    };
    const float one = 1, zero = 0;
    cublasHandle_t h;
    cublasCreate(&h);
    check(cublasGemmStridedBatchedEx(h, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &one, w.p, CUDA_R_16F, K,
                                     M * K, x.p, CUDA_R_16F, K, N * K, &zero, y.p, CUDA_R_16F, M,
                                     N * M, Z, CUBLAS_COMPUTE_32F,
                                     CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS &&
              error(false) < 0.01,
          "cublasGemmStridedBatchedEx");
    check(cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, M, N * Z + 1, K, &one, w.p, CUDA_R_16F, K, x.p,
                       CUDA_R_16F, K, &zero, y.p, CUDA_R_16F, M, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_EXECUTION_FAILED &&
              strstr(emu_findings(), "matrix b"),
          "cuBLAS past the end of a matrix");
    emu_forget();
    cublasDestroy(h);

    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t d;
    cublasLtMatrixLayout_t lw, lx, ly;
    cublasLtMatmulPreference_t pref;
    cublasLtMatmulHeuristicResult_t found;
    int num;
    const cublasOperation_t trans = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
    const int batches = Z;
    const int64_t sw = M * K, sx = N * K, sy = N * M;
    const uint64_t bytes = 1024;
    cublasLtCreate(&lt);
    cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &trans, sizeof(trans));
    cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.p, sizeof(bias.p));
    cublasLtMatrixLayoutCreate(&lw, CUDA_R_16F, K, M, K);
    cublasLtMatrixLayoutCreate(&lx, CUDA_R_16F, K, N, K);
    cublasLtMatrixLayoutCreate(&ly, CUDA_R_16F, M, N, M);
    const cublasLtMatrixLayout_t layout[] = { lw, lx, ly };
    const int64_t stride[] = { sw, sx, sy };
    for (int i = 0; i < 3; i++) {
        cublasLtMatrixLayoutSetAttribute(layout[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches,
                                         sizeof(batches));
        cublasLtMatrixLayoutSetAttribute(layout[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                         &stride[i], sizeof(stride[i]));
    }
    cublasLtMatmulPreferenceCreate(&pref);
    cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                         sizeof(bytes));
    cublasLtMatmulAlgoGetHeuristic(lt, d, lw, lx, ly, ly, pref, 1, &found, &num);
    check(num == 1 &&
              cublasLtMatmul(lt, d, &one, w.p, lw, x.p, lx, &zero, y.p, ly, y.p, ly, &found.algo,
                             work.p, 1024, 0) == CUBLAS_STATUS_SUCCESS &&
              error(true) < 0.01,
          "cublasLtMatmul, bias and GELU");
    cublasLtMatmulPreferenceDestroy(pref);
    for (cublasLtMatrixLayout_t l : layout)
        cublasLtMatrixLayoutDestroy(l);
    cublasLtMatmulDescDestroy(d);
    cublasLtDestroy(lt);
}

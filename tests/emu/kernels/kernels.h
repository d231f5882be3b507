// SPDX-License-Identifier: MIT
// Two kernels in the style of an inference engine, as test cases for the emulator.
#ifndef KERNELS_H
#define KERNELS_H

#include "mma.cuh"

void gemm_bf16(__nv_bfloat16 *dst, const __nv_bfloat16 *a, const __nv_bfloat16 *w,
               const float *bias, int m, int n, int k, cudaStream_t stream);
void gemm_f16(half *dst, const half *a, const half *w, const float *bias, int m, int n, int k,
              cudaStream_t stream);

// dst = softmax(scale q k^T) v for each of `heads` heads of 64 channels: q and
// dst are [heads][rows][64], k and v are [heads][keys][64].
void attention_bf16(__nv_bfloat16 *dst, const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                    const __nv_bfloat16 *v, int heads, int rows, int keys, float scale,
                    cudaStream_t stream);

#endif // KERNELS_H

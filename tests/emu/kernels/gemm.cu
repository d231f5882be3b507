// SPDX-License-Identifier: MIT
#include "kernels.h"
#include "mma.cuh"

// dst[m][n] = sum over k of a[m][k] w[n][k], plus bias[n].
// Shape: a block makes 64 x 64 of dst with four warps of 32 x 32 each, and walks
// along k in steps of 32 with three stages of cp.async.
// Needs: k a multiple of 8, n even.
enum { TILE = 64, STEP = 32, STAGES = 3, THREADS = 128 };

template <typename T> struct stage {
    T a[TILE][STEP], w[TILE][STEP];
};

// Rows are 64 bytes; the swizzle spreads 8 of them over all banks.
template <typename T> static __device__ T *at(T (*tile)[STEP], int row, int chunk)
{
    return tile[row] + 8 * (chunk ^ (row / 2 % 4));
}

template <typename T>
static __device__ void load_tile(T (*tile)[STEP], const T *src, int row0, int rows, int k0, int k)
{
    for (int i = threadIdx.x; i < TILE * STEP / 8; i += THREADS) {
        const int row = i / 4, chunk = i % 4;
        const bool valid = row0 + row < rows && k0 + 8 * chunk < k;
        cp_async_16(at(tile, row, chunk),
                    valid ? src + (size_t) (row0 + row) * k + k0 + 8 * chunk : src, valid);
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
gemm_kernel(T *dst, const T *a, const T *w, const float *bias, int m, int n, int k)
{
    extern __shared__ __align__(128) unsigned char smem[];
    stage<T> *stages = reinterpret_cast<stage<T> *>(smem);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
    const int wm = warp / 2 * 32, wn = warp % 2 * 32;
    const int steps = (k + STEP - 1) / STEP;

    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) {
            load_tile(stages[s].a, a, m0, m, s * STEP, k);
            load_tile(stages[s].w, w, n0, n, s * STEP, k);
        }
        cp_async_commit();
    }

    float acc[2][4][4] = {};
    for (int s = 0; s < steps; s++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads(); // the stage is there for all, and all have left the one before
        if (s + STAGES - 1 < steps) {
            stage<T> *next = &stages[(s + STAGES - 1) % STAGES];
            load_tile(next->a, a, m0, m, (s + STAGES - 1) * STEP, k);
            load_tile(next->w, w, n0, n, (s + STAGES - 1) * STEP, k);
        }
        cp_async_commit();

        stage<T> *now = &stages[s % STAGES];
#pragma unroll
        for (int kk = 0; kk < STEP / 8; kk += 2) {
            uint32_t fa[2][4], fw[2][4];
            for (int i = 0; i < 2; i++) {
                ldmatrix_x4(fa[i], at(now->a, wm + 16 * i + lane % 16, kk + lane / 16));
                ldmatrix_x4(fw[i],
                            at(now->w, wn + 16 * i + lane / 16 * 8 + lane % 8, kk + lane / 8 % 2));
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    mma_m16n8k16<T>(acc[i][j], fa[i], &fw[j / 2][j % 2 * 2]);
        }
    }

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < 2; h++) {
                const int row = m0 + wm + 16 * i + 8 * h + lane / 4,
                          col = n0 + wn + 8 * j + lane % 4 * 2;
                if (row >= m || col >= n)
                    continue;
                dst[(size_t) row * n + col]     = (T) (acc[i][j][2 * h] + bias[col]);
                dst[(size_t) row * n + col + 1] = (T) (acc[i][j][2 * h + 1] + bias[col + 1]);
            }
}

template <typename T>
static void gemm(T *dst, const T *a, const T *w, const float *bias, int m, int n, int k,
                 cudaStream_t stream)
{
    const dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    EMU_LAUNCH(gemm_kernel<T>, grid, THREADS, STAGES * sizeof(stage<T>), stream, dst, a, w, bias, m,
               n, k);
}

void gemm_bf16(__nv_bfloat16 *dst, const __nv_bfloat16 *a, const __nv_bfloat16 *w,
               const float *bias, int m, int n, int k, cudaStream_t stream)
{
    gemm(dst, a, w, bias, m, n, k, stream);
}

void gemm_f16(half *dst, const half *a, const half *w, const float *bias, int m, int n, int k,
              cudaStream_t stream)
{
    gemm(dst, a, w, bias, m, n, k, stream);
}

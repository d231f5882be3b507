// SPDX-License-Identifier: MIT
#pragma once

#include "linear.cuh"
#include "reduce.cuh"

// Products in F32 of few rows, plain ones.

static __device__ __forceinline__ float4 widened(float4 v)
{
    return v;
}

static __device__ __forceinline__ float4 widened(uint2 v)
{
    return make_float4(bf16_low(v.x), bf16_high(v.x), bf16_low(v.y), bf16_high(v.y));
}

// Shape: a warp makes SKINNY_COLS columns of SKINNY_ROWS rows; its lanes walk along k side by side,
// four numbers each, SKINNY_AHEAD times before the sums are taken: all these loads are under way
// together.
// Traffic: the weight once per SKINNY_ROWS rows, A once per SKINNY_COLS columns (from L1 but for
// the first warp of a block).
// Needs: plain rows; k a multiple of 4; rows that can be read four numbers at a time.
enum { SKINNY_ROWS = 8, SKINNY_COLS = 2, SKINNY_AHEAD = 2, SKINNY_WARPS = 4 };
enum { SKINNY_MOST = 64 }; // rows of one map, up to which this is the kernel

// FOUR: numbers of A as they lie in memory: float4, or BF16 in a uint2. LIST: as of gemm_kernel.
template <class FOUR, class LIST>
static __global__ void __launch_bounds__(32 * SKINNY_WARPS)
    linear_skinny_kernel(const __grid_constant__ LIST list)
{
    await_earlier();
    const gemm &p = gemm_mine(list);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int n0 = (blockIdx.x * SKINNY_WARPS + warp) * SKINNY_COLS, m0 = blockIdx.y * SKINNY_ROWS;
    if (m0 >= p.m || n0 >= p.n)
        return; // whole warps leave
    const FOUR *src = (const FOUR *) p.in.src.p;
    const float4 *weight = (const float4 *) p.weight;
    const int fours = p.ld / 4; // in a row
    float sum[SKINNY_ROWS * SKINNY_COLS] = {};
    for (int k0 = lane; k0 < fours; k0 += 32 * SKINNY_AHEAD) {
        FOUR a[SKINNY_AHEAD][SKINNY_ROWS] = {};
        float4 w[SKINNY_AHEAD][SKINNY_COLS] = {};
#pragma unroll
        for (int t = 0; t < SKINNY_AHEAD; t++) {
            const int k = k0 + 32 * t;
            if (k >= fours)
                continue;
#pragma unroll
            for (int i = 0; i < SKINNY_ROWS; i++) // rows beyond the last repeat it
                a[t][i] = src[(size_t) min(m0 + i, p.m - 1) * fours + k];
#pragma unroll
            for (int j = 0; j < SKINNY_COLS; j++)
                w[t][j] = weight[(size_t) min(n0 + j, p.n - 1) * fours + k];
        }
#pragma unroll
        for (int t = 0; t < SKINNY_AHEAD; t++)
#pragma unroll
            for (int i = 0; i < SKINNY_ROWS; i++) {
                const float4 v = widened(a[t][i]);
#pragma unroll
                for (int j = 0; j < SKINNY_COLS; j++) {
                    float *s = &sum[i * SKINNY_COLS + j];
                    *s += v.x * w[t][j].x;
                    *s += v.y * w[t][j].y;
                    *s += v.z * w[t][j].z;
                    *s += v.w * w[t][j].w;
                }
            }
    }
    const float mine = lanes_sums(sum);
    const int row = m0 + lane / SKINNY_COLS, col = n0 + lane % SKINNY_COLS;
    if (lane < SKINNY_ROWS * SKINNY_COLS && row < p.m && col < p.n)
        gemm_finish(p.out, p.n, row, col, mine);
    gemm_behind<SKINNY_ROWS, 32 * SKINNY_WARPS>(list, blockIdx.y, m0, 0);
}

// Whether linear_skinny_kernel makes a product. The rows of one map decide, so that an object's
// result does not depend on how many others are beside it.
static inline bool is_skinny(const struct sam_queue *q, const struct sam_linear *p)
{
    return gemm_is_exact(q, p->weight.exact) && p->src.h * p->src.w <= SKINNY_MOST
           && by_four(&p->src, p->src.c);
}

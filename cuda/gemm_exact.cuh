// SPDX-License-Identifier: MIT
#pragma once

#include "gemm_io.cuh"

// Products in F32.

// Shape: a block makes TILE x TILE of the product, 4 x 4 to a thread, in steps of 16 along k; where
// there are few tiles, PARTS groups of threads take every PARTS-th step, and add up in the end.
// Traffic: A once per TILE columns, the weight once per TILE rows; dst once.
enum { EXACT_STEP = 16 };

template <int TILE, int PARTS> struct exact_shape {
    enum { ACROSS = TILE / 4, GROUP = ACROSS * ACROSS, THREADS = GROUP * PARTS };
    enum { LENGTH = TILE + GEMM_BESIDE, DOWN = GROUP / EXACT_STEP, ROWS = TILE / DOWN };
    typedef float4 step[EXACT_STEP][ACROSS + 1];
    union room { // of a group
        struct {
            step a, w;
        } factors;
        float sums[TILE * LENGTH];
    };
};

// A thread's part of a step: number `along.k` of rows of both factors, every DOWN of them.
template <class S> struct exact_fetched {
    float a[S::ROWS], w[S::ROWS];

    __device__ __forceinline__ void fetch(const gemm &p, const gemm_row *rows, int n0,
                                          const gemm_along &along)
    {
        const float *weight = (const float *) p.weight;
#pragma unroll
        for (int t = 0; t < S::ROWS; t++) {
            const int64_t at = gemm_at(p.in, rows[t], along);
            const int n = n0 + t * S::DOWN;
            const bool valid = n < p.n && along.k < p.ld;
            const float there = load_one(p.in.src, at < 0 ? 0 : (unsigned) at);
            const float its = weight[valid ? (size_t) n * p.ld + along.k : 0];
            a[t] = at < 0 ? 0.0f : there;
            w[t] = valid ? its : 0.0f;
        }
    }

    __device__ __forceinline__ void put(typename S::room &to, int k, int row) const
    {
#pragma unroll
        for (int t = 0; t < S::ROWS; t++) {
            ((float *) to.factors.a[k])[row + t * S::DOWN] = a[t];
            ((float *) to.factors.w[k])[row + t * S::DOWN] = w[t];
        }
    }
};

template <class S>
static __device__ __forceinline__ void exact_multiply(const typename S::room &room, int row,
                                                      int col, float (&sum)[4][4])
{
#pragma unroll
    for (int k = 0; k < EXACT_STEP; k++) {
        const float4 a = room.factors.a[k][row], w = room.factors.w[k][col];
        const float left[4] = { a.x, a.y, a.z, a.w }, right[4] = { w.x, w.y, w.z, w.w };
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[i][j] += left[i] * right[j];
    }
}

template <int TILE, int PARTS>
static __global__ void __launch_bounds__(exact_shape<TILE, PARTS>::THREADS, 1)
    gemm_exact_kernel(gemm p)
{
    await_earlier();
    using S = exact_shape<TILE, PARTS>;
    __shared__ __align__(16) typename S::room rooms[PARTS];
    const int part = threadIdx.x / S::GROUP, own = threadIdx.x % S::GROUP;
    typename S::room &room = rooms[part];
    const int m0 = blockIdx.x * TILE, n0 = blockIdx.y * TILE;
    const int row = own / S::ACROSS, col = own % S::ACROSS; // of 4 x 4
    const int own_k = own % EXACT_STEP, own_row = own / EXACT_STEP;
    gemm_row rows[S::ROWS];
#pragma unroll
    for (int t = 0; t < S::ROWS; t++)
        rows[t] = gemm_row_of(p.in, m0 + own_row + t * S::DOWN, p.m);
    gemm_along along(p.in, part * EXACT_STEP + own_k);
    exact_fetched<S> next;
    next.fetch(p, rows, n0 + own_row, along);
    float sum[4][4] = {};
#pragma unroll 1
    for (int k0 = 0; k0 < p.ld; k0 += PARTS * EXACT_STEP) {
        next.put(room, own_k, own_row);
        __syncthreads();
        along.go_on(p.in, PARTS * EXACT_STEP);
        next.fetch(p, rows, n0 + own_row, along); // under way with the products; zeros, in the end
        exact_multiply<S>(room, row, col, sum);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        *(float4 *) (room.sums + (4 * row + i) * S::LENGTH + 4 * col) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    __syncthreads();
    for (int i = threadIdx.x; PARTS > 1 && i < TILE * TILE; i += S::THREADS) {
        const int at = i / TILE * S::LENGTH + i % TILE;
        for (int k = 1; k < PARTS; k++)
            rooms[0].sums[at] += rooms[k].sums[at];
    }
    if (PARTS > 1)
        __syncthreads();
    gemm_finish_tile<TILE, TILE, S::THREADS>(p, {}, rooms[0].sums, { m0, TILE, TILE }, n0);
}

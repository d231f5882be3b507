// SPDX-License-Identifier: MIT
#pragma once

#include "reduce.cuh"
#include "view.cuh"

// Norms of rows that lie in the registers of `lanes` neighbours of a warp.

// Group k of a lane's numbers of a row, for all k; zeros from number c on.
template <int PACKS, int N>
static __device__ __forceinline__ void load_packs(float (&v)[PACKS][N], view t, unsigned first,
                                                  unsigned lane, unsigned lanes, unsigned c)
{
#pragma unroll
    for (int k = 0; k < PACKS; k++)
        if (N * (lane + lanes * k) < c)
            load(v[k], t, first + N * (lane + lanes * k));
}

// v becomes (v - mean) * scale: of a row of `width` numbers, of which c are there: all, or none.
// Statistics in two passes: see ops/ref.
template <int PACKS, int N>
static __device__ __forceinline__ void norm_packs(float (&v)[PACKS][N], unsigned lane,
                                                  unsigned lanes, unsigned c, unsigned width,
                                                  float eps)
{
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < PACKS; k++)
        for (int j = 0; j < N; j++)
            sum += v[k][j];
    const float mean = lanes_sum(sum, lanes) / width;
#pragma unroll
    for (int k = 0; k < PACKS; k++)
        if (N * (lane + lanes * k) < c)
            for (int j = 0; j < N; j++)
                squares += (v[k][j] - mean) * (v[k][j] - mean);
    const float scale = rsqrtf(lanes_sum(squares, lanes) / width + eps);
#pragma unroll
    for (int k = 0; k < PACKS; k++)
        for (int j = 0; j < N; j++)
            v[k][j] = (v[k][j] - mean) * scale;
}

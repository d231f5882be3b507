// SPDX-License-Identifier: MIT
#pragma once

#include "gemm.cuh"
#include "norm.cuh"

// A product and the norm of its rows in one launch: the last of the blocks that make the columns of
// some rows norms these, which L2 still has; a block that has whole rows norms its own.

struct norm_behind {
    view dst, src, sum, add; // sum.p NULL: none
    const float *gamma, *beta;
    unsigned c, period; // of a row; numbers in add: repeated
    int lanes;          // of a row
    float eps;
    enum sam_act act;
    unsigned parts;     // blocks that a row is made by
    unsigned *arrivals; // of them, for every tile of rows; see struct attend
};

// HAS_ACT: the norm's act is GELU or SILU.
template <bool HAS_ACT> struct gemm_normed {
    gemm one;
    norm_behind norm;
};

template <bool HAS_ACT>
static __device__ __forceinline__ const gemm &gemm_mine(const gemm_normed<HAS_ACT> &p)
{
    return p.one;
}

template <bool HAS_ACT>
static __device__ __forceinline__ gemm_turn gemm_turn_mine(const gemm_normed<HAS_ACT> &)
{
    return {};
}

// Whether this block is the last to leave its part of a tile of rows; then the others' are there.
static __device__ __forceinline__ bool behind_is_last(const norm_behind &n, int tile)
{
    __shared__ int is_last;
    if (n.parts == 1) {
        __syncthreads();
        return true;
    }
    __threadfence(); // what this thread has left is there for other blocks
    __syncthreads();
    if (threadIdx.x == 0) {
        // The last one counts back to 0, which the next launch begins with.
        is_last = atomicInc(&n.arrivals[tile], n.parts - 1) == n.parts - 1;
        __threadfence(); // what others have left is there for this block
    }
    __syncthreads();
    return is_last;
}

// Eight numbers of a row in a lane, or four, and BEHIND_AHEAD rows in as many lanes: the loads of
// these are under way together.
enum { BEHIND_PACKS = 2, BEHIND_AHEAD = 4, BEHIND_WIDEST = 32 * 4 * BEHIND_PACKS };

template <bool HAS_ACT>
static __device__ __forceinline__ void behind_store(const norm_behind &n, unsigned first,
                                                    float (&v)[BEHIND_PACKS][4],
                                                    const float (&gamma)[BEHIND_PACKS][4],
                                                    const float (&beta)[BEHIND_PACKS][4])
{
    const sam_act act = !HAS_ACT ? SAM_ACT_NONE
                        : n.act == SAM_ACT_SILU ? SAM_ACT_SILU : SAM_ACT_GELU;
#pragma unroll
    for (int k = 0; k < BEHIND_PACKS; k++) {
        const unsigned i = 4 * (threadIdx.x % n.lanes + n.lanes * k);
        if (i >= n.c)
            continue;
#pragma unroll
        for (int j = 0; j < 4; j++)
            v[k][j] = act_of(act, v[k][j] * gamma[k][j] + beta[k][j]);
        if (n.dst.p != n.sum.p)
            store(n.dst, first + i, v[k]);
        if (n.sum.p) {
            float add[4];
            load(add, n.add, (first + i) % n.period);
#pragma unroll
            for (int j = 0; j < 4; j++)
                v[k][j] += add[j];
            store(n.sum, first + i, v[k]);
        }
    }
}

template <int ROWS, int THREADS, bool HAS_ACT>
static __device__ __forceinline__ void gemm_behind(const gemm_normed<HAS_ACT> &p, int tile, int m0,
                                                   int n0)
{
    const norm_behind &n = p.norm;
    if (!behind_is_last(n, tile))
        return;
    const int lane = threadIdx.x % n.lanes, side_by_side = THREADS / n.lanes;
    const int rows = min(ROWS, p.one.m - m0);
    float gamma[BEHIND_PACKS][4] = {}, beta[BEHIND_PACKS][4] = {};
    load_packs(gamma, { (void *) n.gamma, false }, 0, lane, n.lanes, n.c);
    load_packs(beta, { (void *) n.beta, false }, 0, lane, n.lanes, n.c);
    for (int r0 = 0; r0 < rows; r0 += BEHIND_AHEAD * side_by_side) {
        float v[BEHIND_AHEAD][BEHIND_PACKS][4] = {};
        unsigned first[BEHIND_AHEAD], there[BEHIND_AHEAD];
#pragma unroll
        for (int a = 0; a < BEHIND_AHEAD; a++) {
            const int r = r0 + a * side_by_side + threadIdx.x / n.lanes;
            first[a] = gemm_dst_at(p.one.out, n.c, m0 + r, p.one.out.up_w ? n0 : 0);
            there[a] = r < rows ? n.c : 0; // the other lanes shuffle with the rest
            load_packs(v[a], n.src, first[a], lane, n.lanes, there[a]);
        }
#pragma unroll
        for (int a = 0; a < BEHIND_AHEAD; a++) {
            norm_packs(v[a], lane, n.lanes, there[a], n.c, n.eps);
            if (there[a])
                behind_store<HAS_ACT>(n, first[a], v[a], gamma, beta);
        }
    }
}

// SPDX-License-Identifier: MIT
// Products that are added to maps of twice their size, by one launch where tensor cores make them.
#include "linear.cuh"

// Behind its part of the product a block adds it to what is there of the larger map, four numbers
// of a thread at a time. Traffic: a once, dst once; the product from L1.
struct gemm_spread {
    gemm one;
    view dst, a;
    int h, w; // of the product's map
};

static __device__ __forceinline__ const gemm &gemm_mine(const gemm_spread &p)
{
    return p.one;
}

static __device__ __forceinline__ gemm_turn gemm_turn_mine(const gemm_spread &)
{
    return {};
}

typedef gemm_shape<2, 2, 2, 4> spread_shape;

template <int ROWS, int THREADS>
static __device__ __forceinline__ void gemm_behind(const gemm_spread &p, int tile, int m0, int n0)
{
    constexpr int FOURS = spread_shape::N / 4; // in a row
    const int n = p.one.n;
    __syncthreads(); // the block's part of the product is there
    for (int i = threadIdx.x; i < ROWS * FOURS; i += THREADS) {
        const int row = m0 + i / FOURS, col = n0 + i % FOURS * 4;
        if (row >= p.one.m || col >= n)
            continue;
        const int map = row / (p.h * p.w), y = row / p.w % p.h, x = row % p.w;
        float add[4], v[4][4];
        unsigned at[4];
        load(add, p.one.out.dst, (unsigned) row * n + col);
#pragma unroll
        for (int k = 0; k < 4; k++) { // under way together
            const int above = (map * 2 * p.h + 2 * y + k / 2) * 2 * p.w + 2 * x + k % 2;
            at[k] = (unsigned) above * n + col;
            load(v[k], p.a, at[k]);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            for (int j = 0; j < 4; j++)
                v[k][j] += add[j];
            store(p.dst, at[k], v[k]);
        }
    }
}

extern "C" void sam_linear_upsample_cuda(struct sam_queue *q, const struct sam_linear_upsample *p)
{
    const struct sam_upsample_add *s = &p->sum;
    const int c = s->b.c;
    const bool four = by_four(&s->dst, c) && by_four(&s->a, c) && by_four(&s->b, c);
    if (four && !p->product.table.data && is_tensor(q, &p->product)) {
        const gemm_spread g = { gemm_of(q, &p->product), view_of(&s->dst), view_of(&s->a), s->b.h,
                                s->b.w };
        gemm_launch<2, 2, 2, 4>(q, g, g.one.m, g.one.n, 1);
        sam_cuda_launched(q, "linear_upsample");
        return;
    }
    sam_linear_upsample_ref(q, p);
}

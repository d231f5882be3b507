// SPDX-License-Identifier: MIT
// Products whose rows are normed, by one launch where a tile's rows can be normed by a block; by
// those of the product and of the norm elsewhere.
#include "behind.cuh"
#include "conv.cuh"
#include "skinny.cuh"

static bool can_norm(const struct sam_layernorm *n)
{
    const struct sam_tensor *const used[] = { &n->dst, &n->src, &n->sum, &n->add, &n->gamma,
                                              &n->beta };
    bool four = n->src.c <= BEHIND_WIDEST;
    for (const struct sam_tensor *t : used)
        four = four && by_four(t, n->src.c);
    return four;
}

// How a product of `rows` rows to a block is normed, a row of which is made by `parts` blocks.
template <bool HAS_ACT>
static gemm_normed<HAS_ACT> normed_of(const struct sam_queue *q, const gemm &g,
                                      const struct sam_layernorm *n, int parts)
{
    const uint8_t *workspace = (const uint8_t *) sam_cuda(q)->workspace;
    gemm_normed<HAS_ACT> p = { g, {} };
    p.norm = { view_of(&n->dst), view_of(&n->src), view_of(&n->sum), view_of(&n->add),
               (const float *) n->gamma.data, (const float *) n->beta.data, (unsigned) n->src.c,
               n->add.data ? (unsigned) sam_count(&n->add) : 1, 1, n->eps, n->act,
               (unsigned) parts, (unsigned *) (workspace + SAM_CUDA_WORKSPACE) };
    while (p.norm.lanes < 32 && 4 * p.norm.lanes < n->src.c)
        p.norm.lanes *= 2;
    return p;
}

// False: it is for others.
static bool run_skinny(struct sam_queue *q, const struct sam_product_norm *p)
{
    const struct sam_linear *l = p->linear;
    const int columns = SKINNY_COLS * SKINNY_WARPS;
    if (!l || !is_skinny(q, l) || l->table.data || l->src.type != SAM_F32
        || p->norm.act != SAM_ACT_NONE || l->dst.c % columns) // no warp may leave early
        return false;
    const gemm g = gemm_of(q, l);
    const dim3 grid(g.n / columns, blocks_for(g.m, SKINNY_ROWS));
    if (grid.y > SAM_CUDA_TILES)
        return false;
    SAM_LAUNCH((linear_skinny_kernel<float4, gemm_normed<false>>), grid, 32 * SKINNY_WARPS, 0, q,
               normed_of<false>(q, g, &p->norm, grid.x));
    sam_cuda_launched(q, "product_norm");
    return true;
}

// Where a block makes whole rows. Else the last block of a row's would norm it, while the other
// multiprocessors have nothing to do: on an H200 twice the time of a launch for all of them.
static bool run_tensor(struct sam_queue *q, const struct sam_product_norm *p)
{
    typedef gemm_shape<2, 2, 2, 4> S;
    const struct sam_matrix *w = p->linear ? &p->linear->weight
                               : p->conv ? &p->conv->weight : &p->conv_transpose->weight;
    if (gemm_is_exact(q, w->exact) || (p->linear && p->linear->table.data))
        return false;
    const gemm g = p->linear ? gemm_of(q, p->linear)
                 : p->conv ? gemm_of(q, p->conv) : gemm_of(q, p->conv_transpose);
    if (g.out.up_w ? g.out.c != S::N : g.n > S::N)
        return false;
    if (p->norm.act != SAM_ACT_NONE)
        gemm_launch<2, 2, 2, 4>(q, normed_of<true>(q, g, &p->norm, 1), g.m, g.n, 1);
    else
        gemm_launch<2, 2, 2, 4>(q, normed_of<false>(q, g, &p->norm, 1), g.m, g.n, 1);
    sam_cuda_launched(q, "product_norm");
    return true;
}

// Convolutions of few channels to few, whose tiles would be nearly empty.
// Shape: a thread makes the N channels of a position, and norms them. The weight lies in shared
// memory as F32, by number k, as all threads of a warp read the same ones.
// Traffic: src from L1 but for the first of its readers; dst once.
enum { FEW_THREADS = 256, FEW_TERMS = 64 };

struct few_channels {
    gemm_in in;
    view dst; // of the product; p NULL: nobody needs it
    bool is_rounded; // the norm reads what dst has
    const __nv_bfloat16 *weight;
    const float *bias;
    int m, ld;
    norm_behind norm;
};

template <int N>
static __device__ __forceinline__ void few_sums(float (&sum)[N], const few_channels &p,
                                                const float (*weight)[N], int m)
{
    const gemm_row r = gemm_row_of(p.in, m, p.m);
    const gemm_in &a = p.in;
#pragma unroll
    for (int j = 0; j < N; j++)
        sum[j] = p.bias ? p.bias[j] : 0.0f;
    for (int tap = 0, k = 0; tap < a.kernel * a.kernel; tap++) {
        const int y = r.y + tap / a.kernel, x = r.x + tap % a.kernel;
        const bool inside = y >= 0 && y < a.h && x >= 0 && x < a.w;
        const unsigned from = inside ? (unsigned) ((r.n * a.h + y) * a.w + x) * a.c : 0;
        for (int c = 0; c < a.c; c++, k++) {
            const float there = load_one(a.src, from + c), v = inside ? there : 0.0f;
#pragma unroll
            for (int j = 0; j < N; j++)
                sum[j] += v * weight[k][j];
        }
    }
}

template <int N>
static __global__ void __launch_bounds__(FEW_THREADS) few_channels_kernel(few_channels p)
{
    await_earlier();
    __shared__ __align__(16) float weight[FEW_TERMS][N];
    for (int i = threadIdx.x; i < N * p.in.k; i += FEW_THREADS)
        weight[i % p.in.k][i / p.in.k] =
            __bfloat162float(p.weight[(size_t) (i / p.in.k) * p.ld + i % p.in.k]);
    __syncthreads();
    const int m = blockIdx.x * FEW_THREADS + threadIdx.x;
    if (m >= p.m)
        return;
    float v[1][N];
    few_sums<N>(v[0], p, weight, m);
    if (p.dst.p)
#pragma unroll
        for (int j = 0; j < N; j += 4)
            store(p.dst, (unsigned) m * N + j, { v[0][j], v[0][j + 1], v[0][j + 2], v[0][j + 3] });
#pragma unroll
    for (int j = 0; j < N; j++)
        v[0][j] = p.is_rounded ? bf16_low(bf16_two(v[0][j], 0.0f)) : v[0][j];
    norm_packs(v, 0, 1, N, N, p.norm.eps);
#pragma unroll
    for (int j = 0; j < N; j += 4) {
        float four[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            four[i] = v[0][j + i] * p.norm.gamma[j + i] + p.norm.beta[j + i];
        act_four_of(p.norm.act, four);
        store(p.norm.dst, (unsigned) m * N + j, four);
    }
}

// False: it is for others.
static bool run_few(struct sam_queue *q, const struct sam_product_norm *p)
{
    const struct sam_conv *c = p->conv;
    if (!c || gemm_is_exact(q, c->weight.exact) || c->act != SAM_ACT_NONE || c->add.data
        || p->norm.sum.data || c->weight.in > FEW_TERMS
        || (c->dst.c != 4 && c->dst.c != 8 && c->dst.c != 16))
        return false;
    const gemm g = gemm_of(q, c);
    few_channels f = { g.in, g.out.dst, c->dst.type == SAM_BF16, (const __nv_bfloat16 *) g.weight,
                       g.out.bias, g.m, g.ld, normed_of<true>(q, g, &p->norm, 1).norm };
    if (c->dst.data == p->norm.dst.data)
        f.dst.p = NULL;
    const int blocks = blocks_for(g.m, FEW_THREADS);
    if (c->dst.c == 4)
        SAM_LAUNCH(few_channels_kernel<4>, blocks, FEW_THREADS, 0, q, f);
    else if (c->dst.c == 8)
        SAM_LAUNCH(few_channels_kernel<8>, blocks, FEW_THREADS, 0, q, f);
    else
        SAM_LAUNCH(few_channels_kernel<16>, blocks, FEW_THREADS, 0, q, f);
    sam_cuda_launched(q, "product_norm");
    return true;
}

extern "C" void sam_product_norm_cuda(struct sam_queue *q, const struct sam_product_norm *p)
{
    if (!can_norm(&p->norm) || !(run_few(q, p) || run_skinny(q, p) || run_tensor(q, p)))
        sam_product_norm_ref(q, p);
}

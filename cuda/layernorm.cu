// SPDX-License-Identifier: MIT
// Layer normalisation.
#include "norm.cuh"

// Shape: `lanes` lanes of a warp share a row (all 32 where rows are long, one where a row is N
// numbers), each with PACKS groups of N numbers; a warp has 32 / lanes rows.
// Traffic: src once, dst once; the row lives in registers in between. N = 8 are 16 bytes of BF16.
// All loads of a row are under way together; those of gamma and beta, too, where registers suffice.
// Needs: c a multiple of N, c <= N * lanes * PACKS. Statistics in two passes: see ops/ref.
enum { WARPS = 4 };

struct norm_args {
    view dst, src;
    const float *gamma, *beta;
    unsigned rows, c;
    float eps;
    enum sam_act act;
    view sum, add;   // sum.p NULL: none
    unsigned period; // numbers in add: repeated
};

// HAS_ACT: p.act is GELU or SILU. HAS_SUM: the sum with an addend is stored, too.
template <int PACKS, int N, bool HAS_ACT, bool HAS_SUM>
static __global__ void __launch_bounds__(32 * WARPS) layernorm_kernel(norm_args p, int lanes)
{
    await_earlier();
    const unsigned at = blockIdx.x * 32 * WARPS + threadIdx.x;
    const unsigned row = at / lanes, lane = at % lanes;
    // Lanes beyond the last row have nothing to load or store, but shuffle with the rest.
    const unsigned first = row * p.c, c = row < p.rows ? p.c : 0;

    float v[PACKS][N] = {}, gamma[PACKS][N] = {}, beta[PACKS][N] = {}, add[PACKS][N] = {};
    if (p.src.bf16) // the type is told once, ahead of all loads
        load_packs(v, { p.src.p, true }, first, lane, lanes, c);
    else
        load_packs(v, { p.src.p, false }, first, lane, lanes, c);
    if (PACKS <= 3) {
        load_packs(gamma, { (void *) p.gamma, false }, 0, lane, lanes, c);
        load_packs(beta, { (void *) p.beta, false }, 0, lane, lanes, c);
    }
    if (HAS_SUM)
        load_packs(add, p.add, first % p.period, lane, lanes, c);
    norm_packs(v, lane, lanes, c, p.c, p.eps);
    if (PACKS > 3) {
        load_packs(gamma, { (void *) p.gamma, false }, 0, lane, lanes, c);
        load_packs(beta, { (void *) p.beta, false }, 0, lane, lanes, c);
    }
    const sam_act act = !HAS_ACT ? SAM_ACT_NONE
                        : p.act == SAM_ACT_SILU ? SAM_ACT_SILU : SAM_ACT_GELU;
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const unsigned i = N * (lane + lanes * k);
        for (int j = 0; j < N; j++)
            v[k][j] = act_of(act, v[k][j] * gamma[k][j] + beta[k][j]);
        if (i < c && !(HAS_SUM && p.dst.p == p.sum.p))
            store(p.dst, first + i, v[k]);
        for (int j = 0; j < N; j++)
            v[k][j] += add[k][j];
        if (HAS_SUM && i < c)
            store(p.sum, first + i, v[k]);
    }
}

// Rows of any width: a warp reads its row three times, twice from the cache.
static __global__ void __launch_bounds__(32 * WARPS) layernorm_any_kernel(norm_args p)
{
    await_earlier();
    const unsigned row = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= p.rows)
        return; // whole warps leave together
    const unsigned first = row * p.c;
    float sum = 0.0f, squares = 0.0f;
    for (unsigned i = lane; i < p.c; i += 32)
        sum += load_one(p.src, first + i);
    const float mean = lanes_sum(sum, 32) / p.c;
    for (unsigned i = lane; i < p.c; i += 32) {
        const float d = load_one(p.src, first + i) - mean;
        squares += d * d;
    }
    const float scale = rsqrtf(lanes_sum(squares, 32) / p.c + p.eps);
    for (unsigned i = lane; i < p.c; i += 32) {
        const float x = (load_one(p.src, first + i) - mean) * scale;
        store_one(p.dst, first + i, act_of(p.act, x * p.gamma[i] + p.beta[i]));
    }
}

template <int PACKS, int N, bool HAS_ACT = false, bool HAS_SUM = false>
static void launch(struct sam_queue *q, const norm_args &p)
{
    int lanes = 1;
    while (lanes < 32 && N * lanes < (int) p.c)
        lanes *= 2;
    SAM_LAUNCH((layernorm_kernel<PACKS, N, HAS_ACT, HAS_SUM>),
               blocks_for((size_t) p.rows * lanes, 32 * WARPS), 32 * WARPS, 0, q, p, lanes);
}

extern "C" void sam_layernorm_cuda(struct sam_queue *q, const struct sam_layernorm *p)
{
    const unsigned c = p->src.c;
    const norm_args a = { view_of(&p->dst), view_of(&p->src), (const float *) p->gamma.data,
                     (const float *) p->beta.data, (unsigned) sam_rows(&p->src), c, p->eps,
                     p->act, view_of(&p->sum), view_of(&p->add),
                     p->add.data ? (unsigned) sam_count(&p->add) : 1 };
    const struct sam_tensor *const used[] = { &p->dst, &p->src, &p->gamma, &p->beta };
    bool four = true, eight = true;
    for (const struct sam_tensor *t : used)
        four = four && by_four(t, c), eight = eight && by_eight(t, c);
    const bool has_act = p->act != SAM_ACT_NONE; // of maps, whose rows are short
    const bool sums = p->sum.data && eight && c <= 256 && !has_act && by_eight(&p->sum, c)
                   && by_eight(&p->add, c);
    if (sums)
        launch<1, 8, false, true>(q, a);
    else if (eight && c <= 256)
        has_act ? launch<1, 8, true>(q, a) : launch<1, 8>(q, a);
    else if (four && c <= 128)
        has_act ? launch<1, 4, true>(q, a) : launch<1, 4>(q, a);
    else if (eight && c <= 3 * 256 && !has_act)
        launch<3, 8>(q, a);
    else if (eight && c <= 5 * 256 && !has_act)
        launch<5, 8>(q, a);
    else if (four && c <= 4 * 128 && !has_act)
        launch<4, 4>(q, a);
    else
        SAM_LAUNCH(layernorm_any_kernel, blocks_for(a.rows, WARPS), 32 * WARPS, 0, q, a);
    sam_cuda_launched(q, "layernorm");
    if (p->sum.data && !sums && !q->status) {
        const struct sam_add rest = { p->sum, p->dst, p->add, 1.0f };
        sam_add_cuda(q, &rest);
    }
}

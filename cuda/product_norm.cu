// SPDX-License-Identifier: MIT
// Products whose rows are normed, by one launch where a tile's rows can be normed by a block; by
// those of the product and of the norm elsewhere.
#include "behind.cuh"
#include "conv.cuh"
#include "skinny.cuh"

// Of more terms the library makes a product so much sooner that the norm may take a launch.
enum { BEHIND_LONGEST = 256 };

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

static bool run_tensor(struct sam_queue *q, const struct sam_product_norm *p)
{
    typedef gemm_shape<2, 2, 2, 4> S;
    const struct sam_matrix *w = p->linear ? &p->linear->weight
                               : p->conv ? &p->conv->weight : &p->conv_transpose->weight;
    if (gemm_is_exact(q, w->exact) || (p->linear && (w->in > BEHIND_LONGEST
                                                     || p->linear->table.data)))
        return false;
    const gemm g = p->linear ? gemm_of(q, p->linear)
                 : p->conv ? gemm_of(q, p->conv) : gemm_of(q, p->conv_transpose);
    const int parts = g.out.up_w ? 1 : blocks_for(g.n, S::N);
    if ((g.out.up_w && g.out.c != S::N) || (parts > 1 && blocks_for(g.m, S::M) > SAM_CUDA_TILES))
        return false;
    if (p->norm.act != SAM_ACT_NONE)
        gemm_launch<2, 2, 2, 4>(q, normed_of<true>(q, g, &p->norm, parts), g.m, g.n, 1);
    else
        gemm_launch<2, 2, 2, 4>(q, normed_of<false>(q, g, &p->norm, parts), g.m, g.n, 1);
    sam_cuda_launched(q, "product_norm");
    return true;
}

extern "C" void sam_product_norm_cuda(struct sam_queue *q, const struct sam_product_norm *p)
{
    if (!can_norm(&p->norm) || !(run_skinny(q, p) || run_tensor(q, p)))
        sam_product_norm_ref(q, p);
}

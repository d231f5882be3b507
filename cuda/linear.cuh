// SPDX-License-Identifier: MIT
#pragma once

#include "gemm.cuh"

// Products with weights, of struct sam_linear, as the kernels of gemm.cuh take them.

static inline gemm gemm_of(const struct sam_queue *q, const struct sam_linear *p)
{
    gemm g = {};
    g.m = (int) sam_rows(&p->src);
    g.in.src = view_of(&p->src);
    g.in.chunks = p->src.c % 8 == 0 && aligned(&p->src, 16);
    g.out.dst = view_of(&p->dst);
    g.out.add = view_of(&p->add);
    g.out.bias = (const float *) p->bias.data;
    g.out.period = p->add.data ? (unsigned) sam_count(&p->add) : 1;
    g.out.act = p->act;
    g.out.fours = by_four(&p->dst, p->dst.c) && by_four(&p->add, p->dst.c)
               && by_four(&p->bias, p->dst.c);
    gemm_set_weight(q, &g, &p->weight);
    return g;
}

static inline gemm_turn turn_of(const struct sam_linear *p)
{
    return { (const float *) p->table.data, (const int *) p->num_rotated.data,
             p->dst.h * p->dst.w, p->table.w };
}

// The list of some products, and the extents of the largest.
static inline gemm_list list_of(const struct sam_queue *q, const struct sam_linear *each, int count,
                         int *m, int *n)
{
    gemm_list list = {};
    *m = *n = 0;
    for (int i = 0; i < count; i++) {
        list.each[i] = gemm_of(q, &each[i]);
        list.turn[i] = turn_of(&each[i]);
        *m = max(*m, list.each[i].m);
        *n = max(*n, list.each[i].n);
    }
    return list;
}

// Whether tensor cores make a product, and turn what it gives.
static inline bool is_tensor(const struct sam_queue *q, const struct sam_linear *p)
{
    return !gemm_is_exact(q, p->weight.exact)
        && (!p->table.data || (gemm_of(q, p).out.fours && aligned(&p->table, 8)));
}

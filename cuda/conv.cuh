// SPDX-License-Identifier: MIT
#pragma once

#include "gemm.cuh"

// Convolutions, as the kernels of gemm.cuh take them.

static inline gemm gemm_of(const struct sam_queue *q, const struct sam_conv *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    gemm g = {};
    g.m = (int) sam_rows(d);
    g.in.src = view_of(s);
    g.in.chunks = s->c % 8 == 0 && aligned(s, 16);
    g.in.kernel = p->kernel, g.in.stride = p->stride, g.in.pad = p->pad;
    g.in.h = s->h, g.in.w = s->w, g.in.c = s->c;
    g.in.out_h = d->h, g.in.out_w = d->w;
    g.out.dst = view_of(d);
    g.out.add = view_of(&p->add);
    g.out.bias = (const float *) p->bias.data;
    g.out.period = p->add.data ? (unsigned) sam_count(&p->add) : 1;
    g.out.act = p->act;
    g.out.fours = by_four(d, d->c) && by_four(&p->add, d->c) && by_four(&p->bias, d->c);
    gemm_set_weight(q, &g, &p->weight);
    return g;
}

static inline gemm gemm_of(const struct sam_queue *q, const struct sam_conv_transpose *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    gemm g = {};
    g.m = (int) sam_rows(s);
    g.in.src = view_of(s);
    g.in.chunks = s->c % 8 == 0 && aligned(s, 16);
    g.out.dst = view_of(d);
    g.out.add = view_of(&p->add);
    g.out.bias = (const float *) p->bias.data;
    g.out.period = p->add.data ? (unsigned) sam_count(&p->add) : 1;
    g.out.act = p->act;
    g.out.up_h = s->h, g.out.up_w = s->w, g.out.c = d->c;
    g.out.fours = by_four(d, d->c) && by_four(&p->add, d->c) && by_four(&p->bias, d->c);
    gemm_set_weight(q, &g, &p->weight);
    return g;
}

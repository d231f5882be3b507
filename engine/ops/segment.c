// SPDX-License-Identifier: MIT
// The fronts of the operations that came with networks of segmentation; ops.c has the others.

#include "ops/args.h"

static bool same_map(const struct sam_tensor *a, const struct sam_tensor *b)
{
    return a->n == b->n && a->h == b->h && a->w == b->w;
}

void sam_op_groupnorm(struct sam_queue *q, const struct sam_groupnorm *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION | ARG_MAY_BE_OUT),
                                IN(gamma, ARG_F32), IN(beta, ARG_F32), NUMBER(groups), NUMBER(eps),
                                NUMBER(act), END };
    begin();
    require(same_map(&p->dst, &p->src) && p->dst.c == p->src.c);
    require(is_vector(&p->gamma, p->src.c));
    require(is_vector(&p->beta, p->src.c));
    require(p->groups > 0 && p->src.c % p->groups == 0);
    require(p->eps > 0.0f);
    require(p->act == SAM_ACT_NONE || p->act == SAM_ACT_RELU);
    require(q->ops->groupnorm);
    q->ops->groupnorm(q, p);
}

void sam_op_shifted_attention(struct sam_queue *q, const struct sam_shifted_attention *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(qkv, ARG_ACTIVATION), IN(pad, ARG_F32),
                                IN(bias, ARG_F32), NUMBER(heads), NUMBER(window), NUMBER(shift),
                                END };
    begin();
    require(p->window > 0 && p->window <= SAM_MAX_WINDOW);
    require(p->shift >= 0 && p->shift < p->window);
    require(p->heads > 0);
    require(p->qkv.c == 3 * p->dst.c && p->dst.c % p->heads == 0);
    require(p->dst.c / p->heads <= SAM_MAX_HEAD_DIM);
    require(same_map(&p->dst, &p->qkv));
    require(is_vector(&p->pad, p->qkv.c));
    require(is_shape(&p->bias, 1, p->heads, 2 * p->window - 1, 2 * p->window - 1));
    require(q->ops->shifted_attention);
    q->ops->shifted_attention(q, p);
}

void sam_op_masked_attention(struct sam_queue *q, const struct sam_masked_attention *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(q, ARG_ACTIVATION),
                                IN(k, ARG_ACTIVATION), IN(v, ARG_ACTIVATION), IN(mask, ARG_F32),
                                NUMBER(heads), NUMBER(scale), END };
    begin();
    require(p->heads > 0);
    require(p->q.h == 1 && p->k.h == 1 && p->v.h == 1 && p->dst.h == 1);
    require(p->q.c == p->k.c && p->q.c % p->heads == 0 && p->q.c / p->heads <= SAM_MAX_HEAD_DIM);
    require(p->dst.c == p->v.c && p->v.c % p->heads == 0 && p->v.c / p->heads <= SAM_MAX_HEAD_DIM);
    require(same_map(&p->dst, &p->q));
    require((p->k.n == p->q.n || p->k.n == 1) && (p->v.n == p->q.n || p->v.n == 1));
    require(p->k.w == p->v.w);
    require(is_shape(&p->mask, p->q.n, 1, p->q.w, p->k.w));
    require(q->ops->masked_attention);
    q->ops->masked_attention(q, p);
}

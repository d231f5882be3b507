// SPDX-License-Identifier: MIT
// The fronts of products with weights, and of norms of their rows; ops.c has the others.

#include "ops/args.h"

bool sam_op_wants_bias_bf16(const struct sam_queue *q)
{
    return q->ops->wants_bias_bf16 && q->precision == SAM_PRECISION_BF16;
}

bool sam_op_wants_narrow_bf16(const struct sam_queue *q, int in)
{
    const int least = q->ops->least_bf16_terms;
    return least && in >= least && q->precision == SAM_PRECISION_BF16;
}

// The contract of one product, in the name of the operation that it is a part of.
static bool check_linear(struct sam_queue *q, const char *op, const struct sam_linear *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), WEIGHT(weight),
                                IN(bias, ARG_F32 | ARG_OPTIONAL),
                                IN(bias_bf16, ARG_ACTIVATION | ARG_OPTIONAL),
                                IN(add, ARG_ACTIVATION | ARG_OPTIONAL | ARG_MAY_BE_OUT),
                                IN(table, ARG_F32 | ARG_OPTIONAL),
                                IN(num_rotated, ARG_I32 | ARG_OPTIONAL), END };
    const bool turns = p->table.data != NULL;
    check_begin();
    check(same_rows(&p->dst, &p->src));
    check(p->weight.out == p->dst.c && p->weight.in == p->src.c);
    check(is_absent_or_vector(&p->bias, p->dst.c));
    check(is_absent_or_vector(&p->bias_bf16, p->dst.c));
    check(!p->bias_bf16.data || (p->bias.data && p->bias_bf16.type == SAM_BF16));
    check(!p->add.data || repeats_map(&p->add, &p->dst));
    check((unsigned) p->act < SAM_NUM_ACTS);
    check(!turns || (p->dst.c % 2 == 0 && is_shape(&p->table, 1, 1, p->table.w, p->dst.c)));
    check(!p->num_rotated.data || (turns && is_shape(&p->num_rotated, 1, 1, 1, p->dst.n)));
    return true;
}

void sam_op_linear(struct sam_queue *q, const struct sam_linear *p)
{
    if (check_linear(q, __func__, p))
        q->ops->linear(q, p);
}

// Whether no product writes what another one reads or writes.
static bool are_apart(const struct sam_linear *each, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++) {
            const struct sam_tensor *dst = &each[i].dst;
            const struct sam_linear *other = &each[k];
            if (i == k)
                continue;
            if (sam_args_overlap(dst, &other->dst) || sam_args_overlap(dst, &other->src)
                || (other->add.data && sam_args_overlap(dst, &other->add)))
                return false;
        }
    return true;
}

void sam_op_linears(struct sam_queue *q, const struct sam_linears *p)
{
    const struct arg args[] = { NUMBER(count), END };
    begin();
    require(p->each && p->count >= 1 && p->count <= SAM_MAX_LINEARS);
    for (int i = 0; i < p->count; i++)
        if (!check_linear(q, __func__, &p->each[i]))
            return;
    require(are_apart(p->each, p->count));
    q->ops->linears(q, p);
}

// Whether a product leaves what is normed alone, and takes all of the normed rows or none.
static bool is_behind(const struct sam_linear *p, const struct sam_layernorm *norm)
{
    const struct sam_tensor *rows = &norm->dst;
    const bool takes = p->src.data == rows->data;
    return !sam_args_overlap(&p->dst, &norm->src) && !sam_args_overlap(&p->dst, rows)
           && (!p->add.data || !sam_args_overlap(&p->add, rows))
           && (takes ? like(&p->src, rows) && p->src.type == rows->type
                     : !sam_args_overlap(&p->src, rows));
}

// Whether the cells of the last product are pooled, and nobody has to do with what they give.
static bool pools_last(const struct sam_maxpool *pool, const struct sam_layernorm *norm,
                       const struct sam_linear *each, int count)
{
    const struct sam_tensor *last = &each[count - 1].dst, *s = &pool->src, *d = &pool->dst;
    if (s->data != last->data || !like(s, last) || s->type != last->type
        || !is_shape(d, s->n, s->h / 2, s->w / 2, s->c) || sam_args_overlap(d, &norm->src)
        || sam_args_overlap(d, &norm->dst))
        return false;
    for (int i = 0; i < count; i++)
        if (sam_args_overlap(d, &each[i].dst) || sam_args_overlap(d, &each[i].src)
            || (each[i].add.data && sam_args_overlap(d, &each[i].add)))
            return false;
    return true;
}

void sam_op_norm_linears(struct sam_queue *q, const struct sam_norm_linears *p)
{
    const struct arg args[] = { OUT(norm.dst, ARG_ACTIVATION), IN(norm.src, ARG_ACTIVATION),
                                IN(norm.gamma, ARG_F32), IN(norm.beta, ARG_F32), NUMBER(norm.eps),
                                NUMBER(count), IN(pool.dst, ARG_ACTIVATION | ARG_OPTIONAL), END };
    const struct sam_layernorm *norm = &p->norm;
    begin();
    require(same_rows(&norm->dst, &norm->src) && norm->dst.c == norm->src.c);
    require(is_vector(&norm->gamma, norm->src.c) && is_vector(&norm->beta, norm->src.c));
    require(norm->eps > 0.0f);
    require(norm->act == SAM_ACT_NONE && !norm->sum.data && !norm->add.data);
    require(p->each && p->count >= 1 && p->count <= SAM_MAX_LINEARS);
    for (int i = 0; i < p->count; i++) {
        if (!check_linear(q, __func__, &p->each[i]))
            return;
        require(is_behind(&p->each[i], norm));
    }
    require(are_apart(p->each, p->count));
    require(!p->pool.dst.data || pools_last(&p->pool, norm, p->each, p->count));
    q->ops->norm_linears(q, p);
}

static int conv_extent(int in, const struct sam_conv *p)
{
    return (in + 2 * p->pad + p->pad_end - p->kernel) / p->stride + 1;
}

static bool check_conv(struct sam_queue *q, const char *op, const struct sam_conv *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), WEIGHT(weight),
                                IN(bias, ARG_F32), NUMBER(kernel), NUMBER(stride), NUMBER(pad),
                                NUMBER(pad_end),
                                IN(add, ARG_ACTIVATION | ARG_OPTIONAL | ARG_MAY_BE_OUT), END };
    check_begin();
    check(p->kernel > 0 && p->stride > 0 && p->pad >= 0 && p->pad < p->kernel);
    check(p->pad_end >= 0 && p->pad + p->pad_end < p->kernel);
    check(conv_extent(p->src.h, p) > 0 && conv_extent(p->src.w, p) > 0);
    check(p->dst.n == p->src.n);
    check(p->dst.h == conv_extent(p->src.h, p) && p->dst.w == conv_extent(p->src.w, p));
    check(p->weight.out == p->dst.c && p->weight.in == p->kernel * p->kernel * p->src.c);
    check(is_vector(&p->bias, p->dst.c));
    check(!p->add.data || repeats_map(&p->add, &p->dst));
    check((unsigned) p->act < SAM_NUM_ACTS);
    return true;
}

void sam_op_conv(struct sam_queue *q, const struct sam_conv *p)
{
    if (check_conv(q, __func__, p))
        q->ops->conv(q, p);
}

static bool check_conv_transpose(struct sam_queue *q, const char *op,
                                 const struct sam_conv_transpose *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), WEIGHT(weight),
                                IN(bias, ARG_F32), IN(add, ARG_ACTIVATION | ARG_OPTIONAL), END };
    check_begin();
    check(is_shape(&p->dst, p->src.n, 2 * p->src.h, 2 * p->src.w, p->dst.c));
    check(p->weight.out == 4 * p->dst.c && p->weight.in == p->src.c);
    check(is_vector(&p->bias, p->dst.c));
    check(!p->add.data || repeats_map(&p->add, &p->dst));
    check((unsigned) p->act < SAM_NUM_ACTS);
    return true;
}

void sam_op_conv_transpose(struct sam_queue *q, const struct sam_conv_transpose *p)
{
    if (check_conv_transpose(q, __func__, p))
        q->ops->conv_transpose(q, p);
}

static bool check_layernorm(struct sam_queue *q, const char *op, const struct sam_layernorm *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION | ARG_MAY_BE_OUT),
                                IN(gamma, ARG_F32), IN(beta, ARG_F32), NUMBER(eps), NUMBER(act),
                                IN(sum, ARG_ACTIVATION | ARG_OPTIONAL | ARG_MAY_BE_OUT),
                                IN(add, ARG_ACTIVATION | ARG_OPTIONAL), END };
    check_begin();
    check(same_rows(&p->dst, &p->src) && p->dst.c == p->src.c);
    check(is_vector(&p->gamma, p->src.c));
    check(is_vector(&p->beta, p->src.c));
    check(p->eps > 0.0f);
    check(!p->sum.data == !p->add.data);
    check(!p->sum.data || (like(&p->sum, &p->dst) && repeats(&p->add, &p->dst)));
    check(!p->sum.data || !sam_args_overlap(&p->sum, &p->add));
    check(p->act == SAM_ACT_NONE || p->act == SAM_ACT_GELU || p->act == SAM_ACT_SILU);
    return true;
}

void sam_op_layernorm(struct sam_queue *q, const struct sam_layernorm *p)
{
    if (check_layernorm(q, __func__, p))
        q->ops->layernorm(q, p);
}

// Whether nothing that the norm of a product writes is what the product reads; but for what it adds
// where it writes.
static bool norms_behind(const struct sam_layernorm *n, const struct sam_tensor *dst,
                         const struct sam_tensor *src, const struct sam_tensor *add)
{
    const struct sam_tensor *const written[] = { &n->dst, &n->sum };
    for (int i = 0; i < 2; i++) {
        const struct sam_tensor *t = written[i];
        if (t->data && (sam_args_overlap(t, src)
                        || (add->data && add->data != dst->data && sam_args_overlap(t, add))))
            return false;
    }
    return n->src.data == dst->data && like(&n->src, dst) && n->src.type == dst->type;
}

void sam_op_product_norm(struct sam_queue *q, const struct sam_product_norm *p)
{
    const struct sam_linear *l = p->linear;
    const struct sam_conv *c = p->conv;
    const struct sam_conv_transpose *t = p->conv_transpose;
    const struct arg args[] = { OUT(norm.dst, ARG_ACTIVATION),
                                IN(norm.src, ARG_ACTIVATION | ARG_MAY_BE_OUT), END };
    begin();
    require(!!l + !!c + !!t == 1);
    if ((l && !check_linear(q, __func__, l)) || (c && !check_conv(q, __func__, c))
        || (t && !check_conv_transpose(q, __func__, t)) || !check_layernorm(q, __func__, &p->norm))
        return;
    require(!l || norms_behind(&p->norm, &l->dst, &l->src, &l->add));
    require(!c || norms_behind(&p->norm, &c->dst, &c->src, &c->add));
    require(!t || norms_behind(&p->norm, &t->dst, &t->src, &t->add));
    q->ops->product_norm(q, p);
}

static bool check_upsample_add(struct sam_queue *q, const char *op,
                               const struct sam_upsample_add *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(a, ARG_ACTIVATION | ARG_MAY_BE_OUT),
                                IN(b, ARG_ACTIVATION), END };
    check_begin();
    check(is_shape(&p->dst, p->a.n, p->a.h, p->a.w, p->a.c));
    check(p->b.n == p->a.n && p->b.c == p->a.c);
    check(2 * p->b.h == p->a.h && 2 * p->b.w == p->a.w);
    return true;
}

void sam_op_upsample_add(struct sam_queue *q, const struct sam_upsample_add *p)
{
    if (check_upsample_add(q, __func__, p))
        q->ops->upsample_add(q, p);
}

void sam_op_linear_upsample(struct sam_queue *q, const struct sam_linear_upsample *p)
{
    const struct arg args[] = { OUT(sum.dst, ARG_ACTIVATION), IN(product.src, ARG_ACTIVATION),
                                IN(product.add, ARG_ACTIVATION | ARG_OPTIONAL),
                                OUT(product.dst, ARG_ACTIVATION), END };
    begin();
    if (!check_linear(q, __func__, &p->product) || !check_upsample_add(q, __func__, &p->sum))
        return;
    require(p->sum.b.data == p->product.dst.data && p->sum.b.type == p->product.dst.type
            && like(&p->sum.b, &p->product.dst));
    q->ops->linear_upsample(q, p);
}

// The fronts of products with weights; ops.c has the others.

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
    const struct {
        bool holds;
        const char *text;
    } needs[] = {
#define NEED(cond) { cond, #cond }
        NEED(same_rows(&p->dst, &p->src)),
        NEED(p->weight.out == p->dst.c && p->weight.in == p->src.c),
        NEED(is_absent_or_vector(&p->bias, p->dst.c)),
        NEED(is_absent_or_vector(&p->bias_bf16, p->dst.c)),
        NEED(!p->bias_bf16.data || (p->bias.data && p->bias_bf16.type == SAM_BF16)),
        NEED(!p->add.data || repeats_map(&p->add, &p->dst)),
        NEED((unsigned) p->act <= SAM_ACT_SILU),
        NEED(!turns || (p->dst.c % 2 == 0 && is_shape(&p->table, 1, 1, p->table.w, p->dst.c))),
        NEED(!p->num_rotated.data || (turns && is_shape(&p->num_rotated, 1, 1, 1, p->dst.n))),
#undef NEED
    };

    if (q->status || !sam_check_args(q, op, args))
        return false;
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (!needs[i].holds) {
            sam_refuse(q, op, needs[i].text, args);
            return false;
        }
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

void sam_op_norm_linears(struct sam_queue *q, const struct sam_norm_linears *p)
{
    const struct arg args[] = { OUT(norm.dst, ARG_ACTIVATION), IN(norm.src, ARG_ACTIVATION),
                                IN(norm.gamma, ARG_F32), IN(norm.beta, ARG_F32), NUMBER(norm.eps),
                                NUMBER(count), END };
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
    q->ops->norm_linears(q, p);
}

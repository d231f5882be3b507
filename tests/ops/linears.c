// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

struct shape {
    int n, rows, in, out;
};

// What one backend may make in one launch, and what it may not: rows of a few, then of maps, small
// ones and for four multiprocessors and more; both together.
static const struct group {
    const char *name;
    int count;
    struct shape of[SAM_MAX_LINEARS];
} groups[] = {
    { "one", 1, { { 2, 3, 12, 5 } } },
    { "heads", 6, { { 3, 1, 256, 1 }, { 3, 1, 256, 4 }, { 3, 1, 256, 32 }, { 3, 1, 128, 32 },
                    { 3, 1, 256, 33 }, { 3, 1, 40, 256 } } },
    { "tokens", 3, { { 2, 8, 256, 256 }, { 2, 9, 256, 128 }, { 1, 33, 64, 70 } } },
    { "odd", 3, { { 1, 33, 31, 67 }, { 1, 2, 3, 5 }, { 1, 1, 1, 1 } } },
    { "maps", 2, { { 1, 130, 72, 40 }, { 1, 70, 40, 136 } } },
    { "large", 3, { { 1, 300, 96, 136 }, { 2, 130, 64, 72 }, { 1, 129, 160, 264 } } },
    { "unlike", 2, { { 1, 4, 64, 40 }, { 1, 130, 72, 40 } } },
};
enum { NUM_GROUPS = sizeof(groups) / sizeof(*groups) };

struct item {
    struct check_buf *src, *bias, *add, *dst, *table;
    struct check_matrix weight;
    enum sam_act act;
};

static struct item draw(struct check *t, const struct check_types *type, const struct shape *s)
{
    const bool in_place = !check_int(t, 0, 3), adds = !check_int(t, 0, 2);
    const bool turns = s->out % 2 == 0 && check_int(t, 0, 1);
    struct item x = {
        .src = check_in(t, type->in, s->n, 1, s->rows, s->in),
        .bias = check_int(t, 0, 3) ? check_in(t, SAM_F32, 1, 1, 1, s->out) : &check_none,
        .add = in_place ? check_inout(t, type->out, s->n, 1, s->rows, s->out)
             : adds     ? check_in(t, type->in, 1, 1, s->rows, s->out) : &check_none,
        .weight = check_weight(t, s->out, s->in),
        .act = check_int(t, SAM_ACT_NONE, SAM_ACT_RELU6),
        .table = turns ? check_uniform(t, -1, 1, SAM_F32, 1, 1, s->rows, s->out) : &check_none,
    };
    x.dst = in_place ? x.add : check_out(t, type->out, s->n, 1, s->rows, s->out);
    return x;
}

static struct sam_linear linear_of(const struct item *x, int side)
{
    return (struct sam_linear) { .dst = x->dst->on[side], .src = x->src->on[side],
                                 .weight = x->weight.on[side], .bias = x->bias->on[side],
                                 .add = x->add->on[side], .act = x->act,
                                 .table = x->table->on[side] };
}

// Sums of magnitudes, which rounding errors are a share of.
static struct sam_tensor bound(struct check *t, const struct item *x)
{
    const struct sam_tensor d = x->dst->on[CHECK_REF];
    struct sam_tensor sum = check_temp(t, d.n, d.h, d.w, d.c);
    sam_op_linear(&t->queue[CHECK_REF],
                  &(struct sam_linear) { .dst = sum, .src = check_abs(t, x->src),
                                         .weight = check_abs_weight(t, &x->weight),
                                         .bias = check_abs(t, x->bias),
                                         .add = check_abs(t, x->add) });
    if (x->table->on[CHECK_REF].data)
        product_add_pairs(&sum);
    return sum;
}

static void run(struct check *t, const struct check_types *type, const struct group *g,
                enum check_factors factors)
{
    struct item item[SAM_MAX_LINEARS];
    struct sam_tensor sum[SAM_MAX_LINEARS];

    check_set_factors(t, factors);
    for (int i = 0; i < g->count; i++) {
        item[i] = draw(t, type, &g->of[i]);
        sum[i] = bound(t, &item[i]);
    }
    check_each_side(t, s) {
        struct sam_linear each[SAM_MAX_LINEARS];
        for (int i = 0; i < g->count; i++)
            each[i] = linear_of(&item[i], s);
        sam_op_linears(&t->queue[s], &(struct sam_linears) { each, g->count });
    }
    for (int i = 0; i < g->count; i++)
        check_bound(t, item[i].dst, &sum[i],
                    product_factor(t) * product_slope(item[i].act) + product_turn_factor(type->out),
                    product_turn_abs(type->out, item[i].act), type->rel);
    check_done(t);
}

static void check_linears(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_GROUPS; i++)
            for (int f = 0; f < check_num_factors(t); f++)
                if (check_case(t, "linears_%s_%s%s", check_types[k].name, groups[i].name,
                               check_factor_names[f]))
                    run(t, &check_types[k], &groups[i], f);
}

// ---- the front

static struct sam_linear pair[2];

static struct sam_linears valid_linears(void)
{
    for (int i = 0; i < 2; i++)
        pair[i] = (struct sam_linear) { f32(8 * i, 2, 1, 4, 5), f32(8 * i + 1, 2, 1, 4, 7),
                                        matrix(8 * i + 2, 5, 7), f32(8 * i + 3, 1, 1, 1, 5),
                                        .add = f32(8 * i + 4, 2, 1, 4, 5) };
    return (struct sam_linears) { pair, 2 };
}

static void fronts_linears(void)
{
    TAKES(linears, (void) p);
    TAKES(linears, p->count = 1);
    TAKES(linears, pair[1].src = pair[0].src);
    TAKES(linears, pair[1].add = pair[1].dst);
    REFUSES(linears, p->count = 0, "count");
    REFUSES(linears, p->count = SAM_MAX_LINEARS + 1, "count");
    REFUSES(linears, p->each = NULL, "each");
    REFUSES(linears, pair[1].weight.in = 6, "weight");
    REFUSES(linears, pair[1].act = SAM_NUM_ACTS, "act");
    REFUSES(linears, pair[0].bias.c = 4, "bias");
    REFUSES(linears, pair[1].dst = pair[0].dst, "are_apart");
    REFUSES(linears, pair[0].dst.data = pair[1].src.data, "are_apart");
    REFUSES(linears, overlap_by_one(&pair[1].dst, &pair[0].add), "are_apart");
}

// ---- faults

COMMON(linears, each[0].dst, each[0].src)
CHANGED(linears, forgets_one, m.count -= m.count > 1)

// The list of a launch that takes one operand of the first product for all of them.
#define FIRST_FOR_ALL(name, ...)                                                               \
    static void linears_##name(struct sam_queue *q, const struct sam_linears *p)               \
    {                                                                                          \
        struct sam_linear each[SAM_MAX_LINEARS];                                               \
        for (int i = 0; i < p->count; i++) {                                                   \
            struct sam_linear *x = &each[i];                                                   \
            *x = p->each[i];                                                                   \
            __VA_ARGS__;                                                                       \
        }                                                                                      \
        sam_linears_ref(q, &(struct sam_linears) { each, p->count });                          \
    }
FIRST_FOR_ALL(all_have_the_first_act, x->act = p->each->act)
FIRST_FOR_ALL(all_have_the_first_bias,
              if (x->bias.data && p->each->bias.data && x->bias.c <= p->each->bias.c)
                  x->bias.data = p->each->bias.data)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(linears),
    MUTANT(linears, forgets_one),
    MUTANT(linears, all_have_the_first_act),
    MUTANT(linears, all_have_the_first_bias),
};

CUDA_FAULT("gemm_io.cuh", "return list.each[«blockIdx.z => 0»];")
CUDA_FAULT("linear.cu", "skinny = skinny && «is_skinny(q, &rest[i]) => true»")
CUDA_FAULT("linear.cu", "tensor = tensor && «is_tensor(q, &rest[i]) => true»;")
CUDA_FAULT("linear.cuh", "*m = max(*m, «list.each[i].m => list.each[0].m»);")
CUDA_FAULT("linear.cuh", "*n = max(*n, «list.each[i].n => list.each[0].n»);")

TEST(linears, .abs = 5e-6f, .rel = 1e-6f, .fp32_is_another_kernel = true);

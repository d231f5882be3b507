// SPDX-License-Identifier: MIT
#include <string.h>

#include "test.h"

enum kind { LINEAR, CONV, TRANSPOSE };

// What one launch makes, and what it does not: rows of 8 blocks of some columns and of one, with a
// part of the last; a lane for a row, and 32 with eight numbers each; odd ones; "few": nothing is
// added, and there is no activation ahead of the norm.
static const struct shape {
    const char *name;
    enum kind kind;
    int n, h, w, in, out; // of src, and channels of dst
} shapes[] = {
    { "tokens", LINEAR, 1, 1, 8, 128, 256 },  { "several", LINEAR, 3, 1, 9, 64, 40 },
    { "odd", LINEAR, 2, 1, 5, 31, 7 },        { "half", LINEAR, 1, 1, 65, 12, 12 },
    { "many", LINEAR, 1, 1, 150, 64, 256 },   { "wide", LINEAR, 1, 1, 7, 16, 264 },
    { "long", LINEAR, 1, 1, 20, 264, 64 },    { "columns", LINEAR, 2, 1, 50, 40, 132 },
    { "conv4", CONV, 2, 20, 18, 1, 4 },       { "conv16", CONV, 1, 16, 14, 4, 16 },
    { "conv64", CONV, 2, 9, 11, 16, 64 },     { "conv256", CONV, 1, 18, 17, 8, 256 },
    { "conv5", CONV, 1, 6, 7, 3, 5 },         { "up64", TRANSPOSE, 2, 5, 7, 24, 64 },
    { "up128", TRANSPOSE, 1, 3, 5, 16, 128 }, { "up32", TRANSPOSE, 1, 9, 8, 8, 32 },
    { "few4", CONV, 2, 20, 18, 1, 4 },  { "few8", CONV, 1, 11, 9, 3, 8 },
    { "few16", CONV, 1, 16, 14, 4, 16 }, { "few4wide", CONV, 2, 37, 71, 1, 4 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes) };

static bool is_plain(const struct shape *s)
{
    return !strncmp(s->name, "few", 3);
}

struct item {
    const struct shape *shape;
    struct check_buf *src, *bias, *add, *table, *made;
    struct check_buf *gamma, *beta, *dst, *sum, *plus;
    struct check_matrix weight;
    enum sam_act act, norm_act;
    float eps;
};

static void draw_product(struct check *t, const struct check_types *type, struct item *x)
{
    const struct shape *s = x->shape;
    const int h = s->kind == CONV ? (s->h + 1) / 2 : s->kind == TRANSPOSE ? 2 * s->h : s->h;
    const int w = s->kind == CONV ? (s->w + 1) / 2 : s->kind == TRANSPOSE ? 2 * s->w : s->w;
    const int adds = is_plain(s) ? 0 : check_int(t, 0, 2); // nothing, a map for all, dst itself
    const int taps = s->kind == CONV ? 9 : 1, places = s->kind == TRANSPOSE ? 4 : 1;
    const bool in_place = adds == 2 && s->kind != TRANSPOSE;

    x->src = check_uniform(t, -1, 1, type->in, s->n, s->h, s->w, s->in);
    x->bias = check_uniform(t, -0.5f, 0.5f, SAM_F32, 1, 1, 1, s->out);
    x->weight = check_weight(t, places * s->out, taps * s->in);
    x->made = in_place ? check_inout(t, type->out, s->n, h, w, s->out)
                       : check_out(t, type->out, s->n, h, w, s->out);
    x->add = in_place ? x->made : adds ? check_uniform(t, -1, 1, type->in, 1, h, w, s->out)
                                       : &check_none;
    x->table = s->kind == LINEAR && s->out % 2 == 0 && !check_int(t, 0, 3)
             ? check_uniform(t, -1, 1, SAM_F32, 1, 1, w, s->out) : &check_none;
    for (size_t i = 0; in_place && i < sam_count(&x->made->host[CHECK_REF]); i++)
        check_set(t, x->made, i, check_unit(t));
    x->act = is_plain(s) || check_int(t, 0, 3) ? SAM_ACT_NONE : SAM_ACT_GELU;
}

static void draw_norm(struct check *t, const struct check_types *type, struct item *x)
{
    static const enum sam_act acts[] = { SAM_ACT_NONE, SAM_ACT_NONE, SAM_ACT_GELU, SAM_ACT_SILU };
    const struct sam_tensor d = x->made->on[CHECK_REF];
    const int sums = is_plain(x->shape) ? 0 : check_int(t, 0, 3); // two: not; another tensor; dst
    const bool in_place = check_int(t, 0, 1);

    x->gamma = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, d.c);
    x->beta = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, d.c);
    x->dst = in_place ? x->made : check_out(t, type->in, d.n, d.h, d.w, d.c);
    x->plus = sums < 2 ? &check_none
            : check_int(t, 0, 1) ? check_uniform(t, -1, 1, SAM_F32, d.n, d.h, d.w, d.c)
                                 : check_uniform(t, -1, 1, SAM_F32, 1, 1, 1, d.c);
    x->sum = sums == 2 ? check_out(t, type->out, d.n, d.h, d.w, d.c)
           : sums == 3 ? x->dst : &check_none;
    x->norm_act = acts[check_int(t, 0, 3)];
    x->eps = d.c >= 64 && check_int(t, 0, 1) ? 1e-6f : 1.0f; // the second is one that counts
}

static void call(struct check *t, const struct item *x, int side)
{
    const struct sam_tensor dst = x->made->on[side], src = x->src->on[side];
    const struct sam_tensor bias = x->bias->on[side], add = x->add->on[side];
    const struct sam_matrix weight = x->weight.on[side];
    const struct sam_linear linear = { .dst = dst, .src = src, .weight = weight, .bias = bias,
                                       .add = add, .act = x->act, .table = x->table->on[side] };
    const struct sam_conv conv = { .dst = dst, .src = src, .weight = weight, .bias = bias,
                                   .kernel = 3, .stride = 2, .pad = 1, .act = x->act, .add = add };
    const struct sam_conv_transpose up = { .dst = dst, .src = src, .weight = weight, .bias = bias,
                                           .add = add, .act = x->act };
    struct sam_product_norm p = {
        .norm = { .dst = x->dst->on[side], .src = dst, .gamma = x->gamma->on[side],
                  .beta = x->beta->on[side], .eps = x->eps, .act = x->norm_act,
                  .sum = x->sum->on[side], .add = x->plus->on[side] } };
    if (x->shape->kind == LINEAR)
        p.linear = &linear;
    else if (x->shape->kind == CONV)
        p.conv = &conv;
    else
        p.conv_transpose = &up;
    sam_op_product_norm(&t->queue[side], &p);
}

// Products are within 3 of 0, of sums of magnitudes up to 6 that are rounded by 1e-6 of these, or
// to BF16; rows of 64 numbers or more have a spread of 0.25 at least, others are divided by 1 or
// more, and gamma is up to 2. GELU's slopes are below 1.13.
static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum check_factors factors)
{
    struct item x = { .shape = s };

    check_set_factors(t, factors);
    draw_product(t, type, &x);
    draw_norm(t, type, &x);
    check_each_side(t, side)
        call(t, &x, side);
    const float made = 1.13f * (6e-6f + (type->out == SAM_BF16 ? 3 * 0x1p-8f : 0));
    const float abs = 2 * 1.13f * made / (x.eps == 1 ? 1 : 0.25f) + 2e-6f;
    if (x.sum != x.dst)
        check_near(t, x.dst, abs, 2 * type->rel + 0x1p-7f * (type->in == SAM_BF16));
    if (x.sum != &check_none) // either side may round to BF16 before it adds
        check_near(t, x.sum, abs + (type->in == SAM_BF16 ? 12 * 0x1p-8f : 0),
                   2 * type->rel + 0x1p-7f * (type->in == SAM_BF16));
    if (x.dst != x.made)
        check_near(t, x.made, made, type->rel);
    check_done(t);
}

// Factors that BF16 rounds would be off by more than a norm's fault is.
static void check_product_norm(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int f = 0; f < check_num_factors(t); f++)
                if ((!check_is_bf16(t) || f != CHECK_ANY)
                    && check_case(t, "product_norm_%s_%s%s", check_types[k].name, shapes[i].name,
                                  check_factor_names[f]))
                    run(t, &check_types[k], &shapes[i], f);
}

// ---- the front

static struct sam_linear linear;
static struct sam_conv conv;
static struct sam_conv_transpose up;

static struct sam_product_norm valid_product_norm(void)
{
    linear = (struct sam_linear) { .dst = f32(0, 2, 6, 8, 5), .src = f32(1, 2, 6, 8, 7),
                                   .weight = matrix(2, 5, 7), .bias = f32(3, 1, 1, 1, 5) };
    conv = (struct sam_conv) { f32(0, 2, 6, 8, 5), f32(1, 2, 12, 16, 1), matrix(2, 5, 9),
                               f32(3, 1, 1, 1, 5), 3, 2, 1, SAM_ACT_NONE, { 0 }, 0 };
    up = (struct sam_conv_transpose) { f32(0, 2, 6, 8, 5), f32(1, 2, 3, 4, 7), matrix(2, 20, 7),
                                       f32(3, 1, 1, 1, 5), { 0 }, SAM_ACT_NONE };
    return (struct sam_product_norm) {
        { f32(4, 2, 6, 8, 5), f32(0, 2, 6, 8, 5), f32(5, 1, 1, 1, 5), f32(6, 1, 1, 1, 5), 1e-6f,
          SAM_ACT_NONE, { 0 }, { 0 } }, &linear, NULL, NULL };
}

static void fronts_product_norm(void)
{
    TAKES(product_norm, (void) p);
    TAKES(product_norm, p->norm.dst = p->norm.src);
    TAKES(product_norm, p->norm.dst = p->norm.src; linear.add = linear.dst);
    TAKES(product_norm, p->norm.sum = f32(7, 2, 6, 8, 5); p->norm.add = f32(8, 1, 1, 1, 5));
    TAKES(product_norm, p->linear = NULL; p->conv = &conv);
    TAKES(product_norm, p->linear = NULL; p->conv_transpose = &up);
    REFUSES(product_norm, p->linear = NULL, "== 1");
    REFUSES(product_norm, p->conv = &conv, "== 1");
    REFUSES(product_norm, linear.weight.in = 6, "weight");
    REFUSES(product_norm, p->linear = NULL; p->conv = &conv; conv.pad = 3, "pad");
    REFUSES(product_norm, p->linear = NULL; p->conv_transpose = &up; up.src.h = 2, "dst");
    REFUSES(product_norm, p->norm.eps = 0, "eps");
    REFUSES(product_norm, p->norm.gamma.c = 4, "gamma");
    REFUSES(product_norm, p->norm.src = f32(9, 2, 6, 8, 5), "norms_behind");
    REFUSES(product_norm, linear.dst.type = SAM_BF16, "norms_behind");
    REFUSES(product_norm, p->norm.dst.data = linear.src.data, "norms_behind");
    REFUSES(product_norm, linear.add = p->norm.dst, "norms_behind");
    REFUSES(product_norm, p->norm.sum = linear.src; p->norm.sum.c = 5;
            p->norm.add = f32(8, 1, 1, 1, 5), "norms_behind");
    REFUSES(product_norm, p->linear = NULL; p->conv = &conv; conv.add = p->norm.dst,
            "norms_behind");
    REFUSES(product_norm, p->linear = NULL; p->conv_transpose = &up; up.add = p->norm.dst,
            "norms_behind");
}

// ---- faults

COMMON(product_norm, norm.dst, norm.gamma)
CHANGED(product_norm, wrong_eps, m.norm.eps = 0.1f)
CHANGED(product_norm, forgets_the_sum, m.norm.sum = m.norm.add = without(m.norm.sum))
CHANGED(product_norm, forgets_gelu, m.norm.act = SAM_ACT_NONE)

static void product_norm_norms_alone(struct sam_queue *q, const struct sam_product_norm *p)
{
    sam_layernorm_ref(q, &p->norm);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(product_norm),
    MUTANT(product_norm, wrong_eps),
    MUTANT(product_norm, forgets_the_sum),
    MUTANT(product_norm, forgets_gelu),
    MUTANT(product_norm, norms_alone),
};

CUDA_FAULT("behind.cuh", "if («n.parts == 1 => true») {")
CUDA_FAULT("behind.cuh",
           "        «__syncthreads() => (void) 0»;\n"
           "        return true;", "_up64")
CUDA_FAULT("behind.cuh", "n.parts - 1) == «n.parts - 1 => 0»;")
CUDA_FAULT("behind.cuh", "rows = min(ROWS, «p.one.m - m0 => ROWS»);")
CUDA_FAULT("behind.cuh", "there[a] = «r < rows => r <= rows» ?")
CUDA_FAULT("behind.cuh", "p.one.out.up_w ? «n0 => 0» : 0);", "_up64")
CUDA_FAULT("behind.cuh", "if («n.dst.p != n.sum.p => false»)")
CUDA_FAULT("behind.cuh", "(first + i) % «n.period => n.c»);")
CUDA_FAULT("behind.cuh", "n.act == SAM_ACT_SILU ? SAM_ACT_SILU : «SAM_ACT_GELU => SAM_ACT_SILU»;")
CUDA_FAULT("product_norm.cu", "|| «l->dst.c % columns => false»)", "_half")
CUDA_FAULT("product_norm.cu", "(g.out.up_w ? «g.out.c != S::N => false» :", "_up")
CUDA_FAULT("product_norm.cu", "four = «n->src.c <= BEHIND_WIDEST => true»;", "_wide")
CUDA_FAULT("product_norm.cu", "«g.n > S::N => false»)")
CUDA_FAULT("product_norm.cu", "x >= 0 && «x < a.w => x <= a.w»;", "_few")
CUDA_FAULT("product_norm.cu", "p.norm.gamma[j + i] + «p.norm.beta[j + i] => 0.0f»;", "_few")
CUDA_FAULT("product_norm.cu", "sum[j] = p.bias ? «p.bias[j] => 0.0f» : 0.0f;", "_few")

TEST(product_norm, .abs = 5e-6f, .rel = 1e-6f, .fp32_is_another_kernel = true);

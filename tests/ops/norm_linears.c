// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

// A product of the normed rows, or with an `in` of its own rows.
struct shape {
    int out, rows, in;
};

// What one launch may make, and what it may not: rows of a block of 96 or 128 and a few more,
// widths for one and for three groups of numbers in a lane; odd ones.
static const struct group {
    const char *name;
    int n, rows, c, count;
    struct shape of[SAM_MAX_LINEARS];
    int w; // of maps, whose cells the last product is pooled over; 0: it is not
} groups[] = {
    { "odd", 1, 33, 31, 2, { { 67, 0, 0 }, { 5, 7, 12 } }, 0 },
    { "short", 3, 9, 8, 1, { { 24, 0, 0 } }, 0 },
    { "pair", 2, 70, 96, 2, { { 288, 0, 0 }, { 40, 0, 0 } }, 0 },
    { "beside", 1, 130, 256, 3, { { 136, 0, 0 }, { 256, 300, 64 }, { 8, 0, 0 } }, 0 },
    { "wide", 1, 500, 384, 1, { { 136, 0, 0 } }, 0 },
    { "wider", 1, 70, 328, 1, { { 136, 0, 0 } }, 0 },
    { "widest", 1, 100, 264, 2, { { 130, 0, 0 }, { 16, 3, 40 } }, 0 },
    { "long", 1, 100, 768, 1, { { 16, 0, 0 } }, 0 },
    { "beyond", 1, 5, 776, 1, { { 16, 0, 0 } }, 0 },
    { "broad", 1, 3, 64, 1, { { 1544, 0, 0 } }, 0 },
    { "columns", 1, 40, 48, 1, { { 1000, 0, 0 } }, 0 },
    { "many", 1, 1000, 40, 1, { { 200, 0, 0 } }, 0 },
    { "pooled", 2, 80, 96, 2, { { 40, 0, 0 }, { 136, 0, 0 } }, 10 },
    { "pooled_beside", 1, 120, 264, 3, { { 40, 0, 0 }, { 16, 60, 96 }, { 130, 0, 0 } }, 6 },
    { "pooled_odd", 2, 28, 64, 2, { { 40, 0, 0 }, { 8, 0, 0 } }, 7 },
    { "pooled_turned", 1, 32, 40, 1, { { 24, 0, 0 } }, 8 },
};
enum { NUM_GROUPS = sizeof(groups) / sizeof(*groups) };

// What a library may do to BF16 rows: round the bias by 2^-9, and GELU's tanh form.
static const float BIAS_FACTOR = 0x1p-9f * 1.01f, TANH_ABS = 4.8e-4f;

struct item {
    struct check_buf *src; // NULL: the normed rows
    struct check_buf *bias, *bias_bf16, *add, *dst, *table, *rotated;
    struct check_matrix weight;
    enum sam_act act;
};

struct inputs {
    struct check_buf *src, *gamma, *beta, *room;
    float eps;
};

static struct check_buf *rounded(struct check *t, const struct check_buf *bias)
{
    const struct sam_tensor *from = &bias->host[CHECK_REF];
    struct check_buf *b = check_in(t, SAM_BF16, 1, 1, 1, from->c);

    for (int i = 0; i < from->c; i++)
        check_set(t, b, (size_t) i, sam_load(from, (size_t) i));
    return b;
}

static struct item draw(struct check *t, const struct check_types *type, const struct group *g,
                        const struct shape *s)
{
    static const enum sam_act acts[] = { SAM_ACT_NONE, SAM_ACT_NONE, SAM_ACT_RELU, SAM_ACT_GELU,
                                         SAM_ACT_SILU };
    const int n = s->in ? 1 : g->n, rows = s->in ? s->rows : g->rows, out = s->out;
    // What the kernel does not take would hide its cells; the only one of a group turns.
    const bool plain = g->w != 0;
    const bool turns = out % 2 == 0 && (plain ? g->count == 1 : !check_int(t, 0, 2));
    const bool theirs = type->out == SAM_BF16 && sam_op_wants_bias_bf16(&t->queue[CHECK_NEW]);
    struct item x = {
        .src = s->in ? check_in(t, type->in, n, 1, rows, s->in) : NULL,
        .bias = check_int(t, 0, 3) ? check_in(t, SAM_F32, 1, 1, 1, out) : &check_none,
        .bias_bf16 = &check_none,
        .add = plain || check_int(t, 0, 5) ? &check_none : check_in(t, type->in, n, 1, rows, out),
        .dst = check_out(t, type->out, n, 1, rows, out),
        .table = turns ? check_uniform(t, -1, 1, SAM_F32, 1, 1, rows, out) : &check_none,
        .rotated = turns && check_int(t, 0, 1) ? check_ints(t, 0, rows, 1, 1, 1, n) : &check_none,
        .weight = check_weight(t, out, s->in ? s->in : g->c),
        .act = acts[check_int(t, 0, plain ? 2 : 4)],
    };
    if (theirs && x.bias != &check_none)
        x.bias_bf16 = rounded(t, x.bias);
    return x;
}

static struct sam_linear linear_of(const struct item *x, const struct inputs *in, int side)
{
    return (struct sam_linear) { .dst = x->dst->on[side],
                                 .src = x->src ? x->src->on[side] : in->room->on[side],
                                 .weight = x->weight.on[side], .bias = x->bias->on[side],
                                 .bias_bf16 = x->bias_bf16->on[side],
                                 .add = x->add->on[side], .act = x->act,
                                 .table = x->table->on[side],
                                 .num_rotated = x->rotated->on[side] };
}

static struct sam_layernorm norm_of(const struct inputs *in, int side)
{
    return (struct sam_layernorm) { .dst = in->room->on[side], .src = in->src->on[side],
                                    .gamma = in->gamma->on[side], .beta = in->beta->on[side],
                                    .eps = in->eps };
}

// Magnitudes of the normed rows.
static struct sam_tensor magnitudes(struct check *t, const struct inputs *in)
{
    struct sam_layernorm norm = norm_of(in, CHECK_REF);
    const struct sam_tensor u = check_temp(t, norm.src.n, 1, norm.src.w, norm.src.c);
    norm.dst = u;
    sam_op_layernorm(&t->queue[CHECK_REF], &norm);
    for (size_t i = 0; i < sam_count(&u); i++)
        sam_store(&u, i, fabsf(sam_load(&u, i)));
    return u;
}

// Sums of magnitudes, which rounding errors are a share of.
static void bound(struct check *t, const struct item *x, struct sam_tensor normed,
                  struct sam_tensor sum)
{
    sam_op_linear(&t->queue[CHECK_REF],
                  &(struct sam_linear) { .dst = sum, .src = x->src ? check_abs(t, x->src) : normed,
                                         .weight = check_abs_weight(t, &x->weight),
                                         .bias = check_abs(t, x->bias),
                                         .add = check_abs(t, x->add) });
    if (x->table->on[CHECK_REF].data)
        product_add_pairs(&sum);
}

// Where factors may be rounded to BF16, normed rows are; elsewhere they are F32. Rows of 0.5 and a
// spread of 1.4 are normed within 1e-6 by any order of sums. Coarse rows are beta alone.
static struct inputs draw_inputs(struct check *t, const struct check_types *type,
                                 const struct group *g)
{
    const bool coarse = t->factors == CHECK_COARSE;
    const bool rounds = check_rounds(t) || (check_is_bf16(t) && coarse);
    return (struct inputs) {
        .src = check_uniform(t, -2, 3, type->in, g->n, 1, g->rows, g->c),
        .gamma = check_uniform(t, coarse ? 0 : -2, coarse ? 0 : 2, SAM_F32, 1, 1, 1, g->c),
        .beta = coarse ? check_in(t, SAM_F32, 1, 1, 1, g->c)
                       : check_uniform(t, -1, 1, SAM_F32, 1, 1, 1, g->c),
        .room = check_out(t, rounds ? SAM_BF16 : SAM_F32, g->n, 1, g->rows, g->c),
        .eps = check_int(t, 0, 1) ? 1e-6f : 1.0f, // the second is one that counts
    };
}

// The last product's cells, of a group that is pooled.
static struct sam_maxpool pool_of(const struct item *item, const struct group *g,
                                  struct sam_tensor dst, int side)
{
    struct sam_tensor src = item[g->count - 1].dst->on[side];
    src.w = g->w, src.h = g->rows / g->w;
    return (struct sam_maxpool) { dst, src };
}

// Largest sums of a cell: what its largest number is off by, at most.
static struct sam_tensor pooled_bound(struct check *t, const struct group *g, struct sam_tensor sum)
{
    struct sam_tensor most = check_temp(t, g->n, g->rows / g->w / 2, g->w / 2, sum.c);
    sum.w = g->w, sum.h = g->rows / g->w;
    sam_op_maxpool(&t->queue[CHECK_REF], &(struct sam_maxpool) { most, sum });
    return most;
}

// All that the reference writes: sums, outputs, normed rows, cells.
static bool is_known(struct check *t, const struct item *item, const struct sam_tensor *sum,
                     int count, const struct check_buf *room, const struct check_buf *pooled)
{
    struct sam_tensor outs[2 * SAM_MAX_LINEARS + 2];
    int n = 0;
    for (int i = 0; i < count; i++) {
        outs[n++] = sum[i];
        outs[n++] = item[i].dst->host[CHECK_REF];
    }
    outs[n++] = room->host[CHECK_REF];
    outs[n++] = pooled->host[CHECK_REF];
    return check_all_known(t, outs, n);
}

static void run_side(struct check *t, const struct group *g, const struct item *item,
                     const struct inputs *in, struct sam_tensor pooled, int side)
{
    struct sam_linear each[SAM_MAX_LINEARS];
    struct sam_maxpool pool = { 0 };
    for (int i = 0; i < g->count; i++)
        each[i] = linear_of(&item[i], in, side);
    if (g->w)
        pool = pool_of(item, g, pooled, side);
    sam_op_norm_linears(&t->queue[side],
                        &(struct sam_norm_linears) { norm_of(in, side), each, g->count, pool });
}

static void compare_items(struct check *t, const struct check_types *type, const struct group *g,
                          const struct item *item, const struct sam_tensor *sum,
                          struct check_buf *pooled)
{
    for (int i = 0; i < g->count; i++) {
        const bool is_pooled = g->w && i == g->count - 1;
        const struct sam_tensor most = is_pooled ? pooled_bound(t, g, sum[i]) : sum[i];
        const bool theirs = item[i].bias_bf16 != &check_none;
        const float factor = product_factor(t) + (theirs ? BIAS_FACTOR : 0) + 2e-6f;
        check_bound(t, is_pooled ? pooled : item[i].dst, &most,
                    factor * product_slope(item[i].act) + product_turn_factor(type->out),
                    product_turn_abs(type->out, item[i].act)
                        + (theirs && item[i].act == SAM_ACT_GELU ? 2 * TANH_ABS : 0), type->rel);
    }
}

static void run(struct check *t, const struct check_types *type, const struct group *g,
                enum check_factors factors)
{
    struct item item[SAM_MAX_LINEARS];
    struct sam_tensor sum[SAM_MAX_LINEARS];
    struct check_buf *pooled = &check_none;

    check_set_factors(t, factors);
    const struct inputs in = draw_inputs(t, type, g);
    for (int i = 0; i < g->count; i++) {
        item[i] = draw(t, type, g, &g->of[i]);
        const struct sam_tensor d = item[i].dst->on[CHECK_REF];
        sum[i] = check_temp(t, d.n, d.h, d.w, d.c);
    }
    if (g->w)
        pooled = check_out(t, type->out, g->n, g->rows / g->w / 2, g->w / 2,
                           g->of[g->count - 1].out);
    if (!is_known(t, item, sum, g->count, in.room, pooled)) {
        const struct sam_tensor normed = magnitudes(t, &in);
        for (int i = 0; i < g->count; i++)
            bound(t, &item[i], normed, sum[i]);
        run_side(t, g, item, &in, pooled->on[CHECK_REF], CHECK_REF);
    }
    run_side(t, g, item, &in, pooled->on[CHECK_NEW], CHECK_NEW);
    compare_items(t, type, g, item, sum, pooled);
    check_done(t);
}

static void check_norm_linears(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_GROUPS; i++)
            for (int f = 0; f < check_num_factors(t); f++)
                if (check_case(t, "norm_linears_%s_%s%s", check_types[k].name, groups[i].name,
                               check_factor_names[f]))
                    run(t, &check_types[k], &groups[i], f);
}

// ---- the front

static struct sam_linear pair[2];

static struct sam_norm_linears valid_norm_linears(void)
{
    for (int i = 0; i < 2; i++)
        pair[i] = (struct sam_linear) { f32(8 * i, 2, 1, 4, 5),
                                        i ? f32(9, 2, 1, 4, 7) : f32(20, 2, 1, 4, 7),
                                        matrix(8 * i + 2, 5, 7),
                                        .bias = f32(8 * i + 3, 1, 1, 1, 5) };
    return (struct sam_norm_linears) {
        { f32(20, 2, 1, 4, 7), f32(21, 2, 1, 4, 7), f32(22, 1, 1, 1, 7), f32(23, 1, 1, 1, 7),
          1e-6f, SAM_ACT_NONE, { 0 }, { 0 } }, pair, 2, { { 0 }, { 0 } } };
}

static struct sam_maxpool cells(void)
{
    pair[1].dst.h = pair[1].dst.w = 2;
    return (struct sam_maxpool) { f32(31, 2, 1, 1, 5), pair[1].dst };
}

static void fronts_norm_linears(void)
{
    TAKES(norm_linears, (void) p);
    TAKES(norm_linears, p->count = 1);
    TAKES(norm_linears, pair[1].src = p->norm.dst);
    TAKES(norm_linears, pair[0].src = pair[1].src);
    REFUSES(norm_linears, p->count = 0, "count");
    REFUSES(norm_linears, p->count = SAM_MAX_LINEARS + 1, "count");
    REFUSES(norm_linears, p->each = NULL, "each");
    REFUSES(norm_linears, p->norm.eps = 0, "eps");
    REFUSES(norm_linears, p->norm.act = SAM_ACT_GELU, "act");
    REFUSES(norm_linears, p->norm.gamma.c = 5, "gamma");
    REFUSES(norm_linears, p->norm.src.w = 3, "same_rows");
    REFUSES(norm_linears, p->norm.dst = p->norm.src, "apart in memory");
    REFUSES(norm_linears, p->norm.sum = p->norm.add = f32(30, 2, 1, 4, 7), "sum");
    TAKES(norm_linears, p->pool = cells());
    REFUSES(norm_linears, p->pool = cells(); p->pool.src = pair[0].dst, "pools_last");
    REFUSES(norm_linears, p->pool = cells(); p->pool.src.h = 1, "pools_last");
    REFUSES(norm_linears, p->pool = cells(); p->pool.src.type = SAM_BF16, "pools_last");
    REFUSES(norm_linears, p->pool = cells(); p->pool.dst.w = 2, "pools_last");
    REFUSES(norm_linears, p->pool = cells(); p->pool.dst.data = p->norm.src.data, "pools_last");
    REFUSES(norm_linears, p->pool = cells(); p->pool.dst.data = pair[0].dst.data, "pools_last");
    REFUSES(norm_linears, pair[1].weight.in = 6, "weight");
    REFUSES(norm_linears, pair[1].dst = pair[0].dst, "are_apart");
    REFUSES(norm_linears, pair[0].dst.data = p->norm.src.data, "is_behind");
    REFUSES(norm_linears, pair[1].add = p->norm.dst; pair[1].add.c = 5, "is_behind");
    REFUSES(norm_linears, pair[0].src.n = 1; pair[0].dst.n = 1, "is_behind");
    REFUSES(norm_linears, pair[1].src = p->norm.dst; pair[1].src.type = SAM_BF16, "is_behind");
}

// ---- faults

COMMON(norm_linears, each[0].dst, norm.src)
CHANGED(norm_linears, forgets_one, m.count -= m.count > 1)
CHANGED(norm_linears, wrong_eps, m.norm.eps = 0.1f)
CHANGED(norm_linears, forgets_gamma, float ones[2048]; for (int i = 0; i < m.norm.gamma.c; i++)
        ones[i] = 1;
        m.norm.gamma.data = ones)

static void norm_linears_norms_nothing(struct sam_queue *q, const struct sam_norm_linears *p)
{
    struct sam_linear each[SAM_MAX_LINEARS];
    for (int i = 0; i < p->count; i++) {
        each[i] = p->each[i];
        if (each[i].src.data == p->norm.dst.data)
            each[i].src = p->norm.src;
    }
    sam_linears_ref(q, &(struct sam_linears) { each, p->count });
}

CHANGED(norm_linears, forgets_to_pool, m.pool.dst = without(m.pool.dst))

static const struct mutant mutants[] = {
    COMMON_MUTANTS(norm_linears),
    MUTANT(norm_linears, forgets_one),
    MUTANT(norm_linears, wrong_eps),
    MUTANT(norm_linears, forgets_gamma),
    MUTANT(norm_linears, norms_nothing),
    MUTANT(norm_linears, forgets_to_pool),
};

CUDA_FAULT("norm_linears.cu", "is_normed[i] = «p->each[i].src.data == norm->dst.data => true»;",
           "_beside")
CUDA_FAULT("norm_linears.cu", "mine = «m0 + r < p.m => m0 + r <= p.m» ? c : 0;")
CUDA_FAULT("norm_linears.cu", "n0 + row < n && «k < ld => true»;", "_many")
CUDA_FAULT("norm_linears.cu",
           "<NORM_STAGES - 2>();\n"
           "            «__syncthreads() => (void) 0»;", "_pair")
CUDA_FAULT("norm_linears.cu", "n0 += «gridDim.x * NORM_COLS => NORM_COLS»;\n    }", "_columns")
CUDA_FAULT("norm_linears.cu", "n0 += «gridDim.x * NORM_COLS => NORM_COLS») {", "_columns")
CUDA_FAULT("norm_linears.cu", "if («row >= p.m => row > p.m» || ")
CUDA_FAULT("norm_linears.cu", "|| «col >= p.n => false» || (pools")
CUDA_FAULT("norm_linears.cu", "v[1] = «re * angle[j].y => im * angle[j].y» + im", "_pair")
CUDA_FAULT("norm_linears.cu", "act == SAM_ACT_RELU && «x < 0.0f => false» ? 0.0f : x", "_pair")
CUDA_FAULT("norm_linears.cu", "x * («-2.3022082f => 2.3022082f» - 0.10294324f * x * x)", "_pair")
CUDA_FAULT("norm_linears.cu", "(p->act == SAM_ACT_GELU && «is_close => true»)")
CUDA_FAULT("norm_linears.cu", "in.chunks && «!p->add.data => true»\n")
CUDA_FAULT("norm_linears.cu", "now + 1 < «NORM_STAGES => NORM_STAGES + 1» ? now", "_pair")

CUDA_FAULT("norm_linears.cu", "POOLS && «pool_w => 0» ? norm_place", "_pooled")
CUDA_FAULT("norm_linears.cu", "(2 * y + «r / 2 % 2 => r % 2») * pool_w", "_pooled")
CUDA_FAULT("norm_linears.cu", "__shfl_xor_sync(0xffffffffu, v, «8 => 16»)", "_pooled")
CUDA_FAULT("norm_linears.cu", "(pools && «row % 4 => 0»)", "_pooled")
CUDA_FAULT("norm_linears.cu", "pool->src.h % 2 == 0 && «pool->src.w % 2 == 0 => true»", "_pooled")
CUDA_FAULT("norm_linears.cu", "&& «!last->table.data => true»\n", "_pooled")

TEST(norm_linears, .abs = 5e-6f, .rel = 1e-6f, .fp32_is_another_kernel = true);

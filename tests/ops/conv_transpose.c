// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

struct shape {
    int n, h, w, in, out;
};

static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1 }, { 1, 1, 3, 2, 5 },     { 2, 3, 5, 7, 3 },    { 3, 5, 4, 17, 13 },
    { 1, 8, 8, 256, 64 }, { 2, 7, 5, 64, 32 }, { 3, 4, 4, 64, 16 }, { 1, 9, 3, 16, 8 },
};
static const struct shape real[] = { { 1, 64, 64, 256, 64 }, { 1, 128, 128, 64, 32 } };
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

enum { NO_ADD, ADD, ADD_ONE_MAP };

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum sam_act act, int adding, enum check_factors factors)
{
    check_set_factors(t, factors);
    const int h = 2 * s->h, w = 2 * s->w;
    struct check_buf *src = check_in(t, type->in, s->n, s->h, s->w, s->in);
    struct check_buf *bias = check_in(t, SAM_F32, 1, 1, 1, s->out);
    struct check_buf *add = adding == NO_ADD ? &check_none
        : check_in(t, type->in, adding == ADD ? s->n : 1, h, w, s->out);
    const struct check_matrix weight = check_weight(t, 4 * s->out, s->in);
    struct check_buf *dst = check_out(t, type->out, s->n, h, w, s->out);
    struct sam_conv_transpose p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_conv_transpose) { .dst = dst->on[i], .src = src->on[i],
                                             .weight = weight.on[i], .bias = bias->on[i],
                                             .add = add->on[i], .act = act };
        sam_op_conv_transpose(&t->queue[i], &p[i]);
    }
    check_flops(t, 8.0 * s->n * s->h * s->w * s->out * s->in)
        sam_op_conv_transpose(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_tensor sum = { 0 };
    if (!t->bench) {
        struct sam_conv_transpose b = { .dst = sum = check_temp(t, s->n, h, w, s->out),
                                        .src = check_abs(t, src), .bias = check_abs(t, bias),
                                        .weight = check_abs_weight(t, &weight),
                                        .add = check_abs(t, add) };
        sam_op_conv_transpose(&t->queue[CHECK_REF], &b);
    }
    check_bound(t, dst, &sum, product_factor(t) * product_slope(act), product_abs(act), type->rel);
    check_done(t);
}

static void check_conv_transpose(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int adding = NO_ADD; adding <= ADD_ONE_MAP; adding++)
                for (int f = 0; f < check_num_factors(t); f++) {
                    const struct shape *s = &shapes[i];
                    if (check_case(t, "conv_transpose_%s_%dx%dx%dx%d_to_%d_%d%s",
                                   check_types[k].name, s->n, s->h, s->w, s->in, s->out, adding,
                                   check_factor_names[f]))
                        run(t, &check_types[k], s, check_int(t, 0, 1) ? SAM_ACT_GELU : SAM_ACT_NONE,
                            adding, f);
                }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_REAL; i++)
            if (check_speed(t, "conv_transpose_%s_%dx%dx%d_to_%d", check_types[k].name, real[i].h,
                            real[i].w, real[i].in, real[i].out))
                run(t, &check_types[k], &real[i], SAM_ACT_GELU, ADD_ONE_MAP, CHECK_ANY);
}

// ---- the front

static struct sam_conv_transpose valid_conv_transpose(void)
{
    return (struct sam_conv_transpose) { f32(0, 2, 6, 8, 5), f32(1, 2, 3, 4, 7), matrix(2, 20, 7),
                                         f32(3, 1, 1, 1, 5), f32(4, 2, 6, 8, 5), SAM_ACT_NONE };
}

static void fronts_conv_transpose(void)
{
    TAKES(conv_transpose, (void) p);
    TAKES(conv_transpose, p->add.data = NULL);
    TAKES(conv_transpose, p->add.n = 1);
    REFUSES(conv_transpose, p->dst.h = 5, "dst");
    REFUSES(conv_transpose, p->weight.out = 5, "weight");
    REFUSES(conv_transpose, p->weight.in = 8, "weight");
    REFUSES(conv_transpose, p->add.c = 4, "add");
    REFUSES(conv_transpose, p->dst = p->add, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_conv_transpose(struct vectors *v)
{
    sam_op_conv_transpose(&v->queue, &(struct sam_conv_transpose) {
        .dst = vec_out(v, "dst"), .src = vec_in(v, "src"), .weight = vec_matrix(v, "weight"),
        .bias = vec_in(v, "bias"), .add = vec_in(v, "add"), .act = vec_int(v, "act") });
}

// ---- faults

COMMON(conv_transpose, dst, src)
ROUNDS_THE_EXACT(conv_transpose, src)
CHANGED(conv_transpose, forgets_the_bias, m.bias = without(m.bias))
CHANGED(conv_transpose, forgets_the_sum, m.add = without(m.add))
CHANGED(conv_transpose, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(conv_transpose, repeats_the_first_sum, if (m.add.data) m.add = sam_first(m.add, 1))

// Down and across exchanged in the shuffle.
static void conv_transpose_transposes(struct sam_queue *q, const struct sam_conv_transpose *p)
{
    struct sam_conv_transpose m = *p;
    static float weight[4 * 64 * 256];
    const size_t quarter = (size_t) p->dst.c * p->src.c;
    const float *w = p->weight.data;
    for (int ab = 0; ab < 4; ab++)
        memcpy(weight + (ab % 2 * 2 + ab / 2) * quarter, w + ab * quarter, quarter * sizeof(float));
    m.weight.data = weight;
    sam_conv_transpose_ref(q, &m);
}

CHANGED(conv_transpose, does_not_round, m.weight.int8 = false)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(conv_transpose),
    MUTANT(conv_transpose, does_not_round),
    MUTANT(conv_transpose, forgets_the_bias),
    MUTANT(conv_transpose, forgets_the_sum),
    MUTANT(conv_transpose, forgets_the_act),
    MUTANT(conv_transpose, repeats_the_first_sum),
    MUTANT(conv_transpose, transposes),
    MUTANT(conv_transpose, rounds_the_exact),
};

CUDA_FAULT("gemm_io.cuh", "at / o.up_w * 2 + «tap / 2 => tap % 2»")

TEST(conv_transpose, .vectors = vectors_conv_transpose, .abs = 5e-6f, .rel = 1e-6f,
     .has_int8 = true,
     .fp32_is_another_kernel = true);

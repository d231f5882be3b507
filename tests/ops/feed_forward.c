// SPDX-License-Identifier: MIT
#include <string.h>

#include "test.h"

struct shape {
    int rows, c, hidden;
};

// Awkward ones, then widths of the family: trunk and memory attention, small and large.
static const struct shape shapes[] = {
    { 1, 1, 1 },     { 3, 5, 7 },      { 13, 17, 31 },   { 97, 33, 100 },
    { 200, 32, 128 }, { 64, 96, 384 }, { 31, 112, 448 }, { 25, 192, 768 },
    { 49, 256, 2048 }, { 13, 384, 1536 }, { 5, 1152, 4608 },
};
static const struct shape real[] = {
    { 65536, 96, 384 }, { 4096, 384, 1536 }, { 4096, 256, 2048 }, { 1024, 768, 3072 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

struct inputs {
    struct check_buf *x, *gamma, *beta, *up_bias, *down_bias;
    struct check_matrix up, down;
    float eps;
    enum sam_act act;
};

static struct inputs draw(struct check *t, enum sam_type type, const struct shape *s)
{
    const enum check_factors factors = t->factors;
    struct inputs in = {
        .x         = check_inout(t, type, 1, 1, s->rows, s->c),
        .gamma     = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, s->c),
        .beta      = check_uniform(t, -1, 1, SAM_F32, 1, 1, 1, s->c),
        .up_bias   = check_uniform(t, -1, 1, SAM_F32, 1, 1, 1, s->hidden),
        .down_bias = check_uniform(t, -1, 1, SAM_F32, 1, 1, 1, s->c),
        .eps       = check_int(t, 0, 1) ? 1e-5f : 1e-6f,
        .act       = check_int(t, 0, 1) ? SAM_ACT_GELU : SAM_ACT_RELU,
    };
    // Narrow models' first product is exact, their second is not.
    check_set_factors(t, s->c <= 64 ? CHECK_EXACT : factors);
    in.up = check_weight(t, s->hidden, s->c);
    check_set_factors(t, factors);
    in.down = check_weight(t, s->c, s->hidden);
    // A spread of 1e-3 in the first row, so that eps counts, and a mean far off in the second.
    for (int i = 0; i < s->c; i++) {
        check_set(t, in.x, i, 1e-3f * check_unit(t));
        if (s->rows > 1)
            check_set(t, in.x, s->c + i, 20 + check_unit(t));
    }
    return in;
}

// The same by its parts on the new side, where they are operations of their own with their own
// tests: the same numbers, rounded at the same places, in the same order, so the same bits.
static void by_parts(struct check *t, const struct inputs *in, const struct sam_tensor *before,
                     struct sam_tensor *x)
{
    struct sam_queue *q = &t->queue[CHECK_NEW];
    const int hidden = in->up.on[CHECK_NEW].out;
    struct sam_tensor u = check_temp(t, 1, 1, x->w, x->c), h = check_temp(t, 1, 1, x->w, hidden);
    u.type = in->up.on[CHECK_NEW].exact ? SAM_F32 : sam_queue_type(q);
    h.type = in->down.on[CHECK_NEW].exact ? SAM_F32 : sam_queue_type(q);
    memcpy(x->data, before->data, sam_tensor_bytes(x));
    sam_op_layernorm(q, &(struct sam_layernorm) { .dst = u, .src = *x, .eps = in->eps,
                                                  .gamma = in->gamma->on[CHECK_NEW],
                                                  .beta = in->beta->on[CHECK_NEW] });
    sam_op_linear(q, &(struct sam_linear) { .dst = h, .src = u, .weight = in->up.on[CHECK_NEW],
                                            .bias = in->up_bias->on[CHECK_NEW], .act = in->act });
    sam_op_linear(q, &(struct sam_linear) { .dst = *x, .src = h, .weight = in->down.on[CHECK_NEW],
                                            .bias = in->down_bias->on[CHECK_NEW], .add = *x });
}

static struct sam_tensor copy_of(struct check *t, struct sam_tensor x)
{
    struct sam_tensor copy = check_temp(t, 1, 1, x.w, x.c);
    copy.type = x.type;
    memcpy(copy.data, x.data, sam_tensor_bytes(&x));
    return copy;
}

static void run(struct check *t, enum sam_type type, const struct shape *s,
                enum check_factors factors)
{
    check_set_factors(t, factors);
    const struct inputs in = draw(t, type, s);
    struct sam_feed_forward p[2];
    const struct sam_tensor before = copy_of(t, in.x->on[CHECK_NEW]);
    check_each_side(t, i) {
        p[i] = (struct sam_feed_forward) {
            .x = in.x->on[i], .gamma = in.gamma->on[i], .beta = in.beta->on[i], .eps = in.eps,
            .up = in.up.on[i], .down = in.down.on[i], .up_bias = in.up_bias->on[i],
            .down_bias = in.down_bias->on[i], .act = in.act };
        if (i == CHECK_NEW || !check_known(t, &p[i].x))
            sam_op_feed_forward(&t->queue[i], &p[i]);
    }
    check_flops(t, 4.0 * s->rows * s->c * s->hidden)
        sam_op_feed_forward(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // The reference has sums of its own.
    if (!t->bench && t->queue[CHECK_NEW].ops->linear != t->queue[CHECK_REF].ops->linear) {
        struct sam_tensor parts = copy_of(t, before);
        by_parts(t, &in, &before, &parts);
        if (memcmp(parts.data, in.x->on[CHECK_NEW].data, sam_tensor_bytes(&parts)))
            check_fail(t, "not what its parts give");
    }
    // Hidden numbers of up to 4, results of up to 3; in bf16 three roundings of 2^-9 at random,
    // five of their deviations and more. A row's norm loses digits beside a mean of 20.
    // In int8 a last digit more or less of a hidden number can be another step: 4 / 127.
    const bool rounds = (check_is_bf16(t) && factors != CHECK_EXACT) || check_is_int8(t);
    check_near(t, in.x, rounds ? 0.06f : 2e-4f,
               type == SAM_F32 ? 1e-5f : 0x1p-7f);
    check_done(t);
}

static void check_feed_forward(struct check *t)
{
    static const enum sam_type types[] = { SAM_F32, SAM_BF16 };
    if (!t->queue[CHECK_NEW].ops->feed_forward)
        return; // this backend runs the parts
    // The widest, whose weights take longer to draw than its products, has one type of rows.
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_SHAPES - k; i++)
            for (int f = 0; f < check_num_factors(t); f++)
                if (check_case(t, "feed_forward_%s_%dx%d_%d%s", k ? "bf16" : "f32", shapes[i].rows,
                               shapes[i].c, shapes[i].hidden, check_factor_names[f]))
                    run(t, types[k], &shapes[i], f);
    for (int i = 0; i < NUM_REAL; i++)
        if (check_speed(t, "feed_forward_%dx%d_%d", real[i].rows, real[i].c, real[i].hidden))
            run(t, SAM_F32, &real[i], CHECK_ANY);
}

// ---- the front

static struct sam_feed_forward valid_feed_forward(void)
{
    return (struct sam_feed_forward) { f32(0, 1, 1, 4, 5), f32(1, 1, 1, 1, 5), f32(2, 1, 1, 1, 5),
                                       1e-6f, matrix(3, 7, 5), matrix(4, 5, 7),
                                       f32(5, 1, 1, 1, 7), f32(6, 1, 1, 1, 5), SAM_ACT_GELU };
}

static void fronts_feed_forward(void)
{
    TAKES(feed_forward, (void) p);
    TAKES(feed_forward, p->x.type = SAM_BF16);
    TAKES(feed_forward, p->up.exact = true);
    REFUSES(feed_forward, p->x.c = 4, "is_vector(&p->gamma, c)");
    REFUSES(feed_forward, p->beta.c = 4, "is_vector(&p->beta, c)");
    REFUSES(feed_forward, p->gamma.type = SAM_BF16, "gamma of type f32");
    REFUSES(feed_forward, p->eps = 0, "p->eps > 0.0f");
    REFUSES(feed_forward, p->up.in = 4, "p->up.in == c");
    REFUSES(feed_forward, p->down.in = 5, "p->down.in == hidden");
    REFUSES(feed_forward, p->down.out = 7, "p->down.out == c");
    REFUSES(feed_forward, p->up_bias.c = 5, "is_vector(&p->up_bias, hidden)");
    REFUSES(feed_forward, p->down_bias.c = 7, "is_vector(&p->down_bias, c)");
    REFUSES(feed_forward, p->down.data = NULL, "memory behind down");
    REFUSES(feed_forward, p->act = SAM_NUM_ACTS, "act");
    REFUSES(feed_forward, p->gamma.data = p->x.data, "apart in memory");
    REFUSES(feed_forward, p->x.data = front_room + (1 << 14);
            p->x.c = p->gamma.c = p->beta.c = 4097; p->beta.data = front_room + (1 << 13),
            "c <= SAM_MAX_WIDTH");
}

// ---- what PyTorch computed

static void vectors_feed_forward(struct vectors *v)
{
    sam_op_feed_forward(&v->queue, &(struct sam_feed_forward) {
        .x = vec_out(v, "x"), .gamma = vec_in(v, "gamma"), .beta = vec_in(v, "beta"),
        .eps = vec_number(v, "eps"), .up = vec_matrix(v, "up"), .down = vec_matrix(v, "down"),
        .up_bias = vec_in(v, "up_bias"), .down_bias = vec_in(v, "down_bias"),
        .act = vec_int(v, "act") });
}

// ---- faults

COMMON(feed_forward, x, gamma)
CHANGED(feed_forward, wrong_eps, m.eps = 1e-3f)
CHANGED(feed_forward, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(feed_forward, forgets_the_first_bias, m.up_bias = without(m.up_bias))
CHANGED(feed_forward, forgets_the_last_bias, m.down_bias = without(m.down_bias))

static const struct mutant mutants[] = {
    COMMON_MUTANTS(feed_forward),
    MUTANT(feed_forward, wrong_eps),
    MUTANT(feed_forward, forgets_the_act),
    MUTANT(feed_forward, forgets_the_first_bias),
    MUTANT(feed_forward, forgets_the_last_bias),
};

TEST(feed_forward, .vectors = vectors_feed_forward, .abs = 2e-5f, .rel = 1e-6f,
     .has_int8 = true);

// SPDX-License-Identifier: MIT
#include "test.h"

struct shape {
    int n, h, w, c, inside, out, kernel, stride;
    bool late, adds;
};

// Awkward ones, then widths of EfficientNet-Lite0 in maps that are a part of its own.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 2, 1, 3, 1, false, false },    { 2, 3, 5, 3, 8, 3, 3, 1, false, true },
    { 1, 4, 6, 5, 31, 7, 5, 2, true, false },    { 1, 2, 2, 5, 34, 4, 3, 2, true, false },
    { 1, 7, 5, 6, 36, 9, 5, 2, false, false },   { 1, 5, 9, 4, 24, 4, 1, 1, false, true },
    { 2, 6, 33, 16, 96, 24, 3, 1, false, false }, { 1, 12, 20, 16, 96, 24, 3, 2, true, false },
    { 1, 9, 17, 24, 144, 24, 3, 1, false, true }, { 1, 8, 12, 24, 144, 40, 5, 2, true, false },
    { 3, 5, 11, 40, 240, 40, 5, 1, false, true }, { 1, 19, 3, 7, 42, 5, 7, 1, false, false },
};
static const struct shape real[] = {
    { 1, 160, 160, 16, 96, 24, 3, 2, true, false }, { 1, 80, 80, 24, 144, 24, 3, 1, false, true },
    { 1, 80, 80, 24, 144, 40, 5, 2, true, false },  { 1, 40, 40, 40, 240, 40, 5, 1, false, true },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

struct inputs {
    struct check_buf *src, *expand_bias, *weight, *bias, *project_bias, *add;
    struct check_matrix expand, project;
    enum sam_act act;
};

static struct inputs draw(struct check *t, enum sam_type type, const struct shape *s, int dst_h,
                          int dst_w)
{
    return (struct inputs) {
        .src          = check_uniform(t, -2, 2, type, s->n, s->h, s->w, s->c),
        .expand_bias  = check_uniform(t, -1, 3, SAM_F32, 1, 1, 1, s->inside),
        .weight       = check_uniform(t, -0.6f, 0.6f, SAM_F32, 1, s->kernel, s->kernel, s->inside),
        .bias         = check_uniform(t, -1, 3, SAM_F32, 1, 1, 1, s->inside),
        .project_bias = check_uniform(t, -1, 1, SAM_F32, 1, 1, 1, s->out),
        .add = s->adds ? check_uniform(t, -2, 2, type, s->n, dst_h, dst_w, s->out) : &check_none,
        .expand       = check_weight(t, s->inside, s->c),
        .project      = check_weight(t, s->out, s->inside),
        .act          = check_int(t, 0, 2) ? SAM_ACT_RELU6 : SAM_ACT_SILU,
    };
}

// The same by its parts on the new side, where they are operations of their own with their own
// tests: the same numbers, rounded at the same places, in the same order, so the same bits.
static void by_parts(struct check *t, const struct sam_bottleneck *p, struct sam_tensor dst)
{
    struct sam_queue *q = &t->queue[CHECK_NEW];
    const struct sam_tensor *src = &p->src;
    const int inside = p->expand.out;
    struct sam_tensor wide = check_temp(t, src->n, src->h, src->w, inside);
    struct sam_tensor mixed = check_temp(t, dst.n, dst.h, dst.w, inside);
    wide.type = mixed.type = sam_queue_type(q);
    sam_op_linear(q, &(struct sam_linear) { .dst = wide, .src = *src, .weight = p->expand,
                                            .bias = p->expand_bias, .act = p->act });
    sam_op_depthwise(q, &(struct sam_depthwise) { mixed, wide, p->weight, p->bias, p->kernel,
                                                  p->stride, p->act, p->late });
    sam_op_linear(q, &(struct sam_linear) { .dst = dst, .src = mixed, .weight = p->project,
                                            .bias = p->project_bias, .add = p->add });
}

static void compare_parts(struct check *t, const struct sam_bottleneck *p)
{
    struct sam_tensor parts = check_temp(t, p->dst.n, p->dst.h, p->dst.w, p->dst.c);
    parts.type = p->dst.type;
    by_parts(t, p, parts);
    if (memcmp(parts.data, p->dst.data, sam_tensor_bytes(&parts)))
        check_fail(t, "not what its parts give");
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum check_factors factors)
{
    const int dst_h = (s->h + s->stride - 1) / s->stride;
    const int dst_w = (s->w + s->stride - 1) / s->stride;
    check_set_factors(t, factors);
    const struct inputs in = draw(t, type->in, s, dst_h, dst_w);
    struct check_buf *dst = check_out(t, type->out, s->n, dst_h, dst_w, s->out);
    struct sam_bottleneck p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_bottleneck) {
            .dst = dst->on[i], .src = in.src->on[i], .expand = in.expand.on[i],
            .expand_bias = in.expand_bias->on[i], .weight = in.weight->on[i],
            .bias = in.bias->on[i], .kernel = s->kernel, .stride = s->stride, .late = s->late,
            .project = in.project.on[i], .project_bias = in.project_bias->on[i],
            .add = in.add->on[i], .act = in.act };
        if (i == CHECK_NEW || !check_known(t, &p[i].dst))
            sam_op_bottleneck(&t->queue[i], &p[i]);
    }
    check_flops(t, 2.0 * s->n * s->inside * (s->h * s->w * s->c + dst_h * dst_w *
                                             (s->kernel * s->kernel + s->out)))
        sam_op_bottleneck(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // The reference has sums of its own.
    if (!t->bench && t->queue[CHECK_NEW].ops->linear != t->queue[CHECK_REF].ops->linear)
        compare_parts(t, &p[CHECK_NEW]);
    // Of numbers up to 6 inside, results of up to 4. In bf16 three roundings of 2^-9 of what is
    // inside and of the factors; the parts' test has the bits. In int8 a last digit more or less
    // can be another step: 6 / 127.
    check_near(t, dst, check_is_bf16(t) || check_is_int8(t) ? 0.15f : 1e-4f,
               type->out == SAM_F32 ? 1e-5f : 0x1p-7f);
    check_done(t);
}

static void check_bottleneck(struct check *t)
{
    if (!t->queue[CHECK_NEW].ops->bottleneck)
        return; // this backend runs the parts
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++) {
            const struct shape *s = &shapes[i];
            for (int f = 0; f < check_num_factors(t); f++)
                if (check_case(t, "bottleneck_%s_%dx%dx%dx%d_%d_%d_k%d%s", check_types[k].name,
                               s->n, s->h, s->w, s->c, s->inside, s->out, s->kernel,
                               check_factor_names[f]))
                    run(t, &check_types[k], s, f);
        }
    for (int i = 0; i < NUM_REAL; i++)
        if (check_speed(t, "bottleneck_%dx%d_%d_k%d_s%d", real[i].h, real[i].c, real[i].inside,
                        real[i].kernel, real[i].stride))
            run(t, &check_types[0], &real[i], CHECK_ANY);
}

// ---- the front

static struct sam_bottleneck valid_bottleneck(void)
{
    return (struct sam_bottleneck) {
        .dst = f32(0, 2, 3, 4, 5), .src = f32(1, 2, 3, 4, 5), .expand = matrix(2, 7, 5),
        .expand_bias = f32(3, 1, 1, 1, 7), .weight = f32(4, 1, 3, 3, 7), .bias = f32(5, 1, 1, 1, 7),
        .kernel = 3, .stride = 1, .project = matrix(6, 5, 7), .project_bias = f32(7, 1, 1, 1, 5),
        .add = f32(1, 2, 3, 4, 5), .act = SAM_ACT_RELU6 };
}

static void fronts_bottleneck(void)
{
    TAKES(bottleneck, (void) p);
    TAKES(bottleneck, p->add.data = NULL);
    TAKES(bottleneck, p->add.data = NULL; p->stride = 2; p->dst.h = p->dst.w = 2);
    REFUSES(bottleneck, p->add.data = p->dst.data, "apart in memory");
    REFUSES(bottleneck, p->dst.data = p->src.data, "apart in memory");
    REFUSES(bottleneck, p->add.c = 4, "like(&p->add, &p->dst)");
    REFUSES(bottleneck, p->kernel = 2; p->weight.h = p->weight.w = 2, "kernel");
    REFUSES(bottleneck, p->stride = 3, "stride");
    REFUSES(bottleneck, p->late = true, "late");
    REFUSES(bottleneck, p->stride = 2; p->late = true; p->dst.h = p->dst.w = 2, "late");
    REFUSES(bottleneck, p->expand.in = 4, "p->expand.in == p->src.c");
    TAKES(bottleneck, p->expand.exact = p->project.exact = true);
    REFUSES(bottleneck, p->project.in = 5, "p->project.in == inside");
    REFUSES(bottleneck, p->project.out = 4, "dst");
    REFUSES(bottleneck, p->dst.h = 2, "dst");
    REFUSES(bottleneck, p->weight.c = 5, "weight");
    REFUSES(bottleneck, p->weight.type = SAM_BF16, "weight of type f32");
    REFUSES(bottleneck, p->expand_bias.c = 5, "expand_bias");
    REFUSES(bottleneck, p->bias.c = 5, "bias");
    REFUSES(bottleneck, p->project_bias.c = 7, "project_bias");
    REFUSES(bottleneck, p->project.data = NULL, "memory behind project");
    REFUSES(bottleneck, p->act = SAM_NUM_ACTS, "act");
}

// ---- faults

COMMON(bottleneck, dst, src)
CHANGED(bottleneck, forgets_the_first_bias, m.expand_bias = without(m.expand_bias))
CHANGED(bottleneck, forgets_the_bias, m.bias = without(m.bias))
CHANGED(bottleneck, forgets_the_last_bias, m.project_bias = without(m.project_bias))
CHANGED(bottleneck, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(bottleneck, forgets_the_sum, m.add = without(m.add))
CHANGED(bottleneck, is_never_late, m.late = false)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(bottleneck),
    MUTANT(bottleneck, forgets_the_first_bias),
    MUTANT(bottleneck, forgets_the_bias),
    MUTANT(bottleneck, forgets_the_last_bias),
    MUTANT(bottleneck, forgets_the_act),
    MUTANT(bottleneck, forgets_the_sum),
    MUTANT(bottleneck, is_never_late),
};

// No vectors: the parts that it is compared with have theirs.
TEST(bottleneck, .has_int8 = true);

// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

struct shape {
    int n, h, w, c, kernel, stride;
    bool late;
};

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum sam_act act)
{
    const int n = s->n, h = s->h, w = s->w, c = s->c, kernel = s->kernel, stride = s->stride;
    const int dst_h = (h + stride - 1) / stride, dst_w = (w + stride - 1) / stride;
    struct check_buf *src = check_in(t, type->in, n, h, w, c);
    struct check_buf *weight = check_uniform(t, -0.3f, 0.3f, SAM_F32, 1, kernel, kernel, c);
    struct check_buf *bias = check_in(t, SAM_F32, 1, 1, 1, c);
    struct check_buf *dst = check_out(t, type->out, n, dst_h, dst_w, c);
    struct sam_depthwise p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_depthwise) { dst->on[i], src->on[i], weight->on[i], bias->on[i],
                                        kernel, stride, act, s->late };
        sam_op_depthwise(&t->queue[i], &p[i]);
    }
    check_flops(t, 2.0 * n * dst_h * dst_w * c * kernel * kernel)
        sam_op_depthwise(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_tensor sum = { 0 };
    if (!t->bench) {
        sum = check_temp(t, n, dst_h, dst_w, c);
        sam_op_depthwise(&t->queue[CHECK_REF],
                         &(struct sam_depthwise) { sum, check_abs(t, src), check_abs(t, weight),
                                                   check_abs(t, bias), kernel, stride,
                                                   SAM_ACT_NONE, s->late });
    }
    check_bound(t, dst, &sum, product_factor(t) * product_slope(act), product_abs(act), type->rel);
    check_done(t);
}

static enum sam_act any_act(struct check *t)
{
    static const enum sam_act acts[] = { SAM_ACT_NONE, SAM_ACT_SILU, SAM_ACT_RELU6 };
    return acts[check_int(t, 0, 2)];
}

// Even sides, as TensorFlow's SAME has them: the first window begins on the map, or one before it.
static void check_late(struct check *t)
{
    static const int sides[][3] = { { 1, 2, 2 }, { 2, 6, 4 }, { 1, 4, 18 }, { 1, 10, 30 } };
    static const int channels[] = { 1, 5, 32, 67, 256 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 5; j++) {
                const int kernel = 3 + 2 * ((i + j) % 3);
                if (check_case(t, "depthwise_%s_%dx%dx%dx%d_k%d_late", check_types[k].name,
                               sides[i][0], sides[i][1], sides[i][2], channels[j], kernel))
                    run(t, &check_types[k], &(struct shape) { sides[i][0], sides[i][1],
                        sides[i][2], channels[j], kernel, 2, true }, any_act(t));
            }
}

// Lite0's at 320 px.
static void check_lite_speed(struct check *t)
{
    static const int shapes[][4] = { { 160, 32, 3, 1 }, { 160, 96, 3, 2 }, { 80, 144, 3, 1 },
                                     { 80, 144, 5, 2 }, { 40, 240, 5, 1 }, { 20, 480, 5, 1 },
                                     { 20, 672, 5, 2 }, { 10, 1152, 5, 1 } };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 8; i++) {
            const int side = shapes[i][0], c = shapes[i][1];
            if (check_speed(t, "depthwise_%s_%dx%dx%d_k%d_s%d_relu6", check_types[k].name, side,
                            side, c, shapes[i][2], shapes[i][3]))
                run(t, &check_types[k], &(struct shape) { 1, side, side, c, shapes[i][2],
                    shapes[i][3], shapes[i][3] == 2 }, SAM_ACT_RELU6);
        }
}

static void check_depthwise(struct check *t)
{
    static const int sides[][3] = { { 1, 1, 1 }, { 2, 3, 5 }, { 1, 2, 9 }, { 3, 7, 7 },
                                    { 1, 13, 8 }, { 1, 2, 27 } };
    static const int channels[] = { 1, 5, 16, 64, 67, 256 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                const int kernel = 2 * ((i + j) % 4) + 1;
                if (check_case(t, "depthwise_%s_%dx%dx%dx%d_k%d", check_types[k].name, sides[i][0],
                               sides[i][1], sides[i][2], channels[j], kernel))
                    run(t, &check_types[k], &(struct shape) { sides[i][0], sides[i][1],
                        sides[i][2], channels[j], kernel, 1, false }, any_act(t));
                if (check_case(t, "depthwise_%s_%dx%dx%dx%d_k7", check_types[k].name, sides[i][0],
                               sides[i][1], sides[i][2], channels[j]))
                    run(t, &check_types[k], &(struct shape) { sides[i][0], sides[i][1],
                        sides[i][2], channels[j], 7, 1, false }, any_act(t));
                if (check_case(t, "depthwise_%s_%dx%dx%dx%d_k%d_s2", check_types[k].name,
                               sides[i][0], sides[i][1], sides[i][2], channels[j], kernel))
                    run(t, &check_types[k], &(struct shape) { sides[i][0], sides[i][1],
                        sides[i][2], channels[j], kernel, 2, false }, any_act(t));
            }
    check_late(t);
    if (check_speed(t, "depthwise_f32_64x64x256_k7"))
        run(t, &check_types[0], &(struct shape) { 1, 64, 64, 256, 7, 1, false }, SAM_ACT_NONE);
    if (check_speed(t, "depthwise_f32_256x256x48_k3"))
        run(t, &check_types[0], &(struct shape) { 1, 256, 256, 48, 3, 1, false }, SAM_ACT_NONE);
    if (check_speed(t, "depthwise_f32_256x256x48_k3_s2"))
        run(t, &check_types[0], &(struct shape) { 1, 256, 256, 48, 3, 2, false }, SAM_ACT_NONE);
    check_lite_speed(t);
}

// ---- the front

static struct sam_depthwise valid_depthwise(void)
{
    return (struct sam_depthwise) { f32(0, 2, 3, 4, 5), f32(1, 2, 3, 4, 5), f32(2, 1, 3, 3, 5),
                                    f32(3, 1, 1, 1, 5), 3, 1, SAM_ACT_NONE, false };
}

static void fronts_depthwise(void)
{
    TAKES(depthwise, (void) p);
    TAKES(depthwise, p->stride = 2; p->dst.h = p->dst.w = 2);
    TAKES(depthwise, p->stride = 2; p->src.w = 7; p->dst.h = 2);
    REFUSES(depthwise, p->kernel = 2; p->weight.h = p->weight.w = 2, "kernel");
    REFUSES(depthwise, p->weight.c = 4, "weight");
    REFUSES(depthwise, p->weight.type = SAM_BF16, "weight of type f32");
    REFUSES(depthwise, p->dst.h = 4; p->dst.w = 3, "dst");
    REFUSES(depthwise, p->stride = 2, "dst");
    REFUSES(depthwise, p->stride = 2; p->dst.h = 1; p->dst.w = 2, "dst");
    TAKES(depthwise, p->act = SAM_ACT_SILU);
    TAKES(depthwise, p->act = SAM_ACT_RELU6);
    REFUSES(depthwise, p->act = SAM_NUM_ACTS, "act");
    REFUSES(depthwise, p->late = true, "late");
    REFUSES(depthwise, p->late = true; p->stride = 2; p->dst.h = p->dst.w = 2, "late");
    TAKES(depthwise, p->late = true; p->stride = 2; p->src.h = 4; p->dst.h = p->dst.w = 2);
    REFUSES(depthwise, p->stride = 0, "stride");
    REFUSES(depthwise, p->stride = 3; p->dst.h = 1; p->dst.w = 2, "stride");
    REFUSES(depthwise, p->bias.c = 1, "bias");
    REFUSES(depthwise, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_depthwise(struct vectors *v)
{
    sam_op_depthwise(&v->queue, &(struct sam_depthwise) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_in(v, "weight"), vec_in(v, "bias"),
        vec_int(v, "kernel"), vec_int(v, "stride"), (enum sam_act) vec_int(v, "act"),
        vec_int(v, "late") });
}

// ---- faults

COMMON(depthwise, dst, src)
CHANGED(depthwise, forgets_the_bias, m.bias = without(m.bias))
CHANGED(depthwise, forgets_the_activation, m.act = SAM_ACT_NONE)
CHANGED(depthwise, forgets_the_bound, if (m.act == SAM_ACT_RELU6) m.act = SAM_ACT_RELU)
CHANGED(depthwise, is_never_late, m.late = false)

// The kernel turned round: a true convolution instead of a cross-correlation.
static void depthwise_flips(struct sam_queue *q, const struct sam_depthwise *p)
{
    struct sam_depthwise m = *p;
    float weight[7 * 7 * 256];
    const int taps = p->kernel * p->kernel, c = p->src.c;
    for (int i = 0; i < taps * c; i++)
        weight[i] = sam_load(&p->weight, (size_t) (taps - 1 - i / c) * c + i % c);
    m.weight.data = weight;
    sam_depthwise_ref(q, &m);
}

// Begins half a step late, as a padding on the left and on top alone would.
static void depthwise_steps_late(struct sam_queue *q, const struct sam_depthwise *p)
{
    struct sam_depthwise m = *p;
    const size_t late = (size_t) m.src.w * m.src.c;
    if (p->stride == 2 && p->src.h > 1) {
        m.src = shifted(m.src, late);
        m.src.h -= 1;
        m.dst.h = (m.src.h + 1) / 2;
    }
    sam_depthwise_ref(q, &m);
}

// The border repeated instead of zeros: seen by comparing only the first row.
static void depthwise_ignores_the_first_row(struct sam_queue *q, const struct sam_depthwise *p)
{
    for (int n = 0; n < p->src.n; n++) {
        struct sam_depthwise m = *p;
        m.src = sam_slice(p->src, n);
        m.dst = sam_slice(p->dst, n);
        sam_depthwise_ref(q, &m);
        if (m.dst.h > 1 && p->stride == 1) {
            m.src = shifted(m.src, (size_t) m.src.w * m.src.c);
            m.dst = shifted(m.dst, (size_t) m.dst.w * m.dst.c);
            m.src.h = m.dst.h = m.dst.h - 1; // the second row on, as if the first were zeros
            sam_depthwise_ref(q, &m);
        }
    }
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(depthwise),
    MUTANT(depthwise, forgets_the_bias),
    MUTANT(depthwise, forgets_the_activation),
    MUTANT(depthwise, flips),
    MUTANT(depthwise, ignores_the_first_row),
    MUTANT(depthwise, steps_late),
    MUTANT(depthwise, forgets_the_bound),
    MUTANT(depthwise, is_never_late),
};

CUDA_FAULT("pool.cu", "left = «x * stride => x» - before")
CUDA_FAULT("pool.cu", "p->kernel / 2 - «p->late => 0», p->act")
CUDA_FAULT("pool.cu", "min(kernel, «src_w - left => src_w - left + 1»); kx++")

TEST(depthwise, .vectors = vectors_depthwise, .abs = 5e-6f, .rel = 1e-6f);

// SPDX-License-Identifier: MIT
#include "product.h"
#include "test.h"

struct shape {
    int n, h, w, in, out, kernel, stride, pad;
};

// Awkward ones, then the family's: patch embedding, prompt masks, mask downsampler, 1 x 1; then
// wide maps, whose windows may be read where they overlap: several patches, all edges, runs of odd
// length; and windows longer than the weights that a cache holds.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 1, 0 },     { 1, 3, 5, 2, 3, 3, 1, 1 },    { 1, 7, 3, 5, 7, 3, 2, 1 },
    { 2, 5, 7, 3, 17, 5, 1, 2 },    { 1, 2, 2, 4, 4, 3, 1, 1 },    { 1, 9, 11, 3, 13, 4, 3, 0 },
    { 1, 1, 9, 3, 5, 7, 4, 3 },     { 1, 32, 32, 3, 96, 7, 4, 3 }, { 1, 29, 37, 3, 112, 7, 4, 3 },
    { 1, 32, 36, 3, 144, 7, 4, 3 }, { 2, 16, 16, 1, 4, 2, 2, 0 },  { 3, 10, 8, 4, 16, 2, 2, 0 },
    { 2, 7, 9, 16, 256, 1, 1, 0 },  { 3, 17, 16, 1, 4, 3, 2, 1 },  { 2, 16, 16, 4, 16, 3, 2, 1 },
    { 1, 15, 15, 16, 64, 3, 2, 1 }, { 2, 8, 8, 64, 256, 3, 2, 1 }, { 1, 16, 16, 1, 1, 4, 4, 0 },
    { 1, 9, 5, 256, 64, 1, 1, 0 },  { 1, 8, 8, 96, 32, 1, 1, 0 },
    { 1, 9, 80, 6, 20, 3, 1, 1 },   { 2, 7, 161, 4, 33, 3, 2, 1 }, { 1, 5, 200, 2, 5, 5, 1, 2 },
    { 1, 41, 76, 16, 8, 3, 1, 1 },  { 1, 6, 150, 3, 16, 3, 2, 1 }, { 1, 3, 390, 8, 12, 3, 1, 1 },
    { 1, 5, 90, 64, 40, 3, 1, 1 },  { 1, 2, 75, 85, 9, 3, 1, 1 },  { 1, 7, 74, 12, 7, 3, 1, 0 },
    { 1, 19, 300, 3, 9, 7, 4, 3 },  { 1, 5, 80, 4, 6, 3, 1, 2 },   { 2, 4, 40, 100, 70, 3, 1, 1 },
};
// With pad_end: TensorFlow's SAME but for the last one.
static const struct {
    struct shape s;
    int pad_end;
} uneven[] = {
    { { 1, 8, 6, 3, 5, 3, 2, 0 }, 1 },  { { 2, 6, 160, 3, 32, 3, 2, 0 }, 1 },
    { { 1, 6, 10, 5, 7, 5, 2, 1 }, 1 }, { { 1, 5, 6, 4, 9, 5, 3, 0 }, 4 },
};
static const struct shape real[] = {
    { 1, 1024, 1024, 3, 96, 7, 4, 3 }, { 1, 1024, 1024, 1, 4, 3, 2, 1 },
    { 1, 512, 512, 4, 16, 3, 2, 1 },   { 1, 256, 256, 16, 64, 3, 2, 1 },
    { 1, 128, 128, 64, 256, 3, 2, 1 }, { 1, 64, 64, 256, 256, 1, 1, 0 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

static int extent(int in, const struct shape *s, int pad_end)
{
    return (in + 2 * s->pad + pad_end - s->kernel) / s->stride + 1;
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                int pad_end, enum sam_act act, enum check_factors factors)
{
    check_set_factors(t, factors);
    const int h = extent(s->h, s, pad_end), w = extent(s->w, s, pad_end);
    const int in = s->kernel * s->kernel * s->in;
    struct check_buf *src = check_in(t, type->in, s->n, s->h, s->w, s->in);
    struct check_buf *bias = check_in(t, SAM_F32, 1, 1, 1, s->out);
    const struct check_matrix weight = check_weight(t, s->out, in);
    struct check_buf *dst = check_out(t, type->out, s->n, h, w, s->out);
    const int adds = check_int(t, 0, 2); // nothing, a map for all, one for each
    struct check_buf *add = adds ? check_in(t, type->in, adds > 1 ? s->n : 1, h, w, s->out)
                                 : &check_none;
    struct sam_conv p[2];
    for (int i = CHECK_REF; i <= CHECK_NEW; i++)
        p[i] = (struct sam_conv) { .dst = dst->on[i], .src = src->on[i], .weight = weight.on[i],
                                   .bias = bias->on[i], .kernel = s->kernel, .stride = s->stride,
                                   .pad = s->pad, .act = act, .add = add->on[i],
                                   .pad_end = pad_end };
    struct sam_tensor sum = { 0 };
    if (!t->bench) {
        struct sam_conv b = p[CHECK_REF];
        b.act = SAM_ACT_NONE;
        b.dst = sum = check_temp(t, s->n, h, w, s->out);
        if (!check_all_known(t, (struct sam_tensor[]) { p[CHECK_REF].dst, sum }, 2)) {
            b.src = check_abs(t, src);
            b.bias = check_abs(t, bias);
            b.add = check_abs(t, add);
            b.weight = check_abs_weight(t, &weight);
            sam_op_conv(&t->queue[CHECK_REF], &b);
            sam_op_conv(&t->queue[CHECK_REF], &p[CHECK_REF]);
        }
    }
    sam_op_conv(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_flops(t, 2.0 * s->n * h * w * s->out * in)
        sam_op_conv(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_bound(t, dst, &sum, product_factor(t) * product_slope(act), product_abs(act), type->rel);
    check_done(t);
}

static void check_uneven(struct check *t, const enum sam_act *acts)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < (int) (sizeof(uneven) / sizeof(*uneven)); i++)
            for (int f = 0; f < check_num_factors(t); f++) {
                const struct shape *s = &uneven[i].s;
                if (check_case(t, "conv_%s_%dx%dx%dx%d_to_%d_k%ds%dp%d_end%d%s",
                               check_types[k].name, s->n, s->h, s->w, s->in, s->out, s->kernel,
                               s->stride, s->pad, uneven[i].pad_end, check_factor_names[f]))
                    run(t, &check_types[k], s, uneven[i].pad_end, acts[(i + 5) % 6], f);
            }
}

static void check_conv(struct check *t)
{
    static const enum sam_act acts[] = { SAM_ACT_NONE, SAM_ACT_RELU, SAM_ACT_GELU,
                                         SAM_ACT_SIGMOID, SAM_ACT_SILU, SAM_ACT_RELU6 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int f = 0; f < check_num_factors(t); f++) {
                const struct shape *s = &shapes[i];
                if (check_case(t, "conv_%s_%dx%dx%dx%d_to_%d_k%ds%dp%d%s", check_types[k].name,
                               s->n, s->h, s->w, s->in, s->out, s->kernel, s->stride, s->pad,
                               check_factor_names[f]))
                    run(t, &check_types[k], s, 0, acts[check_int(t, 0, 5)], f);
            }
    check_uneven(t, acts);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_REAL; i++)
            if (check_speed(t, "conv_%s_%dx%dx%d_to_%d_k%d", check_types[k].name, real[i].h,
                            real[i].w, real[i].in, real[i].out, real[i].kernel))
                run(t, &check_types[k], &real[i], 0, SAM_ACT_NONE, CHECK_ANY);
}

// ---- the front

static struct sam_conv valid_conv(void)
{
    return (struct sam_conv) { f32(0, 2, 3, 4, 5), f32(1, 2, 6, 8, 2), matrix(2, 5, 18),
                               f32(3, 1, 1, 1, 5), 3, 2, 1, SAM_ACT_NONE, { 0 }, 0 };
}

static void fronts_conv(void)
{
    TAKES(conv, (void) p);
    TAKES(conv, p->add = f32(4, 2, 3, 4, 5));
    TAKES(conv, p->add = f32(4, 1, 3, 4, 5));
    REFUSES(conv, p->add = f32(4, 1, 1, 1, 5), "add");
    REFUSES(conv, p->bias.data = NULL, "bias");
    REFUSES(conv, p->dst.h = 4, "dst.h");
    REFUSES(conv, p->dst.w = 3, "dst.w");
    REFUSES(conv, p->dst.n = 1, "dst.n");
    REFUSES(conv, p->stride = 0, "stride");
    REFUSES(conv, p->kernel = 0, "kernel");
    REFUSES(conv, p->pad = -1, "pad");
    REFUSES(conv, p->pad = 3, "pad");
    REFUSES(conv, p->pad_end = -1, "pad_end");
    REFUSES(conv, p->pad_end = 2, "pad_end");
    TAKES(conv, p->pad = 0; p->pad_end = 1);
    TAKES(conv, p->act = SAM_ACT_RELU6);
    REFUSES(conv, p->act = SAM_NUM_ACTS, "act");
    REFUSES(conv, p->kernel = 9; p->pad = 0, "kernel");
    REFUSES(conv, p->weight.in = 17, "weight");
    REFUSES(conv, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_conv(struct vectors *v)
{
    sam_op_conv(&v->queue, &(struct sam_conv) {
        .dst = vec_out(v, "dst"), .src = vec_in(v, "src"), .weight = vec_matrix(v, "weight"),
        .bias = vec_in(v, "bias"), .kernel = vec_int(v, "kernel"), .stride = vec_int(v, "stride"),
        .pad = vec_int(v, "pad"), .act = vec_int(v, "act"), .pad_end = vec_int(v, "pad_end") });
}

// ---- faults

COMMON(conv, dst, src)
ROUNDS_THE_EXACT(conv, src)
CHANGED(conv, forgets_the_bias, m.bias = without(m.bias))
CHANGED(conv, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(conv, forgets_the_sum, m.add = without(m.add))
CHANGED(conv, repeats_the_first_sum, if (m.add.data) m.add = sam_first(m.add, 1))
CHANGED(conv, pads_one_less, if (m.pad) m.pad--)
CHANGED(conv, pads_ahead, if (m.pad_end) m.pad++, m.pad_end--)
CHANGED(conv, forgets_the_bound, if (m.act == SAM_ACT_RELU6) m.act = SAM_ACT_RELU)
CHANGED(conv, walks_by_one, m.stride = 1)
CHANGED(conv, reads_past_the_map, m.src.w += m.pad && m.src.h == 1)

CHANGED(conv, does_not_round, m.weight.int8 = false)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(conv),
    MUTANT(conv, does_not_round),
    MUTANT(conv, forgets_the_bias),
    MUTANT(conv, forgets_the_act),
    MUTANT(conv, forgets_the_sum),
    MUTANT(conv, repeats_the_first_sum),
    MUTANT(conv, pads_one_less),
    MUTANT(conv, pads_ahead),
    MUTANT(conv, forgets_the_bound),
    MUTANT(conv, walks_by_one),
    MUTANT(conv, reads_past_the_map),
    MUTANT(conv, rounds_the_exact),
};

CUDA_FAULT("gemm_io.cuh", "x < 0 || «x >= a.w => x > a.w»)")
CUDA_FAULT("gemm_io.cuh", "dx = 0, «dy++ => dy»;")
CUDA_FAULT("gemm_io.cuh", "y++, at += (a.w - «a.kernel => 0») * a.c;")
CUDA_FAULT("gemm_io.cuh", "v[i] = «inside ? there : 0.0f => there»;")
CUDA_FAULT("gemm_io.cuh", "r.x = m % a.out_w * a.stride - «a.pad => 0»;")

CUDA_FAULT("conv.cuh",
           "d->w;\n"
           "    g.out.dst = view_of(d);\n"
           "    g.out.add = «view_of(&p->add) => view()»;")

TEST(conv, .vectors = vectors_conv, .abs = 5e-6f, .rel = 1e-6f, .has_int8 = true,
     .fp32_is_another_kernel = true);

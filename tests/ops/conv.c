#include "product.h"

struct shape {
    int n, h, w, in, out, kernel, stride, pad;
};

// Awkward ones, then the family's: patch embedding, prompt masks, mask downsampler, 1 x 1.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 1, 0 },     { 1, 3, 5, 2, 3, 3, 1, 1 },    { 1, 7, 3, 5, 7, 3, 2, 1 },
    { 2, 5, 7, 3, 17, 5, 1, 2 },    { 1, 2, 2, 4, 4, 3, 1, 1 },    { 1, 9, 11, 3, 13, 4, 3, 0 },
    { 1, 1, 9, 3, 5, 7, 4, 3 },     { 1, 32, 32, 3, 96, 7, 4, 3 }, { 1, 29, 37, 3, 112, 7, 4, 3 },
    { 1, 32, 36, 3, 144, 7, 4, 3 }, { 2, 16, 16, 1, 4, 2, 2, 0 },  { 3, 10, 8, 4, 16, 2, 2, 0 },
    { 2, 7, 9, 16, 256, 1, 1, 0 },  { 3, 17, 16, 1, 4, 3, 2, 1 },  { 2, 16, 16, 4, 16, 3, 2, 1 },
    { 1, 15, 15, 16, 64, 3, 2, 1 }, { 2, 8, 8, 64, 256, 3, 2, 1 }, { 1, 16, 16, 1, 1, 4, 4, 0 },
    { 1, 9, 5, 256, 64, 1, 1, 0 },  { 1, 8, 8, 96, 32, 1, 1, 0 },
};
static const struct shape real[] = {
    { 1, 1024, 1024, 3, 96, 7, 4, 3 }, { 1, 1024, 1024, 1, 4, 3, 2, 1 },
    { 1, 512, 512, 4, 16, 3, 2, 1 },   { 1, 256, 256, 16, 64, 3, 2, 1 },
    { 1, 128, 128, 64, 256, 3, 2, 1 }, { 1, 64, 64, 256, 256, 1, 1, 0 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

static int extent(int in, const struct shape *s)
{
    return (in + 2 * s->pad - s->kernel) / s->stride + 1;
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum sam_act act, enum check_factors factors)
{
    check_set_factors(t, factors);
    const int h = extent(s->h, s), w = extent(s->w, s), in = s->kernel * s->kernel * s->in;
    struct check_buf *src = check_in(t, type->in, s->n, s->h, s->w, s->in);
    struct check_buf *bias = check_in(t, SAM_F32, 1, 1, 1, s->out);
    const struct check_matrix weight = check_weight(t, s->out, in);
    struct check_buf *dst = check_out(t, type->out, s->n, h, w, s->out);
    struct sam_conv p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_conv) { .dst = dst->on[i], .src = src->on[i], .weight = weight.on[i],
                                   .bias = bias->on[i], .kernel = s->kernel, .stride = s->stride,
                                   .pad = s->pad, .act = act };
        sam_op_conv(&t->queue[i], &p[i]);
    }
    check_flops(t, 2.0 * s->n * h * w * s->out * in)
        sam_op_conv(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_tensor sum = { 0 };
    if (!t->bench) {
        struct sam_conv b = p[CHECK_REF];
        b.act = SAM_ACT_NONE;
        b.dst = sum = check_temp(t, s->n, h, w, s->out);
        b.src = check_abs(t, src);
        b.bias = check_abs(t, bias);
        b.weight = check_abs_weight(t, &weight);
        sam_op_conv(&t->queue[CHECK_REF], &b);
    }
    check_bound(t, dst, &sum, product_factor(t) * product_slope(act), product_abs(act), type->rel);
    check_done(t);
}

void check_conv(struct check *t)
{
    static const enum sam_act acts[] = { SAM_ACT_NONE, SAM_ACT_RELU, SAM_ACT_GELU,
                                         SAM_ACT_SIGMOID };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int f = 0; f < check_num_factors(t); f++) {
                const struct shape *s = &shapes[i];
                if (check_case(t, "conv_%s_%dx%dx%dx%d_to_%d_k%ds%dp%d%s", check_types[k].name,
                               s->n, s->h, s->w, s->in, s->out, s->kernel, s->stride, s->pad,
                               check_factor_names[f]))
                    run(t, &check_types[k], s, acts[check_int(t, 0, 3)], f);
            }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_REAL; i++)
            if (check_speed(t, "conv_%s_%dx%dx%d_to_%d_k%d", check_types[k].name, real[i].h,
                            real[i].w, real[i].in, real[i].out, real[i].kernel))
                run(t, &check_types[k], &real[i], SAM_ACT_NONE, CHECK_ANY);
}

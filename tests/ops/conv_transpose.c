#include "product.h"

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

void check_conv_transpose(struct check *t)
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

#include "product.h"

static void run(struct check *t, const struct check_types *type, int n, int h, int w, int c,
                int kernel)
{
    struct check_buf *src = check_in(t, type->in, n, h, w, c);
    struct check_buf *weight = check_uniform(t, -0.3f, 0.3f, SAM_F32, 1, kernel, kernel, c);
    struct check_buf *bias = check_in(t, SAM_F32, 1, 1, 1, c);
    struct check_buf *dst = check_out(t, type->out, n, h, w, c);
    struct sam_depthwise p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_depthwise) { dst->on[s], src->on[s], weight->on[s], bias->on[s],
                                        kernel };
        sam_op_depthwise(&t->queue[s], &p[s]);
    }
    check_flops(t, 2.0 * n * h * w * c * kernel * kernel)
        sam_op_depthwise(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_tensor sum = { 0 };
    if (!t->bench) {
        sum = check_temp(t, n, h, w, c);
        sam_op_depthwise(&t->queue[CHECK_REF],
                         &(struct sam_depthwise) { sum, check_abs(t, src), check_abs(t, weight),
                                                   check_abs(t, bias), kernel });
    }
    check_bound(t, dst, &sum, product_factor(t), 1e-7f, type->rel);
    check_done(t);
}

void check_depthwise(struct check *t)
{
    static const int sides[][3] = { { 1, 1, 1 }, { 2, 3, 5 }, { 1, 2, 9 }, { 3, 7, 7 },
                                    { 1, 13, 8 }, { 1, 2, 17 } };
    static const int channels[] = { 1, 5, 16, 64, 67, 256 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                const int kernel = 2 * ((i + j) % 4) + 1;
                if (check_case(t, "depthwise_%s_%dx%dx%dx%d_k%d", check_types[k].name, sides[i][0],
                               sides[i][1], sides[i][2], channels[j], kernel))
                    run(t, &check_types[k], sides[i][0], sides[i][1], sides[i][2], channels[j],
                        kernel);
                if (check_case(t, "depthwise_%s_%dx%dx%dx%d_k7", check_types[k].name, sides[i][0],
                               sides[i][1], sides[i][2], channels[j]))
                    run(t, &check_types[k], sides[i][0], sides[i][1], sides[i][2], channels[j], 7);
            }
    if (check_speed(t, "depthwise_f32_64x64x256_k7"))
        run(t, &check_types[0], 1, 64, 64, 256, 7);
}

#include "check.h"

// The channel counts of the family's norms, the mask downsampler's 4 and 16, and odd ones.
static const int channels[] = { 1,  2,   3,   4,   7,   16,  17,  64,   67,
                                96, 112, 132, 144, 192, 256, 288, 384, 1152, 1153 };

static void run(struct check *t, const struct check_types *type, int rows, int c, float eps,
                enum sam_act act, bool in_place)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *src   = in_place ? check_inout(t, type->in, 1, 1, rows, c)
                                       : check_in(t, type->in, 1, 1, rows, c);
    struct check_buf *gamma = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, c);
    struct check_buf *beta  = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, c);
    struct check_buf *dst   = in_place ? src : check_out(t, type->out, 1, 1, rows, c);
    struct sam_layernorm p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_layernorm) { .dst = dst->on[s], .src = src->on[s],
                                        .gamma = gamma->on[s], .beta = beta->on[s], .eps = eps,
                                        .act = act };
        sam_op_layernorm(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_layernorm(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // Rows of 30 + u: the mean's last digit is 2e-6, a unit of spread 0.6, gamma up to 2; where
    // c is 2 or 3 the spread can be a tenth of that. A one-pass variance is off by 1e-3. The
    // running sum of a wide row, in the four lanes of plain C, loses digits of the mean in
    // proportion to its length.
    const float wide = c > 256 ? (float) c / 256.0f : 1.0f;
    check_near(t, dst, c < 16 ? 4e-4f : 4e-5f * wide, type->rel * 2);
    check_done(t);
}

void check_layernorm(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < sizeof(channels) / sizeof(*channels); i++) {
            const int c = channels[i];
            if (check_case(t, "layernorm_%s_c%d", check_types[k].name, c))
                run(t, &check_types[k], check_int(t, 1, 90), c, 1e-6f, SAM_ACT_NONE, i % 2);
            if (check_case(t, "layernorm_gelu_%s_c%d", check_types[k].name, c))
                run(t, &check_types[k], check_int(t, 1, 90), c, 1e-5f, SAM_ACT_GELU, i % 2);
        }
    if (check_speed(t, "layernorm_f32_bf16_4096x384"))
        run(t, &check_types[2], 4096, 384, 1e-6f, SAM_ACT_NONE, false);
    if (check_speed(t, "layernorm_f32_65536x96"))
        run(t, &check_types[0], 65536, 96, 1e-6f, SAM_ACT_NONE, false);
    if (check_speed(t, "layernorm_gelu_f32_65536x16"))
        run(t, &check_types[0], 65536, 16, 1e-6f, SAM_ACT_GELU, true);
}

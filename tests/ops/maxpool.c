#include "check.h"

static void run(struct check *t, const struct check_types *type, int n, int h, int w, int c)
{
    struct check_buf *src = check_in(t, type->in, n, h, w, c);
    struct check_buf *dst = check_out(t, type->out, n, h / 2, w / 2, c);
    struct sam_maxpool p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_maxpool) { dst->on[s], src->on[s] };
        sam_op_maxpool(&t->queue[s], &p[s]);
    }
    check_bytes(t, 1.25 * (double) sam_tensor_bytes(&src->on[0]))
        sam_op_maxpool(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

void check_maxpool(struct check *t)
{
    static const int channels[] = { 1, 3, 16, 33, 96, 112, 192 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 7; i++)
            for (int odd = 0; odd < 2; odd++)
                if (check_case(t, "maxpool_%s_c%d_%s", check_types[k].name, channels[i],
                               odd ? "odd" : "even"))
                    run(t, &check_types[k], check_int(t, 1, 3), 2 * check_int(t, 1, 7) + odd,
                        2 * check_int(t, 1, 7) + odd, channels[i]);
    if (check_speed(t, "maxpool_f32_256x256x192"))
        run(t, &check_types[0], 1, 256, 256, 192);
}

#include <math.h>

#include "check.h"

static void run(struct check *t, enum sam_type out, bool in_place, int n, int pixels)
{
    if (in_place && out != SAM_F32)
        in_place = false;
    struct check_buf *src = in_place ? check_inout(t, SAM_F32, n, 1, pixels, 1)
                                     : check_in(t, SAM_F32, n, 1, pixels, 1);
    static const float awkward[] = { 0, -0.0f, 1e-30f, -1e-30f, -1024, 1024, 88.8f, -88.8f };
    for (int i = 0; i < 8 && !t->bench; i++)
        check_set(t, src, (size_t) check_int(t, 0, n * pixels - 1), awkward[i]);
    struct check_buf *binary = check_ints(t, 0, 1, 1, 1, 1, n);
    struct check_buf *dst = in_place ? src : check_out(t, out, n, 1, pixels, 1);
    struct sam_mask_signal p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_mask_signal) { dst->on[s], src->on[s], binary->on[s], 20, -10 };
        sam_op_mask_signal(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&src->on[0]))
        sam_op_mask_signal(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 2e-5f, out == SAM_BF16 ? 8e-3f : 1e-6f); // 20 times exp's 1e-6
    check_done(t);
}

void check_mask_signal(struct check *t)
{
    for (int i = 0; i < 12; i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            if (check_case(t, "mask_signal_%s_%d", bf16 ? "bf16" : "f32", i))
                run(t, bf16 ? SAM_BF16 : SAM_F32, i % 2, check_int(t, 1, 3),
                    i < 2 ? 1 : check_int(t, 8, 700));
    if (check_speed(t, "mask_signal_1024x1024"))
        run(t, SAM_F32, true, 1, 1024 * 1024);
}

#include "check.h"

static void run(struct check *t, const struct check_types *type, bool in_place, int n, int h, int w,
                int c)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *a = in_place ? check_inout(t, type->in, n, 2 * h, 2 * w, c)
                                   : check_in(t, type->in, n, 2 * h, 2 * w, c);
    struct check_buf *b = check_in(t, type->in, n, h, w, c);
    struct check_buf *dst = in_place ? a : check_out(t, type->out, n, 2 * h, 2 * w, c);
    check_each_side(t, s)
        sam_op_upsample_add(&t->queue[s], &(struct sam_upsample_add) { dst->on[s], a->on[s],
                                                                       b->on[s] });
    check_near(t, dst, 1e-6f, type->rel);
    check_done(t);
}

void check_upsample_add(struct check *t)
{
    static const int channels[] = { 1, 3, 16, 64, 97, 256 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 6; i++)
            for (int in_place = 0; in_place < 2; in_place++)
                if (check_case(t, "upsample_add_%s_c%d%s", check_types[k].name, channels[i],
                               in_place ? "_in_place" : ""))
                    run(t, &check_types[k], in_place, check_int(t, 1, 3), check_int(t, 1, 7),
                        check_int(t, 1, 7), channels[i]);
}

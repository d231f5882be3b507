#include <math.h>

#include "check.h"

static void run(struct check *t, const struct check_types *type, bool in_place, int n, int rows,
                int c)
{
    if (in_place && type->in != type->out)
        in_place = false;
    const float values[] = { check_unit(t), 0, NAN, 1e-20f, -1e-20f };
    struct check_buf *src = in_place ? check_inout(t, type->in, n, 1, rows, c)
                                     : check_in(t, type->in, n, 1, rows, c);
    struct check_buf *other = check_in(t, SAM_F32, 1, 1, 1, c);
    struct check_buf *score = check_scores(t, n, values);
    struct check_buf *dst = in_place ? src : check_out(t, type->out, n, 1, rows, c);
    check_each_side(t, s)
        sam_op_gate(&t->queue[s], &(struct sam_gate) { dst->on[s], src->on[s], other->on[s],
                                                       score->on[s] });
    check_near(t, dst, 0, type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

void check_gate(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 8; i++)
            if (check_case(t, "gate_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], i % 2, check_int(t, 1, 5), check_int(t, 1, 5),
                    i < 2 ? 1 : check_int(t, 1, 260));
}

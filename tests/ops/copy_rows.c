#include "check.h"

static void run(struct check *t, const struct check_types *type, bool repeat)
{
    const int n = check_int(t, 1, 3), c = check_int(t, 1, 70), rows = check_int(t, 1, 9);
    const int to = check_int(t, 0, 4), from = check_int(t, 0, 4);
    struct check_buf *src = check_in(t, type->in, repeat ? 1 : n, 1,
                                     from + rows + check_int(t, 0, 3), c);
    struct check_buf *dst = check_inout(t, type->out, n, 1, to + rows + check_int(t, 0, 3), c);
    check_each_side(t, s)
        sam_op_copy_rows(&t->queue[s], &(struct sam_copy_rows) { dst->on[s], src->on[s], to, from,
                                                                 rows });
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

void check_copy_rows(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 12; i++)
            if (check_case(t, "copy_rows_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], i % 2);
}

#include <math.h>

#include "check.h"

static void run(struct check *t, const struct check_types *type, bool add, int n, int rows, int c)
{
    const int slots = n + check_int(t, 0, 3);
    const float scores[] = { check_unit(t), 0, 1e-20f, NAN };
    int slot[4];
    for (int i = 0; i < n; i++)
        slot[i] = slots - 1 - i; // all different, backwards
    if (n > 1)
        slot[check_int(t, 0, n - 1)] = -1;
    struct check_buf *src    = check_in(t, type->in, n, 1, rows, c);
    struct check_buf *where  = check_list(t, n, slot);
    struct check_buf *absent = add ? check_in(t, SAM_F32, 1, 1, 1, c) : &check_none;
    struct check_buf *score  = check_scores(t, n, scores);
    struct check_buf *dst    = check_inout(t, type->out, slots, 1, rows, c);
    check_each_side(t, s)
        sam_op_scatter(&t->queue[s], &(struct sam_scatter) { dst->on[s], src->on[s], where->on[s],
                                                             absent->on[s], score->on[s] });
    check_near(t, dst, 1e-6f, type->rel);
    check_done(t);
}

void check_scatter(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 12; i++)
            if (check_case(t, "scatter_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], i % 3, check_int(t, 1, 4), check_int(t, 1, 20),
                    check_int(t, 1, 70));
}

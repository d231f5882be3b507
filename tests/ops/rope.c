#include <math.h>

#include "check.h"

static void run(struct check *t, const struct check_types *type, int n, int rows, int table_rows,
                int c, bool limited, bool in_place)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *src = in_place ? check_inout(t, type->in, n, 1, rows, c)
                                     : check_in(t, type->in, n, 1, rows, c);
    struct check_buf *table = check_uniform(t, -1, 1, SAM_F32, 1, 1, table_rows, c);
    struct check_buf *count = limited ? check_ints(t, 0, rows, 1, 1, 1, n) : &check_none;
    struct check_buf *dst = in_place ? src : check_out(t, type->out, n, 1, rows, c);
    struct sam_rope p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_rope) { dst->on[s], src->on[s], table->on[s], count->on[s] };
        sam_op_rope(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_rope(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 1.5e-5f, type->rel); // two products of up to 100 that may cancel
    check_done(t);
}

void check_rope(struct check *t)
{
    static const int channels[] = { 2, 4, 6, 34, 64, 128, 256 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 7; i++)
            for (int limited = 0; limited < 2; limited++)
                for (int again = 0; again < 3; again++)
                    if (check_case(t, "rope_%s_c%d_%s_%d", check_types[k].name, channels[i],
                                   limited ? "limited" : "all", again)) {
                        const int table_rows = again == 2 ? 1 : check_int(t, 1, 20);
                        run(t, &check_types[k], check_int(t, 1, 3),
                            again ? check_int(t, 1, 90) : table_rows, table_rows, channels[i],
                            limited, check_int(t, 0, 1));
                    }
    if (check_speed(t, "rope_bf16_28736x256"))
        run(t, &check_types[1], 1, 28736, 4096, 256, false, true);
}

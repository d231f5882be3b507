#include "check.h"

enum { LIKE, ONE_MAP, ONE_ROW, NUM_SOURCES };
static const char *const source_names[NUM_SOURCES] = { "like", "map", "row" };

static void run(struct check *t, const struct check_types *type, int source, bool in_place, int n,
                int rows, int c, float scale)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *b = check_in(t, type->in, source == LIKE ? n : 1, 1,
                                   source == ONE_ROW ? 1 : rows, c);
    struct check_buf *a = in_place ? check_inout(t, type->in, n, 1, rows, c)
                                   : check_in(t, type->in, n, 1, rows, c);
    struct check_buf *dst = in_place ? a : check_out(t, type->out, n, 1, rows, c);
    struct sam_add p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_add) { dst->on[s], a->on[s], b->on[s], scale };
        sam_op_add(&t->queue[s], &p[s]);
    }
    check_bytes(t, 3.0 * (double) sam_tensor_bytes(&a->on[0]))
        sam_op_add(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 1e-5f, type->rel); // a fused product of up to 200 rounds once less
    check_done(t);
}

void check_add(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int source = 0; source < NUM_SOURCES; source++)
            for (int i = 0; i < 6; i++)
                if (check_case(t, "add_%s_%s_%d", check_types[k].name, source_names[source], i))
                    run(t, &check_types[k], source, i % 2, check_int(t, 1, 3),
                        check_int(t, 1, 70), i < 2 ? 1 : check_int(t, 1, 130),
                        i < 4 ? 1.0f : check_unit(t));
    if (check_speed(t, "add_f32_4096x256"))
        run(t, &check_types[0], LIKE, true, 1, 4096, 256, 0.1f);
}

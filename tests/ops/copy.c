#include "check.h"

enum { LIKE, ONE_MAP, ONE_ROW, RESHAPED, NUM_SOURCES };
static const char *const source_names[NUM_SOURCES] = { "like", "map", "row", "reshaped" };

static void run(struct check *t, const struct check_types *type, int source, int n, int rows, int c)
{
    struct check_buf *dst = check_out(t, type->out, n, 1, rows, c);
    struct check_buf *src = source == RESHAPED ? check_in(t, type->in, 1, rows * n, 1, c)
                          : check_in(t, type->in, source == LIKE ? n : 1, 1,
                                     source == ONE_ROW ? 1 : rows, c);
    check_each_side(t, s)
        sam_op_copy(&t->queue[s], &(struct sam_copy) { .dst = dst->on[s], .src = src->on[s] });
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_copy(&t->queue[CHECK_NEW],
                    &(struct sam_copy) { .dst = dst->on[CHECK_NEW], .src = src->on[CHECK_NEW] });
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

void check_copy(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int source = 0; source < NUM_SOURCES; source++)
            for (int i = 0; i < 4; i++)
                if (check_case(t, "copy_%s_%s_%d", check_types[k].name, source_names[source], i))
                    run(t, &check_types[k], source, check_int(t, 1, 3), check_int(t, 1, 70),
                        i ? check_int(t, 1, 130) : 1);
    if (check_speed(t, "copy_bf16_4096x256"))
        run(t, &check_types[1], LIKE, 1, 4096, 256);
}

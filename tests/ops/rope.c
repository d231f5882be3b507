// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

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

static void check_rope(struct check *t)
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

// ---- the front

static struct sam_rope valid_rope(void)
{
    return (struct sam_rope) { f32(0, 2, 1, 4, 6), f32(1, 2, 1, 4, 6), f32(2, 1, 1, 3, 6),
                               i32(3, 1, 1, 1, 2) };
}

static void fronts_rope(void)
{
    TAKES(rope, (void) p);
    TAKES(rope, p->dst = p->src; p->num_rotated.data = NULL);
    REFUSES(rope, p->table.c = 4, "table.c");
    REFUSES(rope, p->table.type = SAM_BF16, "table of type f32");
    REFUSES(rope, p->table.n = 2, "table.n");
    REFUSES(rope, p->src.c = p->dst.c = p->table.c = 5, "src.c");
    REFUSES(rope, p->dst.w = 3, "like");
    REFUSES(rope, p->num_rotated.c = 1, "num_rotated");
}

// ---- what PyTorch computed

static void vectors_rope(struct vectors *v)
{
    sam_op_rope(&v->queue, &(struct sam_rope) { vec_out(v, "dst"), vec_in(v, "src"),
                                                vec_in(v, "table"), vec_ints(v, "num_rotated") });
}

// ---- faults

COMMON(rope, dst, table)
CHANGED(rope, rotates_all, m.num_rotated = without(m.num_rotated))
CHANGED(rope, turns_back, m.table = negated(&p->table, 1, 2))

// One running count of rows instead of one per n.
static void rope_goes_on_counting(struct sam_queue *q, const struct sam_rope *p)
{
    struct sam_rope m = *p;
    if (!p->num_rotated.data) {
        m.src.w *= m.src.n, m.dst.w *= m.dst.n;
        m.src.n = m.dst.n = 1;
    }
    sam_rope_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(rope),
    MUTANT(rope, rotates_all),
    MUTANT(rope, turns_back),
    MUTANT(rope, goes_on_counting),
};

CUDA_FAULT("rope.cu", "re * sine + «im * cosine => im * sine»;")
CUDA_FAULT("rope.cu", "«(int) row < num_rotated[n] => (int) row <= num_rotated[n]»)")

TEST(rope, .vectors = vectors_rope, .abs = 2e-6f, .rel = 1e-6f);

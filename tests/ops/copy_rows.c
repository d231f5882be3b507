// SPDX-License-Identifier: MIT
#include "test.h"

static void run(struct check *t, const struct check_types *type, bool repeat, bool indexed)
{
    const int n = check_int(t, 1, 3), c = check_int(t, 1, 70), rows = check_int(t, 1, 9);
    const int to = check_int(t, 0, 4), from = indexed ? 0 : check_int(t, 0, 4);
    const int others = indexed ? check_int(t, 2, 40) : from + rows + check_int(t, 0, 3);
    struct check_buf *index = indexed ? check_ints(t, 0, others - 1, n, 1, 1, rows) : &check_none;
    struct check_buf *src = check_in(t, type->in, repeat ? 1 : n, 1, others, c);
    struct check_buf *dst = check_inout(t, type->out, n, 1, to + rows + check_int(t, 0, 3), c);
    check_each_side(t, s)
        sam_op_copy_rows(&t->queue[s], &(struct sam_copy_rows) { dst->on[s], src->on[s], to, from,
                                                                 rows, index->on[s] });
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

static void check_copy_rows(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 12; i++)
            if (check_case(t, "copy_rows_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], i % 2, i % 3 == 2);
}

// ---- the front

static struct sam_copy_rows valid_copy_rows(void)
{
    return (struct sam_copy_rows) { f32(0, 2, 1, 6, 5), f32(1, 2, 1, 4, 5), 3, 1, 3,
                                    { 0 } };
}

static void fronts_copy_rows(void)
{
    TAKES(copy_rows, (void) p);
    TAKES(copy_rows, p->src.n = 1);
    REFUSES(copy_rows, p->src.n = 3, "src.n");
    REFUSES(copy_rows, p->src.c = 4, "src.c");
    REFUSES(copy_rows, p->to = 4, "to");
    REFUSES(copy_rows, p->from = 2, "from");
    REFUSES(copy_rows, p->rows = 0, "rows");
    REFUSES(copy_rows, p->from = -1, "from");
    REFUSES(copy_rows, p->to = 0x7fffffff, "to");
    REFUSES(copy_rows, p->dst.data = p->src.data, "apart in memory");
    TAKES(copy_rows, p->from = 0; p->src.w = 1; p->index = i32(2, 2, 1, 1, 3));
    REFUSES(copy_rows, p->index = i32(2, 2, 1, 1, 3), "from");
    REFUSES(copy_rows, p->from = 0; p->index = i32(2, 1, 1, 1, 3), "index");
    REFUSES(copy_rows, p->from = 0; p->index = i32(2, 2, 1, 1, 4), "index");
    REFUSES(copy_rows, p->from = 0; p->index = f32(2, 2, 1, 1, 3), "index of type i32");
}

// ---- what PyTorch computed

static void vectors_copy_rows(struct vectors *v)
{
    sam_op_copy_rows(&v->queue, &(struct sam_copy_rows) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_int(v, "to"), vec_int(v, "from"),
        vec_int(v, "rows"), vec_ints(v, "index") });
}

// ---- faults

COMMON(copy_rows, dst, src)
CHANGED(copy_rows, starts_one_late, if (m.from) m.from--)
CHANGED(copy_rows, copies_one_less, if (m.rows > 1) m.rows--)
CHANGED(copy_rows, repeats_the_first, m.src = sam_first(m.src, 1))
CHANGED(copy_rows, takes_rows_in_order, if (m.src.w >= m.rows) m.index.data = NULL)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(copy_rows),
    MUTANT(copy_rows, starts_one_late),
    MUTANT(copy_rows, copies_one_less),
    MUTANT(copy_rows, repeats_the_first),
    MUTANT(copy_rows, takes_rows_in_order),
};

CUDA_FAULT("copy.cu", "«n * src_step => 0» + src_first + k")
CUDA_FAULT("copy.cu", "«n * src_step => 0» + index[row] * c")
CUDA_FAULT("copy.cu", "index[«row => row % rows»] * c")
CUDA_FAULT("copy.cu", "dst_first + i - «n * rows * c => 0», v);")

TEST(copy_rows, .vectors = vectors_copy_rows);

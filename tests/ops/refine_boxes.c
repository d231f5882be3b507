// SPDX-License-Identifier: MIT
#include "test.h"

// On the CPU this compares the reference with itself, and shows that the comparison sees its
// faults; what is right, PyTorch says below. On a GPU sums are the same to the bit, and exp is off
// by up to 2 units in the last place, 2.4e-7.
static void run(struct check *t, int n, int rows, int others, bool shared, bool indexed)
{
    struct check_buf *boxes = check_uniform(t, -1, 1, SAM_F32, n, 1, indexed ? others : rows, 4);
    struct check_buf *deltas = check_uniform(t, -3, 3, SAM_F32, shared ? 1 : n, 1, rows, 4);
    struct check_buf *index = indexed ? check_ints(t, 0, others - 1, n, 1, 1, rows) : &check_none;
    struct check_buf *dst = check_out(t, SAM_F32, n, 1, rows, 4);
    check_each_side(t, s)
        sam_op_refine_boxes(&t->queue[s], &(struct sam_refine_boxes) {
            dst->on[s], boxes->on[s], deltas->on[s], index->on[s] });
    check_near(t, dst, 0, 1e-6f);
    check_done(t);
}

static void check_refine_boxes(struct check *t)
{
    static const int rows[] = { 1, 2, 7, 300 };
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            if (check_case(t, "refine_boxes_%d%s%s", rows[i], k % 2 ? "_shared" : "",
                           k / 2 ? "_indexed" : ""))
                run(t, check_int(t, 2, 3), rows[i], check_int(t, 2, 40), k % 2, k / 2);
}

// ---- the front

static struct sam_refine_boxes valid_refine_boxes(void)
{
    return (struct sam_refine_boxes) { f32(0, 2, 1, 5, 4), f32(1, 2, 1, 9, 4), f32(2, 2, 1, 5, 4),
                                       i32(3, 2, 1, 1, 5) };
}

static void fronts_refine_boxes(void)
{
    TAKES(refine_boxes, (void) p);
    TAKES(refine_boxes, p->deltas.n = 1);
    TAKES(refine_boxes, p->index.data = NULL; p->boxes.w = 5);
    REFUSES(refine_boxes, p->index.data = NULL, "boxes");
    REFUSES(refine_boxes, p->index.c = 4, "index");
    REFUSES(refine_boxes, p->index.n = 1, "index");
    REFUSES(refine_boxes, p->index.type = SAM_F32, "index of type i32");
    REFUSES(refine_boxes, p->deltas.w = 4, "deltas");
    REFUSES(refine_boxes, p->boxes.c = 2, "boxes");
    REFUSES(refine_boxes, p->boxes.n = 1, "boxes");
    REFUSES(refine_boxes, p->deltas.type = SAM_BF16, "deltas of type f32");
    REFUSES(refine_boxes, p->dst.h = 5; p->dst.w = 1, "dst");
    REFUSES(refine_boxes, p->dst.data = p->boxes.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_refine_boxes(struct vectors *v)
{
    sam_op_refine_boxes(&v->queue, &(struct sam_refine_boxes) {
        vec_out(v, "dst"), vec_in(v, "boxes"), vec_in(v, "deltas"), vec_ints(v, "index") });
}

// ---- faults

COMMON(refine_boxes, dst, deltas)
CHANGED(refine_boxes, ignores_the_index, if (m.boxes.w >= m.dst.w) m.index = without(m.index))
CHANGED(refine_boxes, swaps_boxes_and_deltas, if (p->boxes.n == p->deltas.n &&
        p->boxes.w == p->deltas.w) m.boxes = p->deltas, m.deltas = p->boxes)

// The sizes are added to, not multiplied.
static void refine_boxes_adds_sizes(struct sam_queue *q, const struct sam_refine_boxes *p)
{
    sam_refine_boxes_ref(q, p);
    const int j = p->index.data ? ref_count(&p->index, 0) : 0;
    const float w = sam_load(&p->boxes, 4 * j + 2);
    sam_store(&p->dst, 2, w + sam_load(&p->dst, 2) / w);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(refine_boxes),
    MUTANT(refine_boxes, ignores_the_index),
    MUTANT(refine_boxes, swaps_boxes_and_deltas),
    MUTANT(refine_boxes, adds_sizes),
};

CUDA_FAULT("boxes.cu", "(index ? «index[row] => own» : own)")
CUDA_FAULT("boxes.cu", "deltas[«shared ? 4 * own + k : i => i»]")
CUDA_FAULT("boxes.cu", "__fmul_rn(delta, box[«k + 2 => 2»])")
CUDA_FAULT("boxes.cu", "4 * (size_t) («n * box_rows => 0» + (index")

// Relative: exp in f32 against f64 rounded.
TEST(refine_boxes, .vectors = vectors_refine_boxes, .abs = 1e-6f, .rel = 1e-6f);

// SPDX-License-Identifier: MIT
#include "test.h"

// On the CPU this compares the reference with itself, and shows that the comparison sees its
// faults; what is right, PyTorch says below.
static void run(struct check *t, enum sam_type type, int n, int rows, int d)
{
    struct check_buf *boxes = check_uniform(t, -0.2f, 1.2f, SAM_F32, n, 1, rows, 4);
    struct check_buf *dst = check_out(t, type, n, 1, rows, 4 * d);
    check_each_side(t, s)
        sam_op_embed_boxes(&t->queue[s],
                           &(struct sam_embed_boxes) { dst->on[s], boxes->on[s] });
    // An angle of up to 7.6 is rounded twice, by 5e-7 each.
    check_near(t, dst, 1e-6f, type == SAM_F32 ? 0 : 0x1p-7f);
    check_done(t);
}

static void check_embed_boxes(struct check *t)
{
    static const int channels[] = { 2, 4, 10, 128, 1030 };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++)
            if (check_case(t, "embed_boxes_%s_d%d", k ? "bf16" : "f32", channels[i]))
                run(t, k ? SAM_BF16 : SAM_F32, check_int(t, 1, 2), check_int(t, 1, 30),
                    channels[i]);
}

// ---- the front

static struct sam_embed_boxes valid_embed_boxes(void)
{
    return (struct sam_embed_boxes) { f32(0, 2, 1, 5, 16), f32(1, 2, 1, 5, 4) };
}

static void fronts_embed_boxes(void)
{
    TAKES(embed_boxes, (void) p);
    REFUSES(embed_boxes, p->dst.c = 12, "dst.c");
    REFUSES(embed_boxes, p->dst.w = 4, "boxes");
    REFUSES(embed_boxes, p->boxes.c = 3, "boxes");
    REFUSES(embed_boxes, p->boxes.n = 1, "boxes");
    REFUSES(embed_boxes, p->boxes.type = SAM_BF16, "boxes of type f32");
    REFUSES(embed_boxes, p->dst.data = p->boxes.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_embed_boxes(struct vectors *v)
{
    sam_op_embed_boxes(&v->queue,
                       &(struct sam_embed_boxes) { vec_out(v, "dst"), vec_in(v, "boxes") });
}

// ---- faults

COMMON(embed_boxes, dst, boxes)
CHANGED(embed_boxes, begins_a_row_late, if (m.dst.w > 1) m.dst.w--, m.boxes.w--,
        m.boxes = shifted(m.boxes, 4))

// x before y.
static void embed_boxes_puts_x_first(struct sam_queue *q, const struct sam_embed_boxes *p)
{
    sam_embed_boxes_ref(q, p);
    const size_t d = (size_t) p->dst.c / 4;
    for (size_t i = 0; i < d; i++) {
        const float y = sam_load(&p->dst, i);
        sam_store(&p->dst, i, sam_load(&p->dst, d + i));
        sam_store(&p->dst, d + i, y);
    }
}

// All sines, then all cosines.
static void embed_boxes_does_not_alternate(struct sam_queue *q, const struct sam_embed_boxes *p)
{
    sam_embed_boxes_ref(q, p);
    const float cosine = sam_load(&p->dst, 1);
    sam_store(&p->dst, 1, sam_load(&p->dst, p->dst.c / 4 - 2));
    sam_store(&p->dst, p->dst.c / 4 - 2, cosine);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(embed_boxes),
    MUTANT(embed_boxes, begins_a_row_late),
    MUTANT(embed_boxes, puts_x_first),
    MUTANT(embed_boxes, does_not_alternate),
};

CUDA_FAULT("boxes.cu", "up = quarter & 1 ? «c => s» : s,")
CUDA_FAULT("boxes.cu", "*cosine = quarter == 1 || «quarter == 2 => quarter == 3» ?")
CUDA_FAULT("boxes.cu", "fmaf(quarters, «-3.13916473e-7f => 0.0f», r);")
CUDA_FAULT("boxes.cu", "place < 2 ? «1 - place => place» : place;")
CUDA_FAULT("boxes.cu", "channels + «2 * first => 0u» + c, out)")
CUDA_FAULT("boxes.cu", "2.0 * («f.first + k => k»)", "embed_boxes_f32_d1030")

// As above: angles in f32 against f64.
TEST(embed_boxes, .vectors = vectors_embed_boxes, .abs = 2e-6f);

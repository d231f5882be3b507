// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

// flat: a picture of one colour, all of whose edges are alike.
static void run(struct check *t, int h, int w, int c, bool flat)
{
    struct check_buf *src = check_uniform(t, -2, 2, SAM_F32, 1, h, w, c);
    for (int i = 0; flat && i < h * w * c; i++)
        check_set(t, src, (size_t) i, 1.5f);
    struct check_buf *dst = check_out(t, SAM_F32, 2, h, w, 1);
    struct sam_edge_weights p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_edge_weights) { dst->on[s], src->on[s], 3, 1e-5f };
        sam_op_edge_weights(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) (sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0])))
        sam_op_edge_weights(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // Exponents up to 3 x 12 / 2 and more, whose last bit is 2^-19: of e^x, as much of it.
    check_near(t, dst, 1e-9f, 2e-5f);
    check_done(t);
}

static void check_edge_weights(struct check *t)
{
    static const int sides[][3] = { { 1, 1, 3 }, { 1, 9, 3 }, { 7, 1, 1 }, { 2, 2, 3 },
                                    { 13, 17, 3 }, { 40, 33, 5 } };
    for (int i = 0; i < 6; i++)
        for (int flat = 0; flat < 2; flat++)
            if (check_case(t, "edge_weights_%dx%dx%d_%s", sides[i][0], sides[i][1], sides[i][2],
                           flat ? "flat" : "noise"))
                run(t, sides[i][0], sides[i][1], sides[i][2], flat);
    if (check_speed(t, "edge_weights_80x80x3"))
        run(t, 80, 80, 3, false);
}

// ---- the front

static struct sam_edge_weights valid_edge_weights(void)
{
    return (struct sam_edge_weights) { f32(0, 2, 3, 4, 1), f32(1, 1, 3, 4, 3), 3, 1e-5f };
}

static void fronts_edge_weights(void)
{
    TAKES(edge_weights, (void) p);
    TAKES(edge_weights, p->src.c = 1);
    REFUSES(edge_weights, p->src.n = 2, "src.n");
    REFUSES(edge_weights, p->dst.n = 1, "dst");
    REFUSES(edge_weights, p->dst.w = 3, "dst");
    REFUSES(edge_weights, p->src.type = SAM_BF16, "src of type f32");
    REFUSES(edge_weights, p->sharpness = 0, "sharpness");
    REFUSES(edge_weights, p->least = 0, "least");
    REFUSES(edge_weights, p->dst.data = p->src.data, "dst");
}

// ---- what PyTorch computed

static void vectors_edge_weights(struct vectors *v)
{
    sam_op_edge_weights(&v->queue, &(struct sam_edge_weights) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_number(v, "sharpness"), vec_number(v, "least") });
}

// ---- faults

COMMON(edge_weights, dst, src)
CHANGED(edge_weights, sharper, m.sharpness *= 1.01f)
CHANGED(edge_weights, lighter, m.least *= 0.9f)

static void edge_weights_as_a_ring(struct sam_queue *q, const struct sam_edge_weights *p)
{
    sam_edge_weights_ref(q, p);
    sam_store(&p->dst, (size_t) p->src.w - 1, 1);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(edge_weights),
    MUTANT(edge_weights, sharper),
    MUTANT(edge_weights, lighter),
    MUTANT(edge_weights, as_a_ring),
};

CUDA_FAULT("random_walk.cu", "sum += (double) right + «(double) down => 0.0»;")
CUDA_FAULT("random_walk.cu", "const float down = «i + e.w < places => true» ? e.distance2")
CUDA_FAULT("random_walk.cu", "e.right[i] = «i % e.w + 1 < e.w => true» ? expf")

TEST(edge_weights, .vectors = vectors_edge_weights, .rel = 2e-5f, .abs = 1e-9f);

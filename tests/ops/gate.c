// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

static void run(struct check *t, const struct check_types *type, bool in_place, int n, int rows,
                int c)
{
    if (in_place && type->in != type->out)
        in_place = false;
    const float values[] = { check_unit(t), 0, NAN, 1e-20f, -1e-20f };
    struct check_buf *src = in_place ? check_inout(t, type->in, n, 1, rows, c)
                                     : check_in(t, type->in, n, 1, rows, c);
    struct check_buf *other = check_in(t, SAM_F32, 1, 1, 1, c);
    struct check_buf *score = check_scores(t, n, values);
    struct check_buf *dst = in_place ? src : check_out(t, type->out, n, 1, rows, c);
    check_each_side(t, s)
        sam_op_gate(&t->queue[s], &(struct sam_gate) { dst->on[s], src->on[s], other->on[s],
                                                       score->on[s] });
    check_near(t, dst, 0, type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

static void check_gate(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 8; i++)
            if (check_case(t, "gate_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], i % 2, check_int(t, 1, 5), check_int(t, 1, 5),
                    i < 2 ? 1 : check_int(t, 1, 260));
}

// ---- the front

static struct sam_gate valid_gate(void)
{
    return (struct sam_gate) { f32(0, 2, 1, 4, 5), f32(1, 2, 1, 4, 5), f32(2, 1, 1, 1, 5),
                               f32(3, 2, 1, 1, 1) };
}

static void fronts_gate(void)
{
    TAKES(gate, (void) p);
    TAKES(gate, p->dst = p->src);
    REFUSES(gate, p->other.w = 2, "other");
    REFUSES(gate, p->score.n = 1, "score");
    REFUSES(gate, p->score.type = SAM_BF16, "score of type f32");
    REFUSES(gate, p->dst.n = 1, "like");
}

// ---- what PyTorch computed

static void vectors_gate(struct vectors *v)
{
    sam_op_gate(&v->queue, &(struct sam_gate) { vec_out(v, "dst"), vec_in(v, "src"),
                                                vec_in(v, "other"), vec_in(v, "score") });
}

// ---- faults

COMMON(gate, dst, score)
CHANGED(gate, always_open, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }; m.score.data = ones)

static void gate_zero_is_present(struct sam_queue *q, const struct sam_gate *p)
{
    struct sam_gate m = *p;
    float score[8];
    for (int n = 0; n < p->score.n; n++)
        score[n] = sam_load(&p->score, n) >= 0 ? 1 : -1;
    m.score.data = score;
    sam_gate_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(gate),
    MUTANT(gate, always_open),
    MUTANT(gate, zero_is_present),
};

CUDA_FAULT("masks.cu", "if («score[i / per_object] > 0.0f => score[i / per_object] >= 0.0f»)")

TEST(gate, .vectors = vectors_gate);

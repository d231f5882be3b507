// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

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

static void check_scatter(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 12; i++)
            if (check_case(t, "scatter_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], i % 3, check_int(t, 1, 4), check_int(t, 1, 20),
                    check_int(t, 1, 70));
}

// ---- the front

static struct sam_scatter valid_scatter(void)
{
    return (struct sam_scatter) { f32(0, 9, 1, 4, 5), f32(1, 2, 1, 4, 5), i32(2, 1, 1, 1, 2),
                                  f32(3, 1, 1, 1, 5), f32(4, 2, 1, 1, 1) };
}

static void fronts_scatter(void)
{
    TAKES(scatter, (void) p);
    TAKES(scatter, p->absent.data = NULL);
    TAKES(scatter, p->absent.data = NULL; p->score.data = NULL);
    REFUSES(scatter, p->score.data = NULL, "score");
    REFUSES(scatter, p->slot.c = 9, "slot");
    REFUSES(scatter, p->slot.data = NULL, "slot");
    REFUSES(scatter, p->absent.c = 4, "absent");
    REFUSES(scatter, p->dst.w = 3, "dst");
    REFUSES(scatter, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_scatter(struct vectors *v)
{
    sam_op_scatter(&v->queue, &(struct sam_scatter) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_ints(v, "slot"), vec_in(v, "absent"),
        vec_in(v, "score") });
}

// ---- faults

COMMON(scatter, dst, slot)
CHANGED(scatter, forgets_absence, m.absent = without(m.absent))

static void scatter_takes_negative_slots(struct sam_queue *q, const struct sam_scatter *p)
{
    struct sam_scatter m = *p;
    int32_t slot[8];
    for (int n = 0; n < p->src.n; n++)
        slot[n] = ref_count(&p->slot, n) < 0 ? 0 : ref_count(&p->slot, n);
    m.slot.data = slot;
    sam_scatter_ref(q, &m);
}

static void scatter_zero_is_present(struct sam_queue *q, const struct sam_scatter *p)
{
    struct sam_scatter m = *p;
    float score[8];
    for (int n = 0; n < p->src.n; n++)
        score[n] = sam_load(&p->score, n) < 0 ? -1 : 1;
    m.score.data = score;
    sam_scatter_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(scatter),
    MUTANT(scatter, forgets_absence),
    MUTANT(scatter, takes_negative_slots),
    MUTANT(scatter, zero_is_present),
};

CUDA_FAULT("memory.cu", "if («slot[n] < 0 => false»)")

TEST(scatter, .vectors = vectors_scatter, .abs = 1e-6f);

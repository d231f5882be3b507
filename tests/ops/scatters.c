// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

// Numbers of one object, of several, for groups of four and not: as many as one launch takes.
static const struct shape {
    int rows, c;
    bool adds;
} shapes[SAM_MAX_SCATTERS] = {
    { 40, 64, true }, { 1, 256, false }, { 1, 1, false }, { 3, 7, true }, { 1, 2048, false },
};

struct item {
    struct check_buf *dst, *src, *slot, *absent, *score;
};

static struct item draw(struct check *t, const struct check_types *type, const struct shape *s)
{
    const int n = check_int(t, 1, 4), slots = n + check_int(t, 0, 3);
    const float scores[] = { check_unit(t), 0, 1e-20f, NAN };
    int slot[4];
    for (int i = 0; i < n; i++)
        slot[i] = slots - 1 - i; // all different, backwards
    if (n > 1)
        slot[check_int(t, 0, n - 1)] = -1;
    return (struct item) {
        .src = check_in(t, type->in, n, 1, s->rows, s->c),
        .slot = check_list(t, n, slot),
        .absent = s->adds ? check_in(t, SAM_F32, 1, 1, 1, s->c) : &check_none,
        .score = check_scores(t, n, scores),
        .dst = check_inout(t, type->out, slots, 1, s->rows, s->c),
    };
}

static void run(struct check *t, const struct check_types *type, int count)
{
    struct item item[SAM_MAX_SCATTERS];
    for (int i = 0; i < count; i++)
        item[i] = draw(t, type, &shapes[i]);
    check_each_side(t, s) {
        struct sam_scatter each[SAM_MAX_SCATTERS];
        for (int i = 0; i < count; i++)
            each[i] = (struct sam_scatter) { item[i].dst->on[s], item[i].src->on[s],
                                             item[i].slot->on[s], item[i].absent->on[s],
                                             item[i].score->on[s] };
        sam_op_scatters(&t->queue[s], &(struct sam_scatters) { each, count });
    }
    for (int i = 0; i < count; i++)
        check_near(t, item[i].dst, 1e-6f, type->rel);
    check_done(t);
}

static void check_scatters(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int count = 1; count <= SAM_MAX_SCATTERS; count++)
            if (check_case(t, "scatters_%s_%d", check_types[k].name, count))
                run(t, &check_types[k], count);
}

// ---- the front

static struct sam_scatter pair[2];

static struct sam_scatters valid_scatters(void)
{
    for (int i = 0; i < 2; i++)
        pair[i] = (struct sam_scatter) { f32(8 * i, 9, 1, 4, 5), f32(8 * i + 1, 2, 1, 4, 5),
                                         i32(8 * i + 2, 1, 1, 1, 2), f32(8 * i + 3, 1, 1, 1, 5),
                                         f32(8 * i + 4, 2, 1, 1, 1) };
    return (struct sam_scatters) { pair, 2 };
}

static void fronts_scatters(void)
{
    TAKES(scatters, (void) p);
    TAKES(scatters, p->count = 1);
    TAKES(scatters, pair[1].src = pair[0].src);
    REFUSES(scatters, p->count = 0, "count");
    REFUSES(scatters, p->count = SAM_MAX_SCATTERS + 1, "count");
    REFUSES(scatters, p->each = NULL, "each");
    REFUSES(scatters, pair[1].slot.c = 9, "slot");
    REFUSES(scatters, pair[1].dst = pair[0].dst, "are_apart");
    REFUSES(scatters, pair[0].dst.data = pair[1].src.data, "are_apart");
}

// ---- faults

COMMON(scatters, each[0].dst, each[0].src)
CHANGED(scatters, forgets_one, m.count -= m.count > 1)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(scatters),
    MUTANT(scatters, forgets_one),
};

CUDA_FAULT("memory.cu", "unsigned which = «blockIdx.y => 0»,")
CUDA_FAULT("memory.cu", "«4 * at < list.count[which] => true»)")
CUDA_FAULT("memory.cu", "blocks = max(«blocks => 1», blocks_for(")

TEST(scatters, .abs = 1e-6f);

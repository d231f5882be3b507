// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

enum { ROWS = 7 };

// Small whole numbers, so that every product of them is exact in any order: which key is the most
// alike must not depend on rounding, and equal ones are common.
static void set_whole(struct check *t, struct check_buf *b, int most)
{
    for (size_t i = 0; i < sam_count(&b->on[0]); i++)
        check_set(t, b, i, roundf(check_unit(t) * (float) most));
}

static void run(struct check *t, int n, int h, int w, int c, int near)
{
    const float values[] = { 1.5f, 1e-20f, 2, NAN, 2 };
    const int slot[] = { 4, 0, 6, 2, -1 };
    const int keys = near + h * w / 4;
    struct check_buf *features = check_uniform(t, -2, 2, SAM_F32, 1, h, w, c);
    struct check_buf *row = check_uniform(t, -1, 1, SAM_F32, ROWS, 1, 1, (c + 1) * keys);
    set_whole(t, features, 3);
    set_whole(t, row, 2);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < keys; k++) // y, which tells the keys apart
            check_set(t, row, (size_t) (i * (c + 1) + c) * keys + k, check_unit(t));
    struct check_buf *logits = check_inout(t, SAM_F32, n, 2 * h, 2 * w, 1);
    for (int i = 0; i < n * 4 * h * w; i++)
        check_set(t, logits, (size_t) i, 10 * check_unit(t));
    struct check_buf *score = check_scores(t, n, values), *at = check_list(t, n, slot);
    struct check_buf *room = check_out(t, SAM_F32, n, h, w, 1);
    struct sam_recall_score p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_recall_score) {
            .logits = logits->on[s], .features = features->on[s], .keys = row->on[s],
            .slot = at->on[s], .score = score->on[s], .room = room->on[s], .scale = 3,
            .likeness = 2, .softness = 1 };
        sam_op_recall_score(&t->queue[s], &p[s]);
    }
    check_flops(t, 2.0 * n * h * w * keys * c)
        sam_op_recall_score(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, logits, 1e-5f, 1e-6f);
    check_done(t);
}

static void check_recall_score(struct check *t)
{
    static const int sides[][5] = { { 1, 2, 2, 1, 1 }, { 2, 2, 6, 3, 30 }, { 3, 10, 8, 16, 45 },
                                    { 5, 12, 18, 33, 11 }, { 5, 14, 20, 64, 63 } };
    for (int i = 0; i < 5; i++)
        if (check_case(t, "recall_score_%dx%dx%dx%d_%d", sides[i][0], sides[i][1], sides[i][2],
                       sides[i][3], sides[i][4]))
            run(t, sides[i][0], sides[i][1], sides[i][2], sides[i][3], sides[i][4]);
    if (check_speed(t, "recall_score_2x40x40x64"))
        run(t, 2, 40, 40, 64, 256);
}

// ---- the front

static struct sam_recall_score valid_recall_score(void)
{
    return (struct sam_recall_score) {
        .logits = f32(0, 2, 8, 8, 1), .features = f32(1, 1, 4, 4, 2), .keys = f32(2, 5, 1, 1, 15),
        .slot = i32(3, 1, 1, 1, 2), .score = f32(4, 2, 1, 1, 1), .room = f32(5, 2, 4, 4, 1),
        .scale = 3, .likeness = 0.5f, .softness = 0.1f };
}

static void fronts_recall_score(void)
{
    TAKES(recall_score, (void) p);
    TAKES(recall_score, p->scale = 0);
    REFUSES(recall_score, p->keys.c = 14, "keys");
    REFUSES(recall_score, p->keys.w = 2, "keys");
    REFUSES(recall_score, p->features.n = 2, "features");
    REFUSES(recall_score, p->logits.w = 4, "logits");
    REFUSES(recall_score, p->slot.c = 1, "slot");
    REFUSES(recall_score, p->score.n = 1, "score");
    REFUSES(recall_score, p->room.w = 3, "room");
    REFUSES(recall_score, p->softness = 0, "softness");
    REFUSES(recall_score, p->features.type = SAM_BF16, "features of type f32");
    REFUSES(recall_score, p->room.data = p->logits.data, "logits and room");
}

// ---- what PyTorch computed

static void vectors_recall_score(struct vectors *v)
{
    const struct sam_tensor logits = vec_out_after(v, "logits", "before");
    sam_op_recall_score(&v->queue, &(struct sam_recall_score) {
        .logits = logits, .features = vec_in(v, "features"), .keys = vec_in(v, "keys"),
        .slot = vec_ints(v, "slot"), .score = vec_in(v, "score"), .room = vec_in(v, "room"),
        .scale = vec_number(v, "scale"), .likeness = vec_number(v, "likeness"),
        .softness = vec_number(v, "softness") });
}

// ---- faults

COMMON(recall_score, logits, features)
CHANGED(recall_score, lighter, m.scale *= 0.99f)
CHANGED(recall_score, less_alike, m.likeness *= 1.01f)
CHANGED(recall_score, softer, m.softness *= 1.02f)
CHANGED(recall_score, other_row, static int32_t zeros[8]; m.slot.data = zeros)
CHANGED(recall_score, absent_score, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.score.data = ones)
CHANGED(recall_score, one_for_all, m.logits.n = m.score.n = 1)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(recall_score),
    MUTANT(recall_score, lighter),
    MUTANT(recall_score, less_alike),
    MUTANT(recall_score, softer),
    MUTANT(recall_score, other_row),
    MUTANT(recall_score, absent_score),
    MUTANT(recall_score, one_for_all),
};

CUDA_FAULT("recall.cu", "(other == *most && «key < *best => key > *best»)")
CUDA_FAULT("recall.cu", "if («product > most => product >= most») {")
CUDA_FAULT("recall.cu", "if («slot[i / (4u * add.h * add.w)] >= 0 => true»)")
CUDA_FAULT("recall.cu", "for (int step = 1; step < «LANES => LANES / 2»; step *= 2)")

TEST(recall_score, .vectors = vectors_recall_score, .abs = 2e-5f, .rel = 1e-5f);

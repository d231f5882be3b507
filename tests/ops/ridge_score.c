// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

static void run(struct check *t, int n, int h, int w, int c)
{
    const float values[] = { 1.5f, 1e-20f, 0, NAN, 2 };
    struct check_buf *features = check_uniform(t, -2, 2, SAM_F32, 1, h, w, c);
    struct check_buf *weights = check_uniform(t, -1, 1, SAM_F32, n, 1, 1, c + 1);
    for (int i = 0; i < n * (c + 1); i++) // so that some scores are cut, and some are not
        check_set(t, weights, (size_t) i, check_unit(t) * 1.7f / sqrtf((float) c));
    struct check_buf *logits = check_inout(t, SAM_F32, n, 2 * h, 2 * w, 1);
    for (int i = 0; i < n * 4 * h * w; i++)
        check_set(t, logits, (size_t) i, 10 * check_unit(t));
    struct check_buf *score = check_scores(t, n, values);
    struct check_buf *room = check_out(t, SAM_F32, n, h, w, 1);
    struct sam_ridge_score p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_ridge_score) { logits->on[s], features->on[s], weights->on[s],
                                          score->on[s], room->on[s], 3, 1.5f };
        sam_op_ridge_score(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&logits->on[0]))
        sam_op_ridge_score(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, logits, 1e-5f * (1 + sqrtf((float) c) / 4), 1e-6f);
    check_done(t);
}

static void check_ridge_score(struct check *t)
{
    static const int sides[][4] = { { 1, 1, 1, 1 }, { 2, 1, 5, 3 }, { 3, 6, 1, 7 },
                                    { 5, 9, 11, 16 }, { 2, 20, 13, 64 } };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++)
            if (check_case(t, "ridge_score_%dx%dx%dx%d_%d", sides[i][0], sides[i][1], sides[i][2],
                           sides[i][3], k))
                run(t, sides[i][0], sides[i][1], sides[i][2], sides[i][3]);
    if (check_speed(t, "ridge_score_2x40x40x64"))
        run(t, 2, 40, 40, 64);
}

// ---- the front

static struct sam_ridge_score valid_ridge_score(void)
{
    return (struct sam_ridge_score) { f32(0, 2, 6, 8, 1), f32(1, 1, 3, 4, 2), f32(2, 2, 1, 1, 3),
                                      f32(3, 2, 1, 1, 1), f32(4, 2, 3, 4, 1), 3, 1.5f };
}

static void fronts_ridge_score(void)
{
    TAKES(ridge_score, (void) p);
    TAKES(ridge_score, p->scale = 0);
    REFUSES(ridge_score, p->logits.w = 4, "logits");
    REFUSES(ridge_score, p->features.n = 2, "features");
    REFUSES(ridge_score, p->weights.c = 2, "weights");
    REFUSES(ridge_score, p->score.n = 1, "score");
    REFUSES(ridge_score, p->room.w = 3, "room");
    REFUSES(ridge_score, p->most = 0, "most");
    REFUSES(ridge_score, p->features.type = SAM_BF16, "features of type f32");
    REFUSES(ridge_score, p->room.data = p->logits.data, "logits and room");
}

// ---- what PyTorch computed

static void vectors_ridge_score(struct vectors *v)
{
    const struct sam_tensor logits = vec_out_after(v, "logits", "before");
    sam_op_ridge_score(&v->queue, &(struct sam_ridge_score) {
        logits, vec_in(v, "features"), vec_in(v, "weights"), vec_in(v, "score"), vec_in(v, "room"),
        vec_number(v, "scale"), vec_number(v, "most") });
}

// ---- faults

COMMON(ridge_score, logits, features)
CHANGED(ridge_score, lighter, m.scale *= 0.99f)
CHANGED(ridge_score, cut_later, m.most *= 1.1f)
CHANGED(ridge_score, absent_score, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.score.data = ones)
CHANGED(ridge_score, one_for_all, m.logits.n = m.score.n = 1)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(ridge_score),
    MUTANT(ridge_score, lighter),
    MUTANT(ridge_score, cut_later),
    MUTANT(ridge_score, absent_score),
    MUTANT(ridge_score, one_for_all),
};

CUDA_FAULT("cells.cuh", "min(max(v + y % 2 * 2 - 1, 0), «h - 1 => h»);")
CUDA_FAULT("cells.cuh", "min(max(u + «x % 2 * 2 - 1 => 1 - x % 2 * 2», 0), w - 1);")
CUDA_FAULT("ridge.cu", "room[i] = fminf(«fmaxf(sum, -most) => sum», most);")

TEST(ridge_score, .vectors = vectors_ridge_score, .abs = 2e-5f, .rel = 1e-5f);

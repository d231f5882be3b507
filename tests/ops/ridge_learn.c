// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

enum { ROWS = 12 };

// Logits of a blob with soft edges, so that there are cells near and far, sure and unsure.
static void draw(struct check *t, struct check_buf *logits, int n, int h, int w)
{
    const float y0 = (float) h * (check_unit(t) + 1), x0 = (float) w * (check_unit(t) + 1);
    const float radius = 1 + (float) h * (check_unit(t) + 1.2f) / 4;
    for (int i = 0; i < 4 * h * w; i++) {
        const float y = (float) (i / (2 * w)) - y0 / 1.5f, x = (float) (i % (2 * w)) - x0 / 1.5f;
        check_set(t, logits, (size_t) n * 4 * h * w + i,
                  3 * (radius - sqrtf(y * y + x * x)) + 2 * check_unit(t));
    }
}

static void run(struct check *t, int n, int h, int w, int c, bool in_turn)
{
    const float values[] = { 1.5f, 1e-20f, 0, NAN, 2 };
    const int before[] = { 3, -1, 7, 5, 9 }, after[] = { 4, 6, 8, 2, in_turn ? -1 : 10 };
    const int prompted[] = { 0, 1, in_turn, 0, in_turn ? 3 : 0 };
    const int numbers = c + 1;
    struct check_buf *features = check_uniform(t, -2, 2, SAM_F32, 1, h, w, c);
    struct check_buf *sums = check_inout(t, SAM_F32, ROWS, 1, 1, numbers * (numbers + 3));
    for (size_t i = 0; i < sam_count(&sums->on[0]); i++)
        check_set(t, sums, i, check_unit(t));
    struct check_buf *logits = check_uniform(t, -1, 1, SAM_F32, n, 2 * h, 2 * w, 1);
    for (int i = 0; i < n; i++)
        draw(t, logits, i, h, w);
    struct check_buf *score = check_scores(t, n, values);
    struct check_buf *at[] = { check_list(t, n, before), check_list(t, n, after),
                               check_list(t, n, prompted) };
    struct check_buf *room = check_out(t, SAM_F32, n, h, w, 2);
    struct sam_ridge_learn p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_ridge_learn) {
            .sums = sums->on[s], .features = features->on[s], .logits = logits->on[s],
            .score = score->on[s], .before = at[0]->on[s], .after = at[1]->on[s],
            .prompted = at[2]->on[s], .room = room->on[s], .near = 1 + h % 3, .keep = 0.9f,
            .far = 0.3f, .unsure = 0.2f };
        sam_op_ridge_learn(&t->queue[s], &p[s]);
    }
    check_flops(t, (double) n * h * w * numbers * (numbers + 3))
        sam_op_ridge_learn(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // Sums of up to h w products of at most 4, whose weights add up to 2.
    check_near(t, sums, 2e-6f * sqrtf((float) (h * w)), 1e-5f);
    check_done(t);
}

static void check_ridge_learn(struct check *t)
{
    static const int sides[][4] = { { 1, 1, 1, 1 }, { 2, 3, 5, 6 }, { 3, 9, 8, 16 },
                                    { 5, 12, 17, 33 }, { 4, 20, 20, 64 } };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++)
            if (check_case(t, "ridge_learn_%dx%dx%dx%d_%d", sides[i][0], sides[i][1], sides[i][2],
                           sides[i][3], k))
                run(t, sides[i][0], sides[i][1], sides[i][2], sides[i][3], k);
    if (check_speed(t, "ridge_learn_2x40x40x64"))
        run(t, 2, 40, 40, 64, false);
}

// ---- the front

static struct sam_ridge_learn valid_ridge_learn(void)
{
    return (struct sam_ridge_learn) {
        .sums = f32(0, 5, 1, 1, 18), .features = f32(1, 1, 3, 4, 2), .logits = f32(2, 2, 6, 8, 1),
        .score = f32(3, 2, 1, 1, 1), .before = i32(4, 1, 1, 1, 2), .after = i32(5, 1, 1, 1, 2),
        .prompted = i32(6, 1, 1, 1, 2), .room = f32(7, 2, 3, 4, 2), .near = 4, .keep = 0.9f,
        .far = 0.3f, .unsure = 0.2f };
}

static void fronts_ridge_learn(void)
{
    TAKES(ridge_learn, (void) p);
    TAKES(ridge_learn, p->near = 0);
    TAKES(ridge_learn, p->keep = 1);
    REFUSES(ridge_learn, p->sums.c = 17, "sums");
    REFUSES(ridge_learn, p->features.n = 2, "features");
    REFUSES(ridge_learn, p->logits.h = 3, "logits");
    REFUSES(ridge_learn, p->score.n = 1, "score");
    REFUSES(ridge_learn, p->before.c = 1, "before");
    REFUSES(ridge_learn, p->after.c = 1, "after");
    REFUSES(ridge_learn, p->prompted.c = 1, "prompted");
    REFUSES(ridge_learn, p->room.c = 1, "room");
    REFUSES(ridge_learn, p->near = -1, "near");
    REFUSES(ridge_learn, p->keep = 1.5f, "keep");
    REFUSES(ridge_learn, p->far = -1, "far");
    REFUSES(ridge_learn, p->unsure = 2, "unsure");
    REFUSES(ridge_learn, p->logits.type = SAM_BF16, "logits of type f32");
    REFUSES(ridge_learn, p->room.data = p->sums.data, "sums and room");
}

// ---- what PyTorch computed

static void vectors_ridge_learn(struct vectors *v)
{
    const struct sam_tensor sums = vec_out_after(v, "sums", "old");
    sam_op_ridge_learn(&v->queue, &(struct sam_ridge_learn) {
        .sums = sums, .features = vec_in(v, "features"), .logits = vec_in(v, "logits"),
        .score = vec_in(v, "score"), .before = vec_ints(v, "before"),
        .after = vec_ints(v, "after"), .prompted = vec_ints(v, "prompted"),
        .room = vec_in(v, "room"), .near = vec_int(v, "near"), .keep = vec_number(v, "keep"),
        .far = vec_number(v, "far"), .unsure = vec_number(v, "unsure") });
}

// ---- faults

static void ridge_learn_writes_too_far(struct sam_queue *q, const struct sam_ridge_learn *p)
{
    sam_ridge_learn_ref(q, p);
    ((uint8_t *) p->sums.data)[sam_tensor_bytes(&p->sums)] ^= 1;
}

static void ridge_learn_scribbles(struct sam_queue *q, const struct sam_ridge_learn *p)
{
    sam_ridge_learn_ref(q, p);
    ((uint8_t *) p->features.data)[sam_tensor_bytes(&p->features) - 1] ^= 1;
}

CHANGED(ridge_learn, near_by_one_more, m.near++)
CHANGED(ridge_learn, keeps_less, m.keep *= 0.99f)
CHANGED(ridge_learn, far_counts, m.far *= 1.05f)
CHANGED(ridge_learn, sure_alike, m.unsure *= 1.1f)
CHANGED(ridge_learn, all_are_tracked, static int32_t zeros[8]; m.prompted.data = zeros)
CHANGED(ridge_learn, begins_anew, static int32_t none[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
        m.before.data = none)
CHANGED(ridge_learn, absent_learn, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.score.data = ones)

// Of a row that is written: the last one of all is not.
static void ridge_learn_forgets_a_number(struct sam_queue *q, const struct sam_ridge_learn *p)
{
    const size_t last = (size_t) (((const int32_t *) p->after.data)[0] + 1) * p->sums.c - 1;
    const float before = sam_load(&p->sums, last);
    sam_ridge_learn_ref(q, p);
    sam_store(&p->sums, last, before);
}

static const struct mutant mutants[] = {
    MUTANT(ridge_learn, writes_too_far),
    MUTANT(ridge_learn, scribbles),
    MUTANT(ridge_learn, forgets_a_number),
    MUTANT(ridge_learn, near_by_one_more),
    MUTANT(ridge_learn, keeps_less),
    MUTANT(ridge_learn, far_counts),
    MUTANT(ridge_learn, sure_alike),
    MUTANT(ridge_learn, all_are_tracked),
    MUTANT(ridge_learn, begins_anew),
    MUTANT(ridge_learn, absent_learn),
};

CUDA_FAULT("ridge.cu", "is_right ? «2.0f * share - 1.0f => share» : column")
CUDA_FAULT("ridge.cu", "return after[i] >= 0 && «score[i] > 0.0f => score[i] >= 0.0f»;")
CUDA_FAULT("ridge.cu", "sum += parts[«i => 0»][own];")
CUDA_FAULT("ridge.cu", "tracked = «count => 0» ? 0.0f : k.keep * tracked + sum;")
CUDA_FAULT("cells.cuh", "u < «min(x + ring + 1, w) => min(x + ring, w)»; u++")

TEST(ridge_learn, .vectors = vectors_ridge_learn, .abs = 2e-5f, .rel = 1e-4f);

// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

enum { ROWS = 12 };

// Logits of a blob, so that there are cells near and far; the last object has none.
static void draw(struct check *t, struct check_buf *logits, int n, int h, int w, bool is_empty)
{
    const float y0 = (float) h * (check_unit(t) + 1), x0 = (float) w * (check_unit(t) + 1);
    const float radius = 1 + (float) h * (check_unit(t) + 1.2f) / 3;
    for (int i = 0; i < 4 * h * w; i++) {
        const float y = (float) (i / (2 * w)) - y0, x = (float) (i % (2 * w)) - x0;
        check_set(t, logits, (size_t) n * 4 * h * w + i,
                  is_empty ? -1 : 3 * (radius - sqrtf(y * y + x * x)) + check_unit(t));
    }
}

static void run(struct check *t, int n, int h, int w, int c, int near)
{
    const float values[] = { 1.5f, 1e-20f, 2, NAN, 2 }, ious[] = { 0.6f, 0.4f, 0.9f, 0.6f, 0.7f };
    const int before[] = { 3, -1, 7, 5, 9 }, after[] = { 4, 6, 8, 2, near % 2 ? -1 : 10 };
    const int prompted[] = { 2, 1, 0, 1, 1 };
    struct check_buf *features = check_uniform(t, -2, 2, SAM_F32, 1, h, w, c);
    struct check_buf *keys = check_inout(t, SAM_F32, ROWS, 1, 1, (c + 1) * (near + h * w / 4));
    for (size_t i = 0; i < sam_count(&keys->on[0]); i++)
        check_set(t, keys, i, check_unit(t));
    struct check_buf *logits = check_uniform(t, -1, 1, SAM_F32, n, 2 * h, 2 * w, 1);
    for (int i = 0; i < n; i++)
        draw(t, logits, i, h, w, i == 4);
    struct check_buf *score = check_scores(t, n, values), *iou = check_scores(t, n, ious);
    struct check_buf *at[] = { check_list(t, n, before), check_list(t, n, after),
                               check_list(t, n, prompted) };
    struct check_buf *room = check_out(t, SAM_F32, n, h, w, 2);
    struct sam_recall_learn p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_recall_learn) {
            .keys = keys->on[s], .features = features->on[s], .logits = logits->on[s],
            .iou = iou->on[s], .score = score->on[s], .before = at[0]->on[s],
            .after = at[1]->on[s], .prompted = at[2]->on[s], .room = room->on[s],
            .ring = h / 2 % 3, .beside = 2 + near % 2, .doubted = 0.5f, .trusted = 0.75f };
        sam_op_recall_learn(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * n / ROWS * (double) sam_tensor_bytes(&keys->on[0]))
        sam_op_recall_learn(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, keys, 2e-6f, 2e-6f); // a length is of up to c squares; y of four sigmoids
    check_done(t);
}

static void check_recall_learn(struct check *t)
{
    // The last three have more near cells than keys for them, or fewer.
    static const int sides[][5] = { { 1, 2, 2, 1, 1 }, { 2, 4, 6, 5, 3 }, { 3, 10, 8, 16, 7 },
                                    { 5, 12, 18, 33, 300 }, { 5, 20, 20, 64, 16 } };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 2; k++)
            if (check_case(t, "recall_learn_%dx%dx%dx%d_%d", sides[i][0], sides[i][1], sides[i][2],
                           sides[i][3], sides[i][4] + k))
                run(t, sides[i][0], sides[i][1], sides[i][2], sides[i][3], sides[i][4] + k);
    if (check_speed(t, "recall_learn_2x40x40x64"))
        run(t, 2, 40, 40, 64, 256);
}

// ---- the front

static struct sam_recall_learn valid_recall_learn(void)
{
    return (struct sam_recall_learn) {
        .keys = f32(0, 5, 1, 1, 15), .features = f32(1, 1, 4, 4, 2), .logits = f32(2, 2, 8, 8, 1),
        .iou = f32(8, 2, 1, 1, 1), .score = f32(3, 2, 1, 1, 1), .before = i32(4, 1, 1, 1, 2),
        .after = i32(5, 1, 1, 1, 2), .prompted = i32(6, 1, 1, 1, 2), .room = f32(7, 2, 4, 4, 2),
        .ring = 1, .beside = 2, .doubted = 0.5f, .trusted = 0.75f };
}

static void fronts_recall_learn(void)
{
    TAKES(recall_learn, (void) p);
    TAKES(recall_learn, p->ring = 0);
    REFUSES(recall_learn, p->keys.c = 14, "keys");
    REFUSES(recall_learn, p->keys.c = 12, "keys"); // none for near cells
    REFUSES(recall_learn, p->features.n = 2, "features");
    REFUSES(recall_learn, p->logits.h = 6, "logits");
    REFUSES(recall_learn, p->iou.n = 1, "iou");
    REFUSES(recall_learn, p->score.n = 1, "score");
    REFUSES(recall_learn, p->before.c = 1, "before");
    REFUSES(recall_learn, p->after.c = 1, "after");
    REFUSES(recall_learn, p->prompted.c = 1, "prompted");
    REFUSES(recall_learn, p->room.c = 1, "room");
    REFUSES(recall_learn, p->ring = -1, "ring");
    REFUSES(recall_learn, p->beside = -1, "beside");
    REFUSES(recall_learn, p->trusted = p->doubted, "doubted");
    REFUSES(recall_learn, p->logits.type = SAM_BF16, "logits of type f32");
    REFUSES(recall_learn, p->room.data = p->keys.data, "keys and room");
}

// ---- what PyTorch computed

static void vectors_recall_learn(struct vectors *v)
{
    const struct sam_tensor keys = vec_out_after(v, "keys", "old");
    sam_op_recall_learn(&v->queue, &(struct sam_recall_learn) {
        .keys = keys, .features = vec_in(v, "features"), .logits = vec_in(v, "logits"),
        .iou = vec_in(v, "iou"), .score = vec_in(v, "score"), .before = vec_ints(v, "before"),
        .after = vec_ints(v, "after"), .prompted = vec_ints(v, "prompted"),
        .room = vec_in(v, "room"), .ring = vec_int(v, "ring"), .beside = vec_int(v, "beside"),
        .doubted = 0.5f, .trusted = 0.75f });
}

// ---- faults

static void recall_learn_writes_too_far(struct sam_queue *q, const struct sam_recall_learn *p)
{
    sam_recall_learn_ref(q, p);
    ((uint8_t *) p->keys.data)[sam_tensor_bytes(&p->keys)] ^= 1;
}

static void recall_learn_scribbles(struct sam_queue *q, const struct sam_recall_learn *p)
{
    sam_recall_learn_ref(q, p);
    ((uint8_t *) p->features.data)[sam_tensor_bytes(&p->features) - 1] ^= 1;
}

// Of a row that is written: the last one of all is not.
static void recall_learn_forgets_a_number(struct sam_queue *q, const struct sam_recall_learn *p)
{
    const size_t last = (size_t) (((const int32_t *) p->after.data)[0] + 1) * p->keys.c - 1;
    const float before = sam_load(&p->keys, last);
    sam_recall_learn_ref(q, p);
    sam_store(&p->keys, last, before);
}

CHANGED(recall_learn, wider_ring, m.ring++)
CHANGED(recall_learn, wider_beside, m.beside++)
CHANGED(recall_learn, trusts_sooner, m.doubted -= 0.01f)
CHANGED(recall_learn, trusts_wholly_sooner, m.trusted -= 0.01f)
CHANGED(recall_learn, never_prompted, static int32_t zeros[8]; m.prompted.data = zeros)
CHANGED(recall_learn, begins_anew, static int32_t none[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
        m.before.data = none)
CHANGED(recall_learn, absent_learn, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.score.data = ones)

static const struct mutant mutants[] = {
    MUTANT(recall_learn, writes_too_far),
    MUTANT(recall_learn, scribbles),
    MUTANT(recall_learn, forgets_a_number),
    MUTANT(recall_learn, wider_ring),
    MUTANT(recall_learn, wider_beside),
    MUTANT(recall_learn, trusts_sooner),
    MUTANT(recall_learn, trusts_wholly_sooner),
    MUTANT(recall_learn, never_prompted),
    MUTANT(recall_learn, begins_anew),
    MUTANT(recall_learn, absent_learn),
};

CUDA_FAULT("recall.cu", "seen == «(long long) stored * count / most => stored»;")
CUDA_FAULT("recall.cu", "before < 0 || «k.is_new(object) => false» ? 0.0f")
CUDA_FAULT("recall.cu", "near[first + k.w + 1])) == «-2.0f => -1.0f»)")
CUDA_FAULT("recall.cu", "= «y < 0.0f && is_beside => is_beside» ? y * trust")
CUDA_FAULT("recall.cu", "= is_beside || is_near(shares, k.h, k.w, «k.beside => k.ring», cell)")
CUDA_FAULT("recall.cu", "/ (trusted - doubted), «0.0f => -1.0f»), 1.0f)")
CUDA_FAULT("recall.cu", "/= fmaxf(«sqrtf(square) => 1.0f», 1e-12f);")

TEST(recall_learn, .vectors = vectors_recall_learn, .abs = 2e-6f, .rel = 2e-6f);

// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

// Pieces of all sizes, some that touch by their corners alone, each of them above cells that vote
// for it or against it, or both.
static void draw(struct check *t, struct check_buf *logits, struct check_buf *votes, int n, int h,
                 int w)
{
    const size_t first = (size_t) n * h * w;

    for (int i = 0; i < h * w / 4; i++)
        check_set(t, votes, first / 4 + i, check_unit(t) - 0.1f);
    for (int i = 0; i < h * w; i++)
        check_set(t, logits, first + i, check_int(t, 0, 30) ? -1 - check_unit(t) : 0);
    for (int k = check_int(t, 0, 7); k > 0; k--) {
        const int y0 = check_int(t, 0, h - 1), x0 = check_int(t, 0, w - 1);
        const int y1 = y0 + check_int(t, 0, 3 + h / 8), x1 = x0 + check_int(t, 0, 3 + w / 8);
        const float side = check_int(t, 0, 2) ? 0.7f : -0.7f;
        for (int y = y0; y <= y1 && y < h; y++)
            for (int x = x0; x <= x1 && x < w; x++) {
                check_set(t, logits, first + y * w + x, 1.5f + check_unit(t));
                check_set(t, votes, first / 4 + y / 2 * (w / 2) + x / 2,
                          side + 0.5f * check_unit(t));
            }
    }
}

// Object 0: pieces of 4 x 4 places. Votes of the first cancel out; of the second too, but for one
// thousandth; a vote of the third is no number, which counts for it. A place alone has -1 of 1024.
static void draw_limits(struct check *t, struct check_buf *logits, struct check_buf *votes, int w)
{
    static const float told[3][4] = { { 0.5f, -0.5f, 0.25f, -0.25f },
                                      { 0.5f, -0.501f, 0.25f, -0.25f },
                                      { NAN, -0.3f, -0.3f, -0.3f } };

    for (int i = 0; i < 32 * w; i++) {
        const int y = i / w, x = i % w, piece = x / 10;
        const bool is_in = y >= 4 && y < 8 && x % 10 < 4 && piece < 3;
        check_set(t, logits, (size_t) i, is_in ? 2 : -2);
        if (is_in)
            check_set(t, votes, (size_t) (y / 2 * (w / 2) + x / 2),
                      told[piece][(y - 4) / 2 * 2 + x % 10 / 2]);
    }
    check_set(t, logits, (size_t) (20 * w + 6), 1);
    check_set(t, votes, (size_t) (10 * (w / 2) + 3), -0.001f);
}

static void run(struct check *t, int n, int h, int w, float share, int turn)
{
    static const int slots[][6] = { { 1, 2, 0, 4, -1, 7 }, { 0, 1, -1, 2, 3, 5 } };
    static const float scores[] = { 3, 1e-20f, 2, 1, 5, 1 }, others[] = { 1, NAN, 1, 0, 2, 4 };
    struct check_buf *logits = check_inout(t, SAM_F32, n, h, w, 1);
    struct check_buf *votes = check_uniform(t, -1, 1, SAM_F32, n, h / 2, w / 2, 1);
    for (int i = 0; i < n; i++)
        draw(t, logits, votes, i, h, w);
    if (h == 32 && !turn)
        draw_limits(t, logits, votes, w);
    struct check_buf *score = check_scores(t, n, turn ? others : scores);
    struct check_buf *slot = check_list(t, n, slots[turn]);
    struct check_buf *room = check_out(t, SAM_I32, n, 1, 1, 2 * h * w);
    for (size_t i = 0; i < sam_count(&room->on[0]); i += 2) // what scratch holds does not matter
        check_set(t, room, i, -1);
    struct sam_drop_foreign p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_drop_foreign) {
            .logits = logits->on[s], .votes = votes->on[s], .slot = slot->on[s],
            .score = score->on[s], .room = room->on[s], .share = share, .value = -10 };
        sam_op_drop_foreign(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&logits->on[0]))
        sam_op_drop_foreign(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_same(t, logits);
    check_done(t);
}

static void check_drop_foreign(struct check *t)
{
    static const int sides[][2] = { { 2, 2 }, { 2, 18 }, { 10, 12 }, { 32, 32 }, { 38, 64 } };
    static const float shares[] = { 0, 0.2f, 0.6f };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 6; k++)
            if (check_case(t, "drop_foreign_%dx%d_%g_%d", sides[i][0], sides[i][1],
                           (double) shares[k % 3], k / 3))
                run(t, 6 - i % 2, sides[i][0], sides[i][1], shares[k % 3], k / 3);
    if (check_speed(t, "drop_foreign_6x112x112"))
        run(t, 6, 112, 112, 0.2f, 0);
}

// ---- the front

static struct sam_drop_foreign valid_drop_foreign(void)
{
    return (struct sam_drop_foreign) {
        .logits = f32(0, 2, 6, 4, 1), .votes = f32(1, 2, 3, 2, 1), .slot = i32(2, 1, 1, 1, 2),
        .score = f32(3, 2, 1, 1, 1), .room = i32(4, 2, 1, 1, 48), .share = 0.2f, .value = -10 };
}

static void fronts_drop_foreign(void)
{
    TAKES(drop_foreign, (void) p);
    TAKES(drop_foreign, p->share = p->value = 0);
    REFUSES(drop_foreign, p->logits.c = 2, "logits.c");
    REFUSES(drop_foreign, p->logits.type = SAM_BF16, "logits of type f32");
    REFUSES(drop_foreign, p->logits.h = 5, "h % 2");
    REFUSES(drop_foreign, p->logits.w = 5, "w % 2");
    REFUSES(drop_foreign, p->votes.h = 6, "votes");
    REFUSES(drop_foreign, p->slot.c = 1, "slot");
    REFUSES(drop_foreign, p->score.n = 1, "score");
    REFUSES(drop_foreign, p->room.c = 47, "room");
    REFUSES(drop_foreign, p->share = -1, "share");
    REFUSES(drop_foreign, p->value = 1, "value");
    REFUSES(drop_foreign, p->room.data = p->votes.data, "room and votes");
}

// ---- what PyTorch computed

static void vectors_drop_foreign(struct vectors *v)
{
    const struct sam_tensor logits = vec_out_after(v, "logits", "before");
    struct sam_tensor room = vec_in(v, "room");
    room.type = SAM_I32; // scratch: what it holds does not matter
    sam_op_drop_foreign(&v->queue, &(struct sam_drop_foreign) {
        .logits = logits, .votes = vec_in(v, "votes"), .slot = vec_ints(v, "slot"),
        .score = vec_in(v, "score"), .room = room, .share = vec_number(v, "share"),
        .value = vec_number(v, "value") });
}

// ---- faults

static void drop_foreign_writes_too_far(struct sam_queue *q, const struct sam_drop_foreign *p)
{
    sam_drop_foreign_ref(q, p);
    ((uint8_t *) p->logits.data)[sam_tensor_bytes(&p->logits)] ^= 1;
}

static void drop_foreign_scribbles(struct sam_queue *q, const struct sam_drop_foreign *p)
{
    sam_drop_foreign_ref(q, p);
    ((uint8_t *) p->votes.data)[sam_tensor_bytes(&p->votes) - 1] ^= 1;
}

CHANGED(drop_foreign, wants_more, m.share += 0.2f)
CHANGED(drop_foreign, another_value, m.value = -9)
CHANGED(drop_foreign, drops_none, m.share = 2)
CHANGED(drop_foreign, knows_all, static int32_t zeros[8]; m.slot.data = zeros)
CHANGED(drop_foreign, absent_too, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.score.data = ones)

static const struct mutant mutants[] = {
    MUTANT(drop_foreign, writes_too_far),
    MUTANT(drop_foreign, scribbles),
    MUTANT(drop_foreign, wants_more),
    MUTANT(drop_foreign, another_value),
    MUTANT(drop_foreign, drops_none),
    MUTANT(drop_foreign, knows_all),
    MUTANT(drop_foreign, absent_too),
};

CUDA_FAULT("drop_foreign.cu", "return «slot[object] >= 0 => true» && score")
CUDA_FAULT("drop_foreign.cu", "«score[object] > 0.0f => true»;")
CUDA_FAULT("drop_foreign.cu", "votes[object * (places / 4) + «place / w / 2 => place / w»")
CUDA_FAULT("drop_foreign.cu", "fmaxf(«fminf(v, 1.0f) => v», -1.0f)")
CUDA_FAULT("drop_foreign.cu", "__ldcg(sum + root_of(label, i)) >= «0 => 1»;")
CUDA_FAULT("components.cuh", "label[k.places + place] = «0 => 1»;")

TEST(drop_foreign, .vectors = vectors_drop_foreign);

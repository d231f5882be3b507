// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

enum { ROWS = 12 };

// Pieces of all sizes: rectangles, and single places; some touch by their corners alone.
static void draw(struct check *t, struct check_buf *logits, int n, int h, int w)
{
    const size_t first = (size_t) n * h * w;

    for (int i = 0; i < h * w; i++)
        check_set(t, logits, first + i, check_int(t, 0, 30) ? -1 - check_unit(t) : 0);
    for (int k = check_int(t, 0, 7); k > 0; k--) {
        const int y0 = check_int(t, 0, h - 1), x0 = check_int(t, 0, w - 1);
        const int y1 = y0 + check_int(t, 0, 3 + h / 8), x1 = x0 + check_int(t, 0, 3 + w / 8);
        for (int y = y0; y <= y1 && y < h; y++)
            for (int x = x0; x <= x1 && x < w; x++)
                check_set(t, logits, first + y * w + x, 1.5f + check_unit(t));
    }
}

// Rows of boxes: of a few places, of half of the map, none, and what a damaged file may hold.
static void set_boxes(struct check *t, struct check_buf *boxes, int h, int w)
{
    for (int r = 0; r < ROWS; r++) {
        const int x0 = check_int(t, 0, w - 1), y0 = check_int(t, 0, h - 1);
        const int x1 = check_int(t, x0 + 1, w), y1 = check_int(t, y0 + 1, h);
        const int area = r % 3 ? check_int(t, 1, 1 + (x1 - x0) * (y1 - y0)) : 0;
        const float row[] = { (float) x0, (float) y0, (float) x1, (float) y1, (float) area };
        for (int i = 0; i < SAM_BOX_ROW; i++)
            check_set(t, boxes, (size_t) r * SAM_BOX_ROW + i, row[i]);
    }
    check_set(t, boxes, 7 * SAM_BOX_ROW, NAN);
    check_set(t, boxes, 8 * SAM_BOX_ROW + 4, INFINITY);
}

// Of object 0 a piece that is just as large as half of an area asks for, and two just too far.
static void draw_limits(struct check *t, struct check_buf *logits, struct check_buf *boxes, int row,
                        int h, int w, float reach)
{
    static const float box[] = { 4, 4, 12, 12, 32 };
    const int far = 12 + (int) floorf(8 * reach) + 2;

    for (int i = 0; i < SAM_BOX_ROW; i++)
        check_set(t, boxes, (size_t) row * SAM_BOX_ROW + i, box[i]);
    for (int i = 0; i < h * w; i++) {
        const int y = i / w, x = i % w;
        const bool is_in = (y >= 6 && y < 10 && x >= 5 && x < 9) || (y == 6 && x >= far) ||
                           (x == 6 && y >= far);
        check_set(t, logits, (size_t) i, is_in ? 2 : -2);
    }
}

static void run(struct check *t, int n, int h, int w, float reach, float share, int turn)
{
    static const int before[][6] = { { 1, 2, -1, 4, 5, 7 }, { 8, 1, 4, 2, 0, 5 } };
    static const int after[][6] = { { 3, 0, 6, 9, -1, 10 }, { 11, 9, 10, 3, 7, -1 } };
    static const int prompted[][6] = { { 0, 0, 0, 1, 0, 0 }, { 0, 0, 2, 0, 0, 0 } };
    static const float scores[] = { 3, 1e-20f, 2, 1, 5, 1 }, others[] = { 1, NAN, 1, 0, 2, 4 };
    struct check_buf *logits = check_inout(t, SAM_F32, n, h, w, 1);
    for (int i = 0; i < n; i++)
        draw(t, logits, i, h, w);
    struct check_buf *boxes = check_inout(t, SAM_F32, ROWS, 1, 1, SAM_BOX_ROW);
    set_boxes(t, boxes, h, w);
    if (h == 32 && !turn)
        draw_limits(t, logits, boxes, before[turn][0], h, w, reach);
    struct check_buf *score = check_scores(t, n, turn ? others : scores);
    struct check_buf *at[] = { check_list(t, n, before[turn]), check_list(t, n, after[turn]),
                               check_list(t, n, prompted[turn]) };
    struct check_buf *room = check_out(t, SAM_I32, n, 1, 1, 2 * h * w);
    for (size_t i = 0; i < sam_count(&room->on[0]); i += 2) // what scratch holds does not matter
        check_set(t, room, i, -1);
    struct sam_keep_near p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_keep_near) {
            .logits = logits->on[s], .boxes = boxes->on[s], .score = score->on[s],
            .before = at[0]->on[s], .after = at[1]->on[s], .prompted = at[2]->on[s],
            .room = room->on[s], .reach = reach, .least = 2, .share = share, .value = -10 };
        sam_op_keep_near(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&logits->on[0]))
        sam_op_keep_near(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_same(t, logits);
    check_same(t, boxes);
    check_done(t);
}

static void check_keep_near(struct check *t)
{
    static const int sides[][2] = { { 1, 1 }, { 1, 19 }, { 9, 12 }, { 32, 32 }, { 37, 64 } };
    static const float reaches[] = { 0, 0.125f, 1 }, shares[] = { 0, 0.5f };
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 12; k++) {
            const float reach = reaches[k % 3], share = shares[k / 3 % 2];
            if (check_case(t, "keep_near_%dx%d_%g_%g_%d", sides[i][0], sides[i][1], (double) reach,
                           (double) share, k / 6))
                run(t, 6 - i % 2, sides[i][0], sides[i][1], reach, share, k / 6);
        }
    if (check_speed(t, "keep_near_6x112x112"))
        run(t, 6, 112, 112, 0.125f, 0.2f, 0);
}

// ---- the front

static struct sam_keep_near valid_keep_near(void)
{
    return (struct sam_keep_near) {
        .logits = f32(0, 2, 3, 4, 1), .boxes = f32(1, 5, 1, 1, SAM_BOX_ROW),
        .score = f32(2, 2, 1, 1, 1), .before = i32(3, 1, 1, 1, 2), .after = i32(4, 1, 1, 1, 2),
        .prompted = i32(5, 1, 1, 1, 2), .room = i32(6, 2, 1, 1, 24), .reach = 0.125f, .least = 2,
        .share = 0.2f, .value = -10 };
}

static void fronts_keep_near(void)
{
    TAKES(keep_near, (void) p);
    TAKES(keep_near, p->reach = p->least = p->share = p->value = 0);
    REFUSES(keep_near, p->logits.c = 2, "logits.c");
    REFUSES(keep_near, p->logits.type = SAM_BF16, "logits of type f32");
    REFUSES(keep_near, p->boxes.c = 4, "boxes");
    REFUSES(keep_near, p->score.n = 1, "score");
    REFUSES(keep_near, p->before.c = 1, "before");
    REFUSES(keep_near, p->after.c = 1, "after");
    REFUSES(keep_near, p->prompted.c = 1, "prompted");
    REFUSES(keep_near, p->room.c = 23, "room");
    REFUSES(keep_near, p->reach = -1, "reach");
    REFUSES(keep_near, p->least = -1, "least");
    REFUSES(keep_near, p->share = -1, "share");
    REFUSES(keep_near, p->value = 1, "value");
    REFUSES(keep_near, p->room.data = p->boxes.data, "boxes and room");
}

// ---- what PyTorch computed

static void vectors_keep_near(struct vectors *v)
{
    const struct sam_tensor logits = vec_out_after(v, "logits", "before_logits");
    const struct sam_tensor boxes = vec_out_after(v, "boxes", "before_boxes");
    struct sam_tensor room = vec_in(v, "room");
    room.type = SAM_I32; // scratch: what it holds does not matter
    sam_op_keep_near(&v->queue, &(struct sam_keep_near) {
        .logits = logits, .boxes = boxes, .score = vec_in(v, "score"),
        .before = vec_ints(v, "before"), .after = vec_ints(v, "after"),
        .prompted = vec_ints(v, "prompted"), .room = room, .reach = vec_number(v, "reach"),
        .least = vec_number(v, "least"), .share = vec_number(v, "share"),
        .value = vec_number(v, "value") });
}

// ---- faults

static void keep_near_writes_too_far(struct sam_queue *q, const struct sam_keep_near *p)
{
    sam_keep_near_ref(q, p);
    ((uint8_t *) p->logits.data)[sam_tensor_bytes(&p->logits)] ^= 1;
}

static void keep_near_scribbles(struct sam_queue *q, const struct sam_keep_near *p)
{
    sam_keep_near_ref(q, p);
    ((uint8_t *) p->score.data)[sam_tensor_bytes(&p->score) - 1] ^= 1;
}

// Of a row that is written: the last one of all is not.
static void keep_near_forgets_a_number(struct sam_queue *q, const struct sam_keep_near *p)
{
    const size_t last = (size_t) (((const int32_t *) p->after.data)[0] + 1) * p->boxes.c - 1;
    const float before = sam_load(&p->boxes, last);
    sam_keep_near_ref(q, p);
    sam_store(&p->boxes, last, before);
}

CHANGED(keep_near, reaches_further, m.reach += 0.15f)
CHANGED(keep_near, one_more_place, m.least++)
CHANGED(keep_near, wants_more, m.share += 0.2f)
CHANGED(keep_near, another_value, m.value = -9)
CHANGED(keep_near, never_prompted, static int32_t zeros[8]; m.prompted.data = zeros)
CHANGED(keep_near, knows_no_box, static int32_t none[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
        m.before.data = none)
CHANGED(keep_near, writes_no_box, static int32_t none[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
        m.after.data = none)
CHANGED(keep_near, absent_too, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.score.data = ones)

static const struct mutant mutants[] = {
    MUTANT(keep_near, writes_too_far),
    MUTANT(keep_near, scribbles),
    MUTANT(keep_near, forgets_a_number),
    MUTANT(keep_near, reaches_further),
    MUTANT(keep_near, one_more_place),
    MUTANT(keep_near, wants_more),
    MUTANT(keep_near, another_value),
    MUTANT(keep_near, never_prompted),
    MUTANT(keep_near, knows_no_box),
    MUTANT(keep_near, writes_no_box),
    MUTANT(keep_near, absent_too),
};

CUDA_FAULT("keep_near.cu", "b.x0 - reach && «(float) x < b.x1 + reach => true» && (float) y")
CUDA_FAULT("keep_near.cu", "«(float) y < b.y1 + reach => (float) y <= b.y1 + reach»;")
CUDA_FAULT("keep_near.cu", "score[object] > 0.0f && «!prompted[object] => true» && last")
CUDA_FAULT("keep_near.cu", "if («!all->near => false» || !((float) all->near >=")
CUDA_FAULT("components.cuh", "label[k.places + place] = «0 => 1»;")
CUDA_FAULT("keep_near.cu", "x1 = max(x1, «x + 1 => x»)")
CUDA_FAULT("components.cuh", "if (x > 0 && «is_member(label, place - 1) => false»)")

TEST(keep_near, .vectors = vectors_keep_near);

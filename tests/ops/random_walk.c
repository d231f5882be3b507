// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

struct shape {
    int n, h, w, x0, y0, x1, y1;
};

static void run(struct check *t, const struct shape *k, int rounds, float fidelity)
{
    const int n = k->n, h = k->h, w = k->w;
    const float values[] = { check_unit(t) + 1.5f, 1e-20f, 0, NAN, -1 };
    struct check_buf *logits = check_inout(t, SAM_F32, n, h, w, 1);
    // Sure places, of either sign and beyond what e^x holds, between unsure ones.
    for (int i = 0; i < n * h * w; i++) {
        const float r = check_unit(t);
        const int kind = check_int(t, 0, 9);
        check_set(t, logits, (size_t) i, kind == 0 ? 1024 * r : kind < 5 ? 20 * r : 3 * r);
    }
    struct check_buf *edges = check_uniform(t, 1e-5f, 1, SAM_F32, 2, h, w, 1);
    for (int y = 0; y < h; y++) // there is nothing to the right of the last column
        check_set(t, edges, (size_t) (y * w + w - 1), 0);
    for (int x = 0; x < w; x++)
        check_set(t, edges, (size_t) (h * w + (h - 1) * w + x), 0);
    struct check_buf *score = check_scores(t, n, values);
    struct check_buf *room = check_out(t, SAM_F32, n, h, w, 2);
    struct sam_random_walk p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_random_walk) {
            .logits = logits->on[s], .edges = edges->on[s], .score = score->on[s],
            .room = room->on[s], .x0 = k->x0, .y0 = k->y0, .x1 = k->x1, .y1 = k->y1,
            .fidelity = fidelity, .relaxation = 1.5f, .outside = -0.8f, .most = 0.9999f,
            .rounds = rounds };
        sam_op_random_walk(&t->queue[s], &p[s]);
    }
    check_bytes(t, 20.0 * (double) sam_tensor_bytes(&room->on[0]))
        sam_op_random_walk(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // 2 artanh turns a last bit of its x, which some steps make four, by up to 10^4.
    check_near(t, logits, 6e-3f, 1e-5f);
    check_done(t);
}

static void check_random_walk(struct check *t)
{
    static const struct shape shapes[] = {
        { 1, 1, 1, 0, 0, 1, 1 }, { 2, 1, 19, 0, 0, 19, 1 }, { 3, 9, 1, 0, 0, 1, 9 },
        { 5, 16, 16, 0, 0, 16, 16 }, { 2, 11, 23, 3, 2, 20, 10 }, { 1, 24, 40, 1, 0, 40, 23 },
        { 2, 33, 50, 0, 5, 49, 33 }, { 1, 7, 35, 34, 6, 35, 7 },
    };
    for (int i = 0; i < 8; i++)
        for (int rounds = 0; rounds < 11; rounds += i % 2 ? 10 : 3)
            if (check_case(t, "random_walk_%dx%dx%d_%d", shapes[i].n, shapes[i].h, shapes[i].w,
                           rounds))
                run(t, &shapes[i], rounds, i % 3 ? 0.05f : 2);
    if (check_speed(t, "random_walk_8x80x80"))
        run(t, &(struct shape) { 2, 80, 80, 0, 0, 80, 80 }, 10, 0.05f);
}

// ---- the front

static struct sam_random_walk valid_random_walk(void)
{
    return (struct sam_random_walk) {
        .logits = f32(0, 2, 3, 4, 1), .edges = f32(1, 2, 3, 4, 1), .score = f32(2, 2, 1, 1, 1),
        .room = f32(3, 2, 3, 4, 2), .x1 = 4, .y1 = 3, .fidelity = 0.05f, .relaxation = 1.5f,
        .outside = -0.8f, .most = 0.9999f, .rounds = 10 };
}

static void fronts_random_walk(void)
{
    TAKES(random_walk, (void) p);
    TAKES(random_walk, p->x0 = 3; p->y0 = 2);
    TAKES(random_walk, p->rounds = 0);
    REFUSES(random_walk, p->logits.c = 2, "logits");
    REFUSES(random_walk, p->logits.type = SAM_BF16, "logits of type f32");
    REFUSES(random_walk, p->edges.n = 1, "edges");
    REFUSES(random_walk, p->score.n = 1, "score");
    REFUSES(random_walk, p->room.c = 1, "room");
    REFUSES(random_walk, p->x1 = 5, "x1");
    REFUSES(random_walk, p->x0 = 4, "x0");
    REFUSES(random_walk, p->y0 = -1, "y0");
    REFUSES(random_walk, p->y1 = 0, "y1");
    REFUSES(random_walk, p->fidelity = 0, "fidelity");
    REFUSES(random_walk, p->relaxation = 2, "relaxation");
    REFUSES(random_walk, p->outside = -1.5f, "outside");
    REFUSES(random_walk, p->most = 1, "most");
    REFUSES(random_walk, p->rounds = -1, "rounds");
    REFUSES(random_walk, p->room.data = p->edges.data, "room and edges");
}

// ---- what PyTorch computed

static void vectors_random_walk(struct vectors *v)
{
    const struct sam_tensor logits = vec_out_after(v, "logits", "before");
    const struct sam_tensor room = vec_in(v, "room");
    sam_op_random_walk(&v->queue, &(struct sam_random_walk) {
        .logits = logits, .edges = vec_in(v, "edges"), .score = vec_in(v, "score"), .room = room,
        .x0 = vec_int(v, "x0"), .y0 = vec_int(v, "y0"), .x1 = vec_int(v, "x1"),
        .y1 = vec_int(v, "y1"), .fidelity = vec_number(v, "fidelity"),
        .relaxation = vec_number(v, "relaxation"), .outside = vec_number(v, "outside"),
        .most = vec_number(v, "most"), .rounds = vec_int(v, "rounds") });
}

// ---- faults

COMMON(random_walk, logits, edges)
CHANGED(random_walk, one_round_more, m.rounds++)
CHANGED(random_walk, less_faithful, m.fidelity *= 0.98f)
CHANGED(random_walk, less_relaxed, m.relaxation *= 0.99f)
CHANGED(random_walk, all_free, m.x0 = m.y0 = 0; m.x1 = m.logits.w; m.y1 = m.logits.h)
CHANGED(random_walk, nothing_outside, m.outside = 0)
CHANGED(random_walk, surer, m.most = 0.99995f)

static void random_walk_absent_walk(struct sam_queue *q, const struct sam_random_walk *p)
{
    struct sam_random_walk m = *p;
    static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    m.score.data = ones;
    sam_random_walk_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(random_walk),
    MUTANT(random_walk, one_round_more),
    MUTANT(random_walk, less_faithful),
    MUTANT(random_walk, less_relaxed),
    MUTANT(random_walk, all_free),
    MUTANT(random_walk, nothing_outside),
    MUTANT(random_walk, surer),
    MUTANT(random_walk, absent_walk),
};

CUDA_FAULT("random_walk.cu",
           "if (!(«k.score[blockIdx.x] > 0.0f => k.score[blockIdx.x] >= 0.0f»)) // all")
CUDA_FAULT("random_walk.cu", "sum += «y + 1 < h => false» ? down[i] * now[i + w] : 0.0f;")
CUDA_FAULT("random_walk.cu", "x = k.x0 + («k.x0 + y + turn => y + turn») % 2", "11x23_3")
CUDA_FAULT("random_walk.cu", "return x >= x0 && «x < x1 => x <= x1» && y >= y0", "11x23_3")

TEST(random_walk, .vectors = vectors_random_walk, .abs = 6e-3f, .rel = 1e-5f);

#include <math.h>

#include "test.h"

enum { NOISE, TIES, EQUAL, AWKWARD, ASCENDING, KINDS };

static float draw(struct check *t, int kind, int i)
{
    static const float awkward[] = { 0, -0.0f, INFINITY, -INFINITY, NAN, 1e-42f, -1e-42f, 1, -1 };
    switch (kind) {
    case TIES:      return (float) check_int(t, -3, 3) / 4;
    case EQUAL:     return 0.5f;
    case AWKWARD:   return awkward[check_int(t, 0, 8)];
    case ASCENDING: return (float) i;
    default:        return check_unit(t);
    }
}

static void run(struct check *t, int n, int count, int k, float threshold)
{
    struct check_buf *src = check_in(t, SAM_F32, n, 1, 1, count);
    for (int i = 0; i < n; i++) {
        const int kind = t->bench ? NOISE : check_int(t, 0, KINDS - 1);
        for (int j = 0; j < count; j++)
            check_set(t, src, (size_t) i * count + j, draw(t, kind, j));
    }
    struct check_buf *index = check_out(t, SAM_I32, n, 1, 1, k);
    struct check_buf *score = check_out(t, SAM_F32, n, 1, 1, k);
    struct check_buf *num = check_out(t, SAM_I32, 1, 1, 1, n);
    struct check_buf *room = check_out(t, SAM_I32, n, 1, 1, 2 * (count + k + 1));
    struct sam_topk p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_topk) { index->on[s], score->on[s], num->on[s], src->on[s],
                                   room->on[s], threshold };
        sam_op_topk(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]))
        sam_op_topk(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_same(t, index);
    check_same(t, num);
    check_same(t, score);
    check_done(t);
}

static void check_topk(struct check *t)
{
    static const int counts[] = { 1, 2, 31, 257, 1024, 1025, 8400, 40000 };
    static const int ks[] = { 1, 2, 33, 300, 1300 };
    static const float thresholds[] = { -INFINITY, 0, 0.5f, 2 };
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 5; j++) {
            const bool large = counts[i] > 8000; // half a million steps of the emulator each
            const int n = large ? 1 : 1 + (i + j) % 3;
            if ((!large || j % 3 == 0) && check_case(t, "topk_%dx%d_k%d", n, counts[i], ks[j]))
                run(t, n, counts[i], ks[j], thresholds[(i + j) % 4]);
        }
    for (int i = 0; i < 24; i++)
        if (check_case(t, "topk_any_%d", i))
            run(t, check_int(t, 1, 4), check_int(t, 1, 700), check_int(t, 1, 500),
                thresholds[i % 4]);
    if (check_speed(t, "topk_24000_k300"))
        run(t, 1, 24000, 300, -INFINITY);
}

// ---- the front

static struct sam_topk valid_topk(void)
{
    return (struct sam_topk) { i32(0, 2, 1, 1, 3), f32(1, 2, 1, 1, 3), i32(2, 1, 1, 1, 2),
                               f32(3, 2, 1, 1, 9), i32(4, 2, 1, 1, 26), 0.5f };
}

static void fronts_topk(void)
{
    TAKES(topk, (void) p);
    TAKES(topk, p->threshold = -1e30f);
    REFUSES(topk, p->index.c = 2, "score");
    REFUSES(topk, p->score.n = 1, "score");
    REFUSES(topk, p->num.c = 1, "num");
    REFUSES(topk, p->src.w = 2, "src");
    REFUSES(topk, p->room.c = 25, "room");
    REFUSES(topk, p->room.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_topk(struct vectors *v)
{
    struct sam_tensor index = vec_out(v, "index"), num = vec_out(v, "num");
    struct sam_tensor room = vec_in(v, "room");
    int32_t *whole[] = { index.data, num.data };
    index.type = num.type = room.type = SAM_I32;
    sam_op_topk(&v->queue, &(struct sam_topk) {
        index, vec_out(v, "score"), num, vec_in(v, "src"), room, vec_number(v, "threshold") });
    for (size_t i = 0; whole[0] && i < sam_count(&index); i++) // stored as floats
        ((float *) index.data)[i] = (float) whole[0][i];
    for (size_t i = 0; whole[1] && i < sam_count(&num); i++)
        ((float *) num.data)[i] = (float) whole[1][i];
}

// ---- faults

COMMON(topk, index, src)

// The last of equal ones first.
static void topk_last_of_a_tie(struct sam_queue *q, const struct sam_topk *p)
{
    sam_topk_ref(q, p);
    int32_t *index = p->index.data;
    const float *score = p->score.data;
    for (int i = 0; i + 1 < p->index.c; i++)
        if (index[i] >= 0 && index[i + 1] >= 0 && score[i] == score[i + 1]) {
            const int32_t first = index[i];
            index[i] = index[i + 1];
            index[i + 1] = first;
            return;
        }
}

CHANGED(topk, equal_is_above, m.threshold = nextafterf(m.threshold, -INFINITY))
CHANGED(topk, no_threshold, m.threshold = -INFINITY)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(topk),
    MUTANT(topk, last_of_a_tie),
    MUTANT(topk, equal_is_above),
    MUTANT(topk, no_threshold),
};

CUDA_FAULT("topk.cu", "is_above = i < p.count && «number > p.threshold => number >= p.threshold»;")
CUDA_FAULT("topk.cu", "__float_as_uint(«number + 0.0f => number»)")
CUDA_FAULT("topk.cu", "for (; «bins[digit] < left => bins[digit] <= left»; digit--)")
CUDA_FAULT("topk.cu", "rank += «survivors[j] > own => survivors[j] >= own»;")

TEST(topk, .vectors = vectors_topk);

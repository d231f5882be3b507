// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "test.h"

enum { NOISE, TIES, EQUAL, AWKWARD, ASCENDING, DESCENDING, ALL_NAN, SUBNORMAL, KINDS };

static float draw(struct check *t, int kind, int i)
{
    static const float awkward[] = { 0, -0.0f, INFINITY, -INFINITY, NAN, 1e-42f, -1e-42f, 1, -1 };
    switch (kind) {
    case TIES:      return (float) check_int(t, -3, 3) / 4;
    case EQUAL:     return 0.5f;
    case AWKWARD:   return awkward[check_int(t, 0, 8)];
    case ASCENDING: return (float) i;
    case DESCENDING: return (float) -i;
    case ALL_NAN:   return NAN;
    case SUBNORMAL: return (float) check_int(t, -5, 5) * 1e-45f;
    default:        return check_unit(t);
    }
}

// ---- the same by sorting

struct entry {
    float number;
    int place;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (isnan(x->number) != isnan(y->number))
        return isnan(x->number) ? 1 : -1;
    if (x->number != y->number && !isnan(x->number))
        return x->number > y->number ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

// What the operation must give, by a sort of all; of the places in the result alone.
static void compare_with_sort(struct check *t, const struct sam_topk *p, const float *src)
{
    const int count = p->src.c, k = p->index.c;
    struct entry *entry = malloc((size_t) count * sizeof(*entry));
    int num = 0;
    for (int i = 0; i < count; i++)
        if (p->all || src[i] > p->threshold)
            entry[num++] = (struct entry) { src[i], i };
    qsort(entry, (size_t) num, sizeof(*entry), compare_entries);
    for (int i = 0; i < k; i++) {
        const int want = i < num ? entry[i].place : -1, got = ((const int32_t *) p->index.data)[i];
        if (got != want) {
            check_fail(t, "place %d is %d, by sorting %d", i, got, want);
            break;
        }
    }
    free(entry);
}

static void run(struct check *t, int n, int count, int k, float threshold, bool all)
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
                                   room->on[s], threshold, all };
        sam_op_topk(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]))
        sam_op_topk(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    for (int i = 0; i < n && !t->bench; i++) {
        struct sam_topk one = p[CHECK_REF];
        one.index = shifted(index->host[CHECK_REF], (size_t) i * k);
        compare_with_sort(t, &one, (const float *) src->host[CHECK_REF].data + (size_t) i * count);
    }
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
                run(t, n, counts[i], ks[j], thresholds[(i + j) % 4], false);
            if ((!large || j % 3 == 0) && ks[j] <= counts[i] &&
                check_case(t, "topk_all_%dx%d_k%d", n, counts[i], ks[j]))
                run(t, n, counts[i], ks[j], thresholds[(i + j) % 4], true);
        }
    for (int i = 0; i < 24; i++)
        if (check_case(t, "topk_any_%d", i))
            run(t, check_int(t, 1, 4), check_int(t, 1, 700), check_int(t, 1, 500),
                thresholds[i % 4], false);
    for (int i = 0; i < 48; i++)
        if (check_case(t, "topk_all_any_%d", i)) {
            const int n = check_int(t, 1, 4), count = check_int(t, 1, 700);
            run(t, n, count, i % 3 ? check_int(t, 1, count) : count, 0, true);
        }
    if (check_case(t, "topk_sorts_8400"))
        run(t, 1, 8400, 8400, 0, true);
    if (check_speed(t, "topk_8400_k300"))
        run(t, 1, 8400, 300, -INFINITY, false);
    if (check_speed(t, "topk_24000_k300"))
        run(t, 1, 24000, 300, -INFINITY, false);
}

// ---- the front

static struct sam_topk valid_topk(void)
{
    return (struct sam_topk) { i32(0, 2, 1, 1, 3), f32(1, 2, 1, 1, 3), i32(2, 1, 1, 1, 2),
                               f32(3, 2, 1, 1, 9), i32(4, 2, 1, 1, 26), 0.5f, false };
}

static void fronts_topk(void)
{
    TAKES(topk, (void) p);
    TAKES(topk, p->threshold = -1e30f);
    TAKES(topk, p->all = true);
    TAKES(topk, p->src.c = 2; p->room.c = 12);
    REFUSES(topk, p->all = true; p->src.c = 2; p->room.c = 12, "k <= p->src.c");
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
        index, vec_out(v, "score"), num, vec_in(v, "src"), room, vec_number(v, "threshold"),
        vec_int(v, "all") });
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
CHANGED(topk, never_all, m.all = false)
CHANGED(topk, all_but_nan, if (m.all) m.all = false, m.threshold = -INFINITY)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(topk),
    MUTANT(topk, last_of_a_tie),
    MUTANT(topk, equal_is_above),
    MUTANT(topk, no_threshold),
    MUTANT(topk, never_all),
    MUTANT(topk, all_but_nan),
};

CUDA_FAULT("topk.cu", "|| «number > p.threshold => number >= p.threshold»);")
CUDA_FAULT("topk.cu", "(«p.all => false» ||")
CUDA_FAULT("topk.cu", "order = «number != number => false» ? 0u :")
CUDA_FAULT("topk.cu", "__float_as_uint(«number + 0.0f => number»)")
CUDA_FAULT("topk.cu", "for (; «bins[digit] < left => bins[digit] <= left»; digit--)")
CUDA_FAULT("topk.cu", "rank += «survivors[j] > own => survivors[j] >= own»;")

TEST(topk, .vectors = vectors_topk);

#include <math.h>

#include "check.h"

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

void check_topk(struct check *t)
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

#include "check.h"

// Mask 0 of object n gets `likely` pixels above -delta, of them `sure` above delta, and some
// exactly at the thresholds, where "above" is strict.
static void set_stability(struct check *t, struct check_buf *masks, int n, int pixels, int sure,
                          int likely)
{
    for (int i = 0; i < pixels; i++) {
        const float v = i < sure ? 0.06f : i < likely ? (i % 2 ? 0.05f : -0.04f)
                                                      : (i % 2 ? -0.05f : -3.0f);
        check_set(t, masks, (size_t) n * 4 * pixels + i, v);
    }
}

static void run(struct check *t, enum sam_type type, int n, int pixels, int d)
{
    struct check_buf *masks  = check_in(t, SAM_F32, n, 1, 4, pixels);
    struct check_buf *tokens = check_in(t, type, n, 1, 4, d);
    struct check_buf *ious   = check_uniform(t, 0, 1, SAM_F32, n, 1, 1, 4);
    struct check_buf *score  = check_uniform(t, -1, 3, SAM_F32, n, 1, 1, 1);
    struct check_buf *multi  = check_ints(t, 0, 1, 1, 1, 1, n);
    for (int i = 0; i < n; i++) {
        // 49 of 50 is 0.98: the threshold itself, which counts as stable; 48 does not.
        const int likely = pixels >= 50 ? 50 : pixels, kind = check_int(t, 0, 4);
        if (kind == 0)
            set_stability(t, masks, i, pixels, 0, 0); // nothing above: stable
        else if (kind <= 3)
            set_stability(t, masks, i, pixels, likely - kind + 1, likely);
        if (check_int(t, 0, 1)) // a tie goes to the first
            check_set(t, ious, (size_t) i * 4 + 3, 0.99f);
        if (check_int(t, 0, 1))
            check_set(t, ious, (size_t) i * 4 + 2, 0.99f);
        if (check_int(t, 0, 1)) // the best of all, but no candidate
            check_set(t, ious, (size_t) i * 4, 1.5f);
        if (!check_int(t, 0, 3)) // 0 is absent
            check_set(t, score, (size_t) i, 0);
    }
    struct check_buf *low_res = check_out(t, SAM_F32, n, 1, 1, pixels);
    struct check_buf *token   = check_out(t, type, n, 1, 1, d);
    struct check_buf *iou     = check_out(t, SAM_F32, n, 1, 1, 1);
    check_each_side(t, s)
        sam_op_select_mask(&t->queue[s], &(struct sam_select_mask) {
            .low_res = low_res->on[s], .token = token->on[s], .iou = iou->on[s],
            .masks = masks->on[s], .tokens = tokens->on[s], .ious = ious->on[s],
            .score = score->on[s], .multimask = multi->on[s], .delta = 0.05f,
            .threshold = 0.98f });
    check_near(t, low_res, 0, 0);
    check_near(t, token, 0, 0);
    check_near(t, iou, 0, 0);
    check_done(t);
}

void check_select_mask(struct check *t)
{
    for (int i = 0; i < 24; i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            if (check_case(t, "select_mask_%s_%d", bf16 ? "bf16" : "f32", i))
                run(t, bf16 ? SAM_BF16 : SAM_F32, check_int(t, 1, 5),
                    i < 2 ? 1 : check_int(t, 50, 400), i < 2 ? 1 : check_int(t, 1, 260));
}

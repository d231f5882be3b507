// SPDX-License-Identifier: MIT
#include "test.h"

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

static void check_select_mask(struct check *t)
{
    for (int i = 0; i < 24; i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            if (check_case(t, "select_mask_%s_%d", bf16 ? "bf16" : "f32", i))
                run(t, bf16 ? SAM_BF16 : SAM_F32, check_int(t, 1, 5),
                    i < 2 ? 1 : check_int(t, 50, 400), i < 2 ? 1 : check_int(t, 1, 260));
}

// ---- the front

static struct sam_select_mask valid_select_mask(void)
{
    return (struct sam_select_mask) { f32(0, 2, 1, 1, 9), f32(1, 2, 1, 1, 5), f32(2, 2, 1, 1, 1),
                                      f32(3, 2, 1, 4, 9), f32(4, 2, 1, 4, 5), f32(5, 2, 1, 1, 4),
                                      f32(6, 2, 1, 1, 1), i32(7, 1, 1, 1, 2), 0.05f, 0.98f };
}

static void fronts_select_mask(void)
{
    TAKES(select_mask, (void) p);
    REFUSES(select_mask, p->masks.w = 3, "masks");
    REFUSES(select_mask, p->low_res.n = 1, "low_res");
    REFUSES(select_mask, p->token.type = SAM_BF16, "token.type");
    REFUSES(select_mask, p->tokens.c = 4, "tokens");
    REFUSES(select_mask, p->ious.c = 3, "ious");
    REFUSES(select_mask, p->iou.c = 4, "iou");
    REFUSES(select_mask, p->score.n = 1, "score");
    REFUSES(select_mask, p->multimask.c = 1, "multimask");
    REFUSES(select_mask, p->token.data = p->iou.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_select_mask(struct vectors *v)
{
    sam_op_select_mask(&v->queue, &(struct sam_select_mask) {
        .low_res = vec_out(v, "low_res"), .token = vec_out(v, "token"), .iou = vec_out(v, "iou"),
        .masks = vec_in(v, "masks"), .tokens = vec_in(v, "tokens"), .ious = vec_in(v, "ious"),
        .score = vec_in(v, "score"), .multimask = vec_ints(v, "multimask"), .delta = 0.05f,
        .threshold = 0.98f });
}

// ---- faults

COMMON(select_mask, low_res, masks)
CHANGED(select_mask, threshold_above, m.threshold = 0.985f)
CHANGED(select_mask, threshold_below, m.threshold = 0.95f)
CHANGED(select_mask, not_strict_above, m.delta = 0.049999f)

static void select_mask_zero_is_present(struct sam_queue *q, const struct sam_select_mask *p)
{
    struct sam_select_mask m = *p;
    float score[8];
    for (int n = 0; n < p->score.n; n++)
        score[n] = sam_load(&p->score, n) >= 0 ? 1 : -1;
    m.score.data = score;
    sam_select_mask_ref(q, &m);
}

// The last of equal candidates; candidate 0 among the three; the other token.
static void reselect(struct sam_queue *q, const struct sam_select_mask *p, int first, bool last_tie,
                     bool token_follows)
{
    sam_select_mask_ref(q, p);
    for (int n = 0; n < p->masks.n; n++) {
        int best = first;
        for (int i = first; i <= 3; i++) {
            const float a = sam_load(&p->ious, (size_t) n * 4 + i);
            const float b = sam_load(&p->ious, (size_t) n * 4 + best);
            if (a > b || (last_tie && a >= b))
                best = i;
        }
        const size_t d = p->tokens.c;
        for (size_t i = 0; i < d && (token_follows || ref_count(&p->multimask, n)); i++)
            sam_store(&p->token, n * d + i, sam_load(&p->tokens, ((size_t) n * 4 + best) * d + i));
    }
}

static void select_mask_last_of_a_tie(struct sam_queue *q, const struct sam_select_mask *p)
{
    reselect(q, p, 1, true, false);
}

static void select_mask_candidate_0_too(struct sam_queue *q, const struct sam_select_mask *p)
{
    reselect(q, p, 0, false, false);
}

static void select_mask_token_of_the_fallback(struct sam_queue *q, const struct sam_select_mask *p)
{
    reselect(q, p, 1, false, true);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(select_mask),
    MUTANT(select_mask, threshold_above),
    MUTANT(select_mask, threshold_below),
    MUTANT(select_mask, not_strict_above),
    MUTANT(select_mask, zero_is_present),
    MUTANT(select_mask, last_of_a_tie),
    MUTANT(select_mask, candidate_0_too),
    MUTANT(select_mask, token_of_the_fallback),
};

CUDA_FAULT("masks.cu", "likely += v[a][k] > «-delta => delta»;")
CUDA_FAULT("masks.cu",
           "sums[threadIdx.x] = 0;\n"
           "    «__syncthreads() => (void) 0»;")
CUDA_FAULT("masks.cu", "if («share == 0 => false»)")
CUDA_FAULT("masks.cu", "token_at = «multimask ? best : 0 => 0»;")

TEST(select_mask, .vectors = vectors_select_mask);

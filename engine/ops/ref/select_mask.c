// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static size_t count_above(const struct sam_tensor *masks, size_t at, float threshold)
{
    size_t count = 0;
    for (int i = 0; i < masks->c; i++)
        count += sam_load(masks, at + i) > threshold;
    return count;
}

static bool is_stable(const struct sam_select_mask *p, int n)
{
    const size_t at = (size_t) n * 4 * p->masks.c; // mask 0
    const size_t sure = count_above(&p->masks, at, p->delta);
    const size_t likely = count_above(&p->masks, at, -p->delta);
    return (likely ? (float) sure / (float) likely : 1.0f) >= p->threshold;
}

static void select_one(const struct sam_select_mask *p, int n)
{
    int best = 1;
    for (int i = 2; i <= 3; i++)
        if (sam_load(&p->ious, n * 4 + i) > sam_load(&p->ious, n * 4 + best))
            best = i;

    const bool multimask = ref_count(&p->multimask, n);
    const int chosen = !multimask && is_stable(p, n) ? 0 : best;
    const int token = multimask ? best : 0;
    const bool present = sam_load(&p->score, n) > 0;
    const size_t pixels = p->masks.c, d = p->tokens.c;

    for (size_t i = 0; i < pixels; i++)
        sam_store(&p->low_res, n * pixels + i,
                  present ? sam_load(&p->masks, ((size_t) n * 4 + chosen) * pixels + i) : -1024);
    for (size_t i = 0; i < d; i++)
        sam_store(&p->token, n * d + i, sam_load(&p->tokens, ((size_t) n * 4 + token) * d + i));
    sam_store(&p->iou, n, sam_load(&p->ious, n * 4 + chosen));
}

void sam_select_mask_ref(struct sam_queue *q, const struct sam_select_mask *p)
{
    for (int n = 0; n < p->masks.n; n++)
        select_one(p, n);
}

// SPDX-License-Identifier: MIT
// The bank's list of tracked frames where they are remembered by score, as SAM 3's tracker does it:
// a frame is kept if presence times predicted IoU exceeds 0.01; the last frame is attended to
// whatever it is. Ages and distances are ranks in the list. Of pointers the oldest kept one is left
// out, as the published loop ends one early.
#include "bank.h"

#include <math.h>
#include <string.h>

bool sam_bank_keeps(float score, float iou)
{
    const float presence = score > 0 ? 2 / (1 + expf(-score)) - 1 : 0;

    return presence * iou > 0.01f;
}

// The number of entries before a frame.
static int count_before(const struct sam_bank *b, int64_t frame)
{
    int n = b->num_scored;

    while (n > 0 && b->scored[n - 1].frame >= frame)
        n--;
    return n;
}

static int index_of(const struct sam_bank *b, int64_t frame)
{
    const int i = count_before(b, frame);

    return i < b->num_scored && b->scored[i].frame == frame ? i : -1;
}

const struct sam_bank_scored *sam_scored_find(const struct sam_bank *b, int64_t frame)
{
    const int i = index_of(b, frame);

    return i < 0 ? NULL : &b->scored[i];
}

void sam_scored_drop(struct sam_bank *b, int64_t frame)
{
    const int i = index_of(b, frame);

    if (i < 0)
        return;
    b->num_scored--;
    memmove(&b->scored[i], &b->scored[i + 1], (size_t) (b->num_scored - i) * sizeof(b->scored[0]));
}

void sam_scored_add(struct sam_bank *b, const struct sam_bank_scored *entry)
{
    if (b->num_scored == SAM_MAX_SCORED)
        sam_scored_drop(b, b->scored[0].frame);
    b->scored[b->num_scored++] = *entry;
}

void sam_bank_judge(struct sam_bank *b, int64_t frame, bool good)
{
    if (!b->limits.scored)
        return;
    if (b->doubted >= 0 && b->doubted != frame)
        sam_scored_drop(b, b->doubted);
    b->doubted = good || index_of(b, frame) < 0 ? -1 : frame;
}

void sam_scored_hold(const struct sam_bank *b, int64_t frame, bool *maps, bool *pointers)
{
    const struct sam_scored_ranks r = sam_scored_rank(b, frame);

    for (int rank = 1 + r.prompted; rank <= r.end; rank++) {
        const struct sam_bank_scored *e = &b->scored[r.end - rank];
        if (rank < b->limits.num_maskmem)
            maps[e->map_slot] = true;
        if (rank < b->limits.num_pointers)
            pointers[e->pointer_slot] = true;
    }
}

struct sam_scored_ranks sam_scored_rank(const struct sam_bank *b, int64_t frame)
{
    const int n = count_before(b, frame), most = b->limits.num_pointers - 1;
    const bool doubts = b->doubted == frame - 1 && index_of(b, frame - 1) >= 0;
    const bool prompted = frame > 0 && sam_bank_is_prompted(b, frame - 1);
    const int good = n - doubts < most ? n - doubts : most;
    return (struct sam_scored_ranks){ good + (doubts || prompted), n + prompted, prompted };
}

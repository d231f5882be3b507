// SPDX-License-Identifier: MIT
// The detections of a result that are considered: checked, clipped, the best by score.
#include <math.h>

#include "state.h"

// A score out of range is the lowest, so that damaged detections do not displace sound ones.
static float rank(float score)
{
    return score >= 0 && score <= 1 ? score : -1;
}

static void select_best(struct sam_seed *s, const struct sam_seed_input *in)
{
    const int read = in->num_detections < SAM_SEED_MAX_READ ? in->num_detections
                                                            : SAM_SEED_MAX_READ;
    int n = 0;

    for (int i = 0; i < read; i++) {
        const float score = rank(in->detections[i].score);
        int at = n;

        s->work++;
        while (at > 0 && score > rank(s->candidate[at - 1].score)) // of equal ones the first
            at--, s->work++;
        if (at == SAM_SEED_MAX_DETECTIONS)
            continue;
        n += n < SAM_SEED_MAX_DETECTIONS;
        for (int k = n - 1; k > at; k--)
            s->candidate[k] = s->candidate[k - 1];
        s->candidate[at] = (struct candidate) { .index = i, .score = in->detections[i].score };
    }
    s->num_candidates = n;
    s->stats.flooded += (uint64_t) (in->num_detections - n);
}

static bool is_finite(struct sam_seed_box b)
{
    return isfinite(b.x0) && isfinite(b.y0) && isfinite(b.x1) && isfinite(b.y1);
}

static void take(struct sam_seed *s, struct candidate *c, const struct sam_seed_detection *from)
{
    const bool is_finite_box = is_finite(from->box);

    c->class_id = from->class_id;
    if (from->class_id < SAM_SEED_NO_CLASS || from->class_id >= SAM_SEED_MAX_CLASSES) {
        c->class_id = SAM_SEED_NO_CLASS;
        sam_seed_ignore(s, c, SAM_SEED_BY_BAD_CLASS);
        return;
    }
    if (rank(c->score) < 0) {
        sam_seed_ignore(s, c, SAM_SEED_BY_BAD_SCORE);
        return;
    }
    if (is_finite_box)
        c->box = sam_seed_clip(from->box, s->width, s->height);
    if (!is_finite_box || sam_seed_box_area(c->box) <= 0) {
        sam_seed_ignore(s, c, SAM_SEED_BY_BAD_BOX);
        return;
    }
    c->area = sam_seed_box_area(c->box) / (s->width * s->height);
    const int cells = from->mask ? sam_seed_mask_cells(from->mask) : 0;
    s->work += from->mask ? SAM_SEED_GRID * SAM_SEED_GRID : 0;
    if (!cells) // an empty mask tells nothing
        return;
    c->mask = from->mask;
    c->area = (double) cells / (SAM_SEED_GRID * SAM_SEED_GRID);
    c->quality = isfinite(from->mask_quality) ? from->mask_quality : 0;
}

void sam_seed_read(struct sam_seed *s, const struct sam_seed_input *in)
{
    select_best(s, in);
    for (int i = 0; i < s->num_candidates; i++)
        take(s, &s->candidate[i], &in->detections[s->candidate[i].index]);
}

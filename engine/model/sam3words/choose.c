// SPDX-License-Identifier: MIT
// The choice among the results of the queries of all phrases: a score is that of the query times
// that of the phrase's presence. Of boxes that are almost the same the one with the higher score
// stays. Masks are drawn of what may be an object, of the phrases that have any.
#include <math.h>

#include "base/arena.h"
#include "model/boxes.h"
#include "model/largest.h"
#include "model/masks.h"
#include "sam3words.h"

#define SAME_BOX 0.8f // overlap, over union
#define DRAWN    0.1f // least score of a detection whose mask is drawn

enum { MOST_LOGIT = 12, MOST_PRESENCE = 10 }; // published

struct room {
    struct sam_largest *best;
    float *score;  // (phrases, queries)
    float *rows;   // scratch of sam_logits_stretch()
    uint8_t *mask; // (SAM3W_MOST, SAM_DETECTED_PIXELS)
};

static size_t lay_out(const struct sam_config *c, void *base, struct room *r)
{
    const size_t all = (size_t) SAM_MAX_PHRASES * sam3w_sizes(c)->queries;
    struct sam_arena a = { .base = base };

    r->best = sam_arena_bytes(&a, all * sizeof(*r->best));
    r->score = sam_arena_bytes(&a, all * sizeof(*r->score));
    r->rows = sam_arena_bytes(&a, sam_logits_room(sam3w_mask_side(c)) * sizeof(float));
    r->mask = sam_arena_bytes(&a, (size_t) SAM3W_MOST * SAM_DETECTED_PIXELS);
    return a.peak;
}

size_t sam3w_room_bytes(const struct sam_config *c)
{
    struct room r;
    return lay_out(c, NULL, &r);
}

static float chance(float logit, float most)
{
    logit = logit > most ? most : logit < -most ? -most : logit; // a NaN stays one
    return 1 / (1 + expf(-logit));
}

static float rate_one(const struct sam_candidates *from, int phrase, int query)
{
    const float *logits = from->score.data, *presence = from->presence.data;

    return chance(logits[(size_t) phrase * from->score.c + query], MOST_LOGIT) *
           chance(presence[phrase], MOST_PRESENCE);
}

void sam3w_rate(const struct sam_candidates *from, float best[SAM_MAX_PHRASES])
{
    for (int k = 0; k < SAM_MAX_PHRASES; k++)
        best[k] = 0;
    for (int k = 0; k < from->text->phrases; k++)
        for (int i = 0; i < from->score.c; i++)
            best[k] = fmaxf(best[k], rate_one(from, k, i));
}

static void cut_row(void *mask, const float *row, int y)
{
    uint8_t *to = (uint8_t *) mask + (size_t) y * SAM_DETECTED_MASK;

    for (int x = 0; x < SAM_DETECTED_MASK; x++)
        to[x] = row[x] > 0;
}

// A mask of numbers that overflowed makes the score a NaN, so that it is seen.
static void draw(const struct room *r, const struct sam_tensor *masks, int i,
                 struct sam_detection *d)
{
    const int side = masks->w;
    const float *logits = (const float *) masks->data + (size_t) d->query * side * side;
    uint8_t *mask = r->mask + (size_t) i * SAM_DETECTED_PIXELS;

    if (d->query >= masks->h || d->score < DRAWN)
        return;
    sam_logits_stretch(logits, side, r->rows, cut_row, mask);
    d->mask = mask;
    if (!sam_logits_are_finite(logits, side))
        d->score = NAN;
}

int sam3w_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                 int height, void *base, struct sam_detection *out)
{
    const int queries = sam3w_sizes(c)->queries, all = from->text->phrases * queries;
    const float *boxes = from->box.data;
    struct room r;
    int num = 0;

    lay_out(c, base, &r);
    for (int i = 0; i < all; i++) {
        r.score[i] = rate_one(from, i / queries, i % queries);
        if (isnan(r.score[i])) { // a number overflowed
            out[0] = (struct sam_detection){ .score = NAN, .query = i };
            return 1;
        }
    }
    const int count = sam_largest_of(r.best, all, r.score, all);
    for (int k = 0; k < count && num < SAM3W_MOST; k++) {
        const int query = r.best[k].index;
        struct sam_detection d = { .score = r.best[k].value,
                                   .label = query / queries,
                                   .query = query };
        sam_box_of_middle(boxes + 4 * (size_t) query, width, height, d.box);
        if (!sam_box_is_new(out, num, d.box, SAME_BOX))
            continue;
        draw(&r, &from->mask, num, &d);
        out[num++] = d;
    }
    return num;
}

// SPDX-License-Identifier: MIT
// The choice among the results of the queries of all phrases: a score is that of the query times
// that of the phrase's presence. Of boxes that are almost the same the one with the higher score
// stays.
#include <math.h>

#include "base/arena.h"
#include "model/boxes.h"
#include "model/largest.h"
#include "sam3words.h"

#define SAME_BOX 0.8f // overlap, over union

enum { MOST_LOGIT = 12, MOST_PRESENCE = 10 }; // published

struct room {
    struct sam_largest *best;
    float *score; // (phrases, queries)
};

static size_t lay_out(const struct sam_config *c, void *base, struct room *r)
{
    const size_t all = (size_t) SAM_MAX_PHRASES * sam3w_sizes(c)->queries;
    struct sam_arena a = { .base = base };

    r->best = sam_arena_bytes(&a, all * sizeof(*r->best));
    r->score = sam_arena_bytes(&a, all * sizeof(*r->score));
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
        if (sam_box_is_new(out, num, d.box, SAME_BOX))
            out[num++] = d;
    }
    return num;
}

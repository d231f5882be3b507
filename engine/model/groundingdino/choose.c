// SPDX-License-Identifier: MIT
// The choice among the results of the queries. A query's phrase is the one of which it is most like
// a token; of boxes that are almost the same the one with the higher score stays.
#include <math.h>
#include <stdbool.h>

#include "base/arena.h"
#include "groundingdino.h"
#include "model/boxes.h"
#include "model/largest.h"

#define SAME_BOX 0.8f // overlap, over union

struct room {
    struct sam_largest *best; // (queries)
    float *logit;             // (queries)
    int *label;               // (queries)
};

static size_t lay_out(const struct sam_config *c, void *base, struct room *r)
{
    const size_t queries = gdino_sizes(c)->queries;
    struct sam_arena a = { .base = base };

    r->best = sam_arena_bytes(&a, queries * sizeof(*r->best));
    r->logit = sam_arena_bytes(&a, queries * sizeof(*r->logit));
    r->label = sam_arena_bytes(&a, queries * sizeof(*r->label));
    return a.peak;
}

size_t gdino_room_bytes(const struct sam_config *c)
{
    struct room r;
    return lay_out(c, NULL, &r);
}

// False: a number overflowed.
static bool rate(const struct sam_text *t, const float *logits, float *best, int *label)
{
    *best = -INFINITY;
    *label = 0;
    for (int i = 0; i < t->tokens; i++) {
        if (isnan(logits[i]))
            return false;
        if (t->phrase[i] >= 0 && logits[i] > *best) {
            *best = logits[i];
            *label = t->phrase[i];
        }
    }
    return true;
}

int gdino_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                 int height, void *base, struct sam_detection *out)
{
    const int queries = gdino_sizes(c)->queries;
    const float *logits = from->score.data, *boxes = from->box.data;
    struct room r;
    int num = 0;

    if (!from->text || !from->text->phrases)
        return 0;
    lay_out(c, base, &r);
    for (int i = 0; i < queries; i++)
        if (!rate(from->text, logits + (size_t) i * from->score.c, &r.logit[i], &r.label[i])) {
            out[0] = (struct sam_detection) { .score = NAN, .query = i };
            return 1;
        }
    const int count = sam_largest_of(r.best, queries, r.logit, queries);
    for (int k = 0; k < count && num < GDINO_MOST; k++) {
        const int query = r.best[k].index;
        struct sam_detection d = { .score = 1 / (1 + expf(-r.best[k].value)),
                                   .label = r.label[query], .query = query };
        sam_box_of_middle(boxes + 4 * query, width, height, d.box);
        if (sam_box_is_new(out, num, d.box, SAME_BOX))
            out[num++] = d;
    }
    return num;
}

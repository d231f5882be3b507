// SPDX-License-Identifier: MIT
// The published choice among the results of the queries.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "model/largest.h"
#include "model/masks.h"
#include "rfdetr.h"

struct room {
    struct sam_largest *best; // (queries)
    float *rows;              // scratch of sam_logits_stretch()
    uint8_t *mask;            // (queries, SAM_DETECTED_PIXELS)
    uint8_t *drawn;           // (queries): 0, or what its logits were
};

enum { FINITE = 1, OVERFLOWED };

static size_t lay_out(const struct sam_config *c, void *base, struct room *r)
{
    const size_t queries = rfdetr_sizes(c)->queries;
    struct sam_arena a = { .base = base };

    *r = (struct room) { .best = sam_arena_bytes(&a, queries * sizeof(*r->best)) };
    if (rfdetr_sizes(c)->masks) {
        r->rows = sam_arena_bytes(&a, sam_logits_room(rfdetr_mask_side(c)) * sizeof(float));
        r->drawn = sam_arena_bytes(&a, queries);
        r->mask = sam_arena_bytes(&a, queries * SAM_DETECTED_PIXELS);
    }
    return a.peak;
}

size_t rfdetr_room_bytes(const struct sam_config *c)
{
    struct room r;
    return lay_out(c, NULL, &r);
}

static float inside(float v, int extent)
{
    return v < 0 ? 0 : v > (float) extent ? (float) extent : v; // a NaN stays one
}

static void cut_row(void *mask, const float *row, int y)
{
    uint8_t *to = (uint8_t *) mask + (size_t) y * SAM_DETECTED_MASK;
    for (int x = 0; x < SAM_DETECTED_MASK; x++)
        to[x] = row[x] > 0;
}

// Once for each query, which may appear under several classes.
static void draw(const struct room *r, const struct sam_tensor *masks, int query)
{
    const int size = masks->w;
    const float *logits = (const float *) masks->data + (size_t) query * size * size;

    sam_logits_stretch(logits, size, r->rows, cut_row,
                       r->mask + (size_t) query * SAM_DETECTED_PIXELS);
    r->drawn[query] = sam_logits_are_finite(logits, size) ? FINITE : OVERFLOWED;
}

// A mask of numbers that overflowed makes the score a NaN, so that it is seen.
static void add_mask(const struct room *r, const struct sam_tensor *masks,
                     struct sam_detection *out)
{
    if (!r->drawn[out->query])
        draw(r, masks, out->query);
    out->mask = r->mask + (size_t) out->query * SAM_DETECTED_PIXELS;
    if (r->drawn[out->query] == OVERFLOWED)
        out->score = NAN;
}

// As many pairs of query and class as there are queries, those with the largest logits, of which
// the scores are a monotonous function. No mask is left out, an empty one neither.
int rfdetr_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                  int height, void *base, struct sam_detection *out)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(c);
    const float *boxes = from->box.data;
    struct room r;

    lay_out(c, base, &r);
    if (s->masks)
        memset(r.drawn, 0, s->queries);
    const int num = sam_largest_of(r.best, s->queries, from->score.data, s->queries * s->classes);
    for (int k = 0; k < num; k++) {
        const int query = r.best[k].index / s->classes;
        const float *b = boxes + 4 * query; // x, y, w, h
        const float x = b[0] - 0.5f * b[2], y = b[1] - 0.5f * b[3];
        out[k] = (struct sam_detection) {
            .box = { inside(x * (float) width, width), inside(y * (float) height, height),
                     inside((b[0] + 0.5f * b[2]) * (float) width, width),
                     inside((b[1] + 0.5f * b[3]) * (float) height, height) },
            .score = 1 / (1 + expf(-r.best[k].value)),
            .label = r.best[k].index % s->classes,
            .query = query,
        };
        if (s->masks)
            add_mask(&r, &from->mask, &out[k]);
    }
    return num;
}

// SPDX-License-Identifier: MIT
// The published choice among queries, for instances: pairs of a query and a class, each query's
// mask at SAM_DETECTED_MASK x SAM_DETECTED_MASK px, and scores that masks have a part in.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "mask2former.h"
#include "model/largest.h"
#include "model/masks.h"

enum { PIXELS = SAM_DETECTED_PIXELS };

// What is known of a query's mask.
struct shape {
    bool done;
    float quality;              // mean of the sigmoids of its pixels
    int count;                  // of its pixels
    int left, top, right, bottom; // around it; the last two are exclusive
};

struct room {
    struct sam_largest *best;   // (queries)
    struct shape *shape;        // (queries)
    float *chance;              // (queries, classes)
    float *rows;                // scratch of sam_logits_stretch()
    uint8_t *mask;              // (queries, PIXELS)
};

static size_t lay_out(const struct sam_config *c, void *base, struct room *r)
{
    const size_t queries = m2f_sizes(c)->queries;
    struct sam_arena a = { .base = base };

    r->best = sam_arena_bytes(&a, queries * sizeof(*r->best));
    r->shape = sam_arena_bytes(&a, queries * sizeof(*r->shape));
    r->chance = sam_arena_bytes(&a, queries * m2f_sizes(c)->classes * sizeof(float));
    r->rows = sam_arena_bytes(&a, sam_logits_room(m2f_grid(c, 0)) * sizeof(float));
    r->mask = sam_arena_bytes(&a, queries * PIXELS);
    return a.peak;
}

size_t m2f_room_bytes(const struct sam_config *c)
{
    struct room r;
    return lay_out(c, NULL, &r);
}

// Softmax over classes and no object, of which the last is dropped.
static void find_chances(const struct m2f_sizes *s, const float *logits, float *chance)
{
    const int n = s->classes + 1;

    for (int q = 0; q < s->queries; q++, logits += n, chance += s->classes) {
        float largest = logits[0];
        double total = 0;
        for (int i = 1; i < n; i++)
            largest = fmaxf(largest, logits[i]);
        for (int i = 0; i < n; i++)
            total += exp((double) logits[i] - largest);
        for (int i = 0; i < s->classes; i++)
            chance[i] = (float) (exp((double) logits[i] - largest) / total);
    }
}

// ---- masks

// The mask that is drawn, and its shape.
struct drawing {
    uint8_t *mask;
    struct shape *shape;
    double sum; // of the sigmoids of its pixels
};

static void draw_row(void *priv, const float *row, int y)
{
    struct drawing *d = priv;
    struct shape *s = d->shape;
    uint8_t *mask = d->mask + (size_t) y * SAM_DETECTED_MASK;

    for (int x = 0; x < SAM_DETECTED_MASK; x++) {
        mask[x] = row[x] > 0;
        if (!mask[x])
            continue;
        d->sum += 1 / (1 + expf(-row[x]));
        s->count++;
        s->left = x < s->left ? x : s->left;
        s->right = x + 1 > s->right ? x + 1 : s->right;
        s->top = y < s->top ? y : s->top;
        s->bottom = y + 1;
    }
}

static void draw(const struct room *r, const float *logits, int size, int query)
{
    struct shape *s = &r->shape[query];
    struct drawing d = { .mask = r->mask + (size_t) query * PIXELS, .shape = s };

    *s = (struct shape) { .done = true, .left = SAM_DETECTED_MASK, .top = SAM_DETECTED_MASK };
    sam_logits_stretch(logits, size, r->rows, draw_row, &d);
    s->quality = (float) (d.sum / (s->count + 1e-6));
    // A mask of numbers that overflowed is no empty one: it must be seen.
    if (!sam_logits_are_finite(logits, size))
        s->quality = NAN, s->count = PIXELS;
}

// ---- detections

static int compare(const void *first, const void *second)
{
    const struct sam_detection *a = first, *b = second;

    if (a->score != b->score && !(isnan(a->score) && isnan(b->score)))
        return isnan(b->score) || a->score > b->score ? -1 : 1;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    return a->label < b->label ? -1 : a->label > b->label;
}

int m2f_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
               int height, void *base, struct sam_detection *out)
{
    const struct m2f_sizes *s = m2f_sizes(c);
    const int size = m2f_grid(c, 0);
    const float x_scale = (float) width / SAM_DETECTED_MASK;
    const float y_scale = (float) height / SAM_DETECTED_MASK;
    struct room r;
    int num = 0;

    lay_out(c, base, &r);
    find_chances(s, from->score.data, r.chance);
    memset(r.shape, 0, (size_t) s->queries * sizeof(*r.shape));
    const int found = sam_largest_of(r.best, s->queries, r.chance, s->queries * s->classes);
    for (int k = 0; k < found; k++) {
        const int query = r.best[k].index / s->classes;
        const struct shape *mask = &r.shape[query];
        if (!mask->done)
            draw(&r, (const float *) from->mask.data + (size_t) query * size * size, size, query);
        if (!mask->count)
            continue; // nothing is there
        out[num++] = (struct sam_detection) {
            .box = { (float) mask->left * x_scale, (float) mask->top * y_scale,
                     (float) mask->right * x_scale, (float) mask->bottom * y_scale },
            .score = r.best[k].value * mask->quality,
            .label = r.best[k].index % s->classes,
            .query = query,
            .mask = r.mask + (size_t) query * PIXELS,
        };
    }
    qsort(out, (size_t) num, sizeof(*out), compare);
    return num;
}

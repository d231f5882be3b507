// SPDX-License-Identifier: MIT
// Pieces of masks near the box of the mask before, by flooding from the places within its reach.
#include <math.h>
#include <string.h>

#include "ops/ref/flood.h"

struct box {
    float x0, y0, x1, y1, area;
};

static bool is_within(const struct box *b, float reach, int y, int x)
{
    return (float) x >= b->x0 - reach && (float) x < b->x1 + reach &&
           (float) y >= b->y0 - reach && (float) y < b->y1 + reach;
}

// Mark the near pieces as seen; returns how many places they have.
static int mark_near(const struct map *m, const struct box *b, float reach)
{
    int count = 0;

    memset(m->seen, 0, (size_t) m->h * m->w * sizeof(*m->seen));
    for (int y = 0; y < m->h; y++)
        for (int x = 0; x < m->w; x++)
            if (is_within(b, reach, y, x))
                count += flood(m, y, x);
    return count;
}

static void drop_far(const struct sam_keep_near *p, int n, const struct box *b)
{
    const int places = p->logits.h * p->logits.w;
    float *logits = (float *) p->logits.data + (size_t) n * places;
    int32_t *room = (int32_t *) p->room.data + (size_t) n * 2 * places;
    const struct map m = { logits, room, room + places, p->logits.h, p->logits.w, true };
    const float far = floorf(p->reach * fmaxf(b->x1 - b->x0, b->y1 - b->y0)) + p->least;
    const int near = mark_near(&m, b, far);

    if (!near || !((float) near >= p->share * b->area))
        return;
    for (int i = 0; i < places; i++)
        if (logits[i] > 0 && !m.seen[i])
            logits[i] = p->value;
}

// The box of the logits above 0; if there are none, *b stays.
static void measure(const struct sam_keep_near *p, int n, struct box *b)
{
    const int h = p->logits.h, w = p->logits.w;
    const float *logits = (const float *) p->logits.data + (size_t) n * h * w;
    struct box found = { (float) w, (float) h, 0, 0, 0 };

    for (int i = 0; i < h * w; i++) {
        if (!(logits[i] > 0))
            continue;
        found.x0 = fminf(found.x0, (float) (i % w));
        found.y0 = fminf(found.y0, (float) (i / w));
        found.x1 = fmaxf(found.x1, (float) (i % w + 1));
        found.y1 = fmaxf(found.y1, (float) (i / w + 1));
        found.area += 1;
    }
    if (found.area > 0)
        *b = found;
}

static void keep(const struct sam_keep_near *p, int n)
{
    const int32_t before = ((const int32_t *) p->before.data)[n];
    const int32_t after = ((const int32_t *) p->after.data)[n];
    const bool is_prompted = ((const int32_t *) p->prompted.data)[n] != 0;
    const bool is_present = ((const float *) p->score.data)[n] > 0;
    struct box *boxes = p->boxes.data;
    struct box b = before < 0 ? (struct box) { 0 } : boxes[before];

    if (is_present && !is_prompted && b.area > 0)
        drop_far(p, n, &b);
    if (is_present)
        measure(p, n, &b);
    if (after >= 0)
        boxes[after] = b;
}

void sam_keep_near_ref(struct sam_queue *q, const struct sam_keep_near *p)
{
    for (int n = 0; n < p->logits.n; n++)
        keep(p, n);
}

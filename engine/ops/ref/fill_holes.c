// SPDX-License-Identifier: MIT
// Small holes and islands of masks, by flooding each component once: fill_holes_in_mask_scores of
// the published predictors, which needs a compiled CUDA extension and skips the step without one.

#include <string.h>

#include "ops/ref/flood.h"

// The largest area of a component that goes.
static int limit(const struct map *m, int max_area)
{
    int total = 0;

    for (int i = 0; m->islands && i < m->h * m->w; i++)
        total += is_member(m, i);
    return m->islands && total / 2 < max_area ? total / 2 : max_area;
}

static void fill(const struct sam_fill_holes *p, int n)
{
    const size_t places = (size_t) p->src.h * p->src.w;
    float *dst = (float *) p->dst.data + n * places;
    int32_t *room = (int32_t *) p->room.data + n * (2 * places + 1);
    const struct map m = { (const float *) p->src.data + n * places, room, room + places,
                           p->src.h, p->src.w, p->islands };
    const int max_area = limit(&m, p->max_area);

    memset(m.seen, 0, places * sizeof(*m.seen));
    memmove(dst, m.src, places * sizeof(*dst));
    for (int y = 0; y < m.h; y++)
        for (int x = 0; x < m.w; x++) {
            const int area = flood(&m, y, x);
            for (int i = 0; area <= max_area && i < area; i++)
                dst[m.queue[i]] = p->value; // where dst is src, only what was flooded changes
        }
}

void sam_fill_holes_ref(struct sam_queue *q, const struct sam_fill_holes *p)
{
    for (int n = 0; n < p->src.n; n++)
        fill(p, n);
}

// SPDX-License-Identifier: MIT
// Small holes and islands of masks, by flooding each component once: fill_holes_in_mask_scores of
// the published predictors, which needs a compiled CUDA extension and skips the step without one.

#include <string.h>

#include "ops/ref/ref.h"

struct map {
    const float *src;
    int32_t *seen;  // per place: it belongs to a component that was flooded
    int32_t *queue; // places, in the order in which they were reached
    int h, w;
    bool islands;
};

static bool is_member(const struct map *m, int i)
{
    return m->islands ? m->src[i] > 0 : m->src[i] <= 0;
}

static void reach(const struct map *m, int y, int x, int *count)
{
    if (y < 0 || y >= m->h || x < 0 || x >= m->w)
        return;
    const int i = y * m->w + x;
    if (m->seen[i] || !is_member(m, i))
        return;
    m->seen[i] = 1;
    m->queue[(*count)++] = i;
}

// The component at (y, x) to the queue. Returns the number of its places: 0 where it is known
// already, or in none.
static int flood(const struct map *m, int y, int x)
{
    int count = 0;
    reach(m, y, x, &count);
    for (int i = 0; i < count; i++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                reach(m, m->queue[i] / m->w + dy, m->queue[i] % m->w + dx, &count);
    return count;
}

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

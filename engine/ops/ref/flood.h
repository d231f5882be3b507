// SPDX-License-Identifier: MIT
// Components of maps, 8-connected, by flooding each once.
#ifndef SAM_FLOOD_H
#define SAM_FLOOD_H

#include "ops/ref/ref.h"

struct map {
    const float *src;
    int32_t *seen;  // per place: it belongs to a component that was flooded
    int32_t *queue; // places, in the order in which they were reached
    int h, w;
    bool islands;
};

static inline bool is_member(const struct map *m, int i)
{
    return m->islands ? m->src[i] > 0 : m->src[i] <= 0;
}

static inline void reach(const struct map *m, int y, int x, int *count)
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
static inline int flood(const struct map *m, int y, int x)
{
    int count = 0;
    reach(m, y, x, &count);
    for (int i = 0; i < count; i++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                reach(m, m->queue[i] / m->w + dy, m->queue[i] % m->w + dx, &count);
    return count;
}

#endif // SAM_FLOOD_H

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static float largest_around(const struct sam_tensor *s, int reach, int n, int y, int x, int c)
{
    float largest = sam_load(s, ref_pixel(s, n, y, x) + c);
    for (int v = ref_max(0, y - reach); v <= ref_min(s->h - 1, y + reach); v++)
        for (int u = ref_max(0, x - reach); u <= ref_min(s->w - 1, x + reach); u++) {
            const float other = sam_load(s, ref_pixel(s, n, v, u) + c);
            largest = other > largest || isnan(other) ? other : largest;
        }
    return largest;
}

void sam_maxpool_around_ref(struct sam_queue *q, const struct sam_maxpool_around *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++)
                    sam_store(d, i, largest_around(s, p->kernel / 2, n, y, x, c));
}

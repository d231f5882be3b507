// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_copy_channels_ref(struct sam_queue *q, const struct sam_copy_channels *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int i = 0; i < p->channels; i++)
                    sam_store(d, ref_pixel(d, n, y, x) + p->to + i,
                              sam_load(s, ref_pixel(s, n, y / p->up, x / p->up) + p->from + i));
}

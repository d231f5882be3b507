// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// Nearest neighbour, twice the size, onto the finer map.
void sam_upsample_add_ref(struct sam_queue *q, const struct sam_upsample_add *p)
{
    const struct sam_tensor *d = &p->dst, *b = &p->b;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    const size_t half = (((size_t) n * b->h + y / 2) * b->w + x / 2) * b->c + c;
                    sam_store(d, i, sam_load(&p->a, i) + sam_load(b, half));
                }
}

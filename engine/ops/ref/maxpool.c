// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_maxpool_ref(struct sam_queue *q, const struct sam_maxpool *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    const size_t a = ref_pixel(src, n, 2 * y, 2 * x) + c;
                    const size_t b = ref_pixel(src, n, 2 * y + 1, 2 * x) + c;
                    const float upper = fmaxf(sam_load(src, a), sam_load(src, a + src->c));
                    const float lower = fmaxf(sam_load(src, b), sam_load(src, b + src->c));
                    sam_store(d, i, fmaxf(upper, lower));
                }
}

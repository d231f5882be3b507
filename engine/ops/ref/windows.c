// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_windows_ref(struct sam_queue *q, const struct sam_windows *p)
{
    const struct sam_tensor *src = &p->src;
    const int side = p->side;
    size_t i = 0;
    for (int n = 0; n < src->n; n++)
        for (int top = 0; top < src->h; top += side)
            for (int left = 0; left < src->w; left += side)
                for (int y = top; y < top + side; y++)
                    for (int x = left; x < left + side; x++)
                        for (int c = 0; c < src->c; c++, i++)
                            sam_store(&p->dst, i, sam_load(src, ref_pixel(src, n, y, x) + c));
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_depthwise_ref(struct sam_queue *q, const struct sam_depthwise *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    const int k = p->kernel, pad = k / 2 - p->late;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    const int top = y * p->stride - pad, left = x * p->stride - pad;
                    float sum = ref_bias(&p->bias, c);
                    for (int ky = ref_max(0, -top); ky < ref_min(k, src->h - top); ky++)
                        for (int kx = ref_max(0, -left); kx < ref_min(k, src->w - left); kx++)
                            sum += sam_load(&p->weight, (size_t) (ky * k + kx) * d->c + c)
                                 * sam_load(src, ref_pixel(src, n, top + ky, left + kx) + c);
                    sam_store(d, i, ref_act(p->act, sum));
                }
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_conv_transpose_ref(struct sam_queue *q, const struct sam_conv_transpose *p)
{
    const struct sam_tensor weight = ref_matrix(p->weight), *d = &p->dst, *src = &p->src;
    const size_t period = p->add.data ? sam_count(&p->add) : 0;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++) {
                const size_t from = ref_pixel(src, n, y / 2, x / 2);
                const struct ref_steps steps = ref_steps(p->weight, src, from, src->c);
                for (int o = 0; o < d->c; o++, i++) {
                    const int row = (y % 2 * 2 + x % 2) * d->c + o;
                    const float sum = ref_dot_rounded(&weight, (size_t) row * src->c, src, from,
                                                      src->c, steps);
                    const float add = period ? sam_load(&p->add, i % period) : 0;
                    sam_store(d, i, ref_act(p->act, sum + ref_bias(&p->bias, o) + add));
                }
            }
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_scale_channels_ref(struct sam_queue *q, const struct sam_scale_channels *p)
{
    const size_t c = p->src.c, count = sam_count(&p->src) / p->src.n;
    for (size_t i = 0; i < count * p->src.n; i++)
        sam_store(&p->dst, i, sam_load(&p->src, i) * sam_load(&p->scale, i / count * c + i % c));
}

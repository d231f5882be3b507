// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_copy_rows_ref(struct sam_queue *q, const struct sam_copy_rows *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    const size_t count = (size_t) p->rows * d->c;
    for (int n = 0; n < d->n; n++) {
        const size_t to = ((size_t) n * d->h * d->w + p->to) * d->c;
        const size_t from = ((size_t) (src->n == 1 ? 0 : n) * src->h * src->w + p->from) * d->c;
        for (size_t i = 0; i < count; i++)
            sam_store(d, to + i, sam_load(src, from + i));
    }
}

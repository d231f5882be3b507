// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_copy_rows_ref(struct sam_queue *q, const struct sam_copy_rows *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    for (int n = 0; n < d->n; n++)
        for (int i = 0; i < p->rows; i++) {
            const int row = p->index.data ? ref_count(&p->index, n * p->rows + i) : p->from + i;
            const size_t to = (size_t) n * d->h * d->w + p->to + i;
            const size_t from = (size_t) (src->n == 1 ? 0 : n) * src->h * src->w + row;
            for (int k = 0; k < d->c; k++)
                sam_store(d, to * d->c + k, sam_load(src, from * d->c + k));
        }
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_mean_rows_ref(struct sam_queue *q, const struct sam_mean_rows *p)
{
    const struct sam_tensor *src = &p->src;
    const size_t rows = (size_t) src->h * src->w;
    for (int n = 0; n < src->n; n++)
        for (int c = 0; c < src->c; c++) {
            double sum = 0;
            for (size_t r = 0; r < rows; r++)
                sum += sam_load(src, (n * rows + r) * src->c + c);
            sam_store(&p->dst, (size_t) n * src->c + c, (float) (sum / rows));
        }
}

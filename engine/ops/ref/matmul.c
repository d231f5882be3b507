// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_matmul_ref(struct sam_queue *q, const struct sam_matmul *p)
{
    const size_t a_rows = p->dst.w, b_rows = p->dst.c;
    const int c = p->a.c;
    size_t at = 0;
    for (size_t n = 0; n < (size_t) p->dst.n; n++)
        for (size_t i = 0; i < a_rows; i++)
            for (size_t j = 0; j < b_rows; j++, at++)
                sam_store(&p->dst, at, ref_dot(&p->a, (n * a_rows + i) * c,
                                               &p->b, (n * b_rows + j) * c, c));
}

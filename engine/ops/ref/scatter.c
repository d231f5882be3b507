// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_scatter_ref(struct sam_queue *q, const struct sam_scatter *p)
{
    const size_t count = sam_count(&p->src) / p->src.n;
    for (int n = 0; n < p->src.n; n++) {
        const int slot = ref_count(&p->slot, n);
        if (slot < 0)
            continue;
        const bool add = p->absent.data && !(sam_load(&p->score, n) > 0);
        for (size_t i = 0; i < count; i++) {
            const float absent = add ? sam_load(&p->absent, i % p->src.c) : 0;
            sam_store(&p->dst, slot * count + i, sam_load(&p->src, n * count + i) + absent);
        }
    }
}

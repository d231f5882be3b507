// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_gate_ref(struct sam_queue *q, const struct sam_gate *p)
{
    const size_t count = sam_count(&p->src) / p->src.n;
    for (size_t i = 0; i < count * p->src.n; i++) {
        const bool present = sam_load(&p->score, i / count) > 0;
        sam_store(&p->dst, i, present ? sam_load(&p->src, i) : sam_load(&p->other, i % p->src.c));
    }
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_add_ref(struct sam_queue *q, const struct sam_add *p)
{
    const size_t count = sam_count(&p->dst), period = sam_count(&p->b);
    for (size_t i = 0; i < count; i++)
        sam_store(&p->dst, i, sam_load(&p->a, i) + p->scale * sam_load(&p->b, i % period));
}

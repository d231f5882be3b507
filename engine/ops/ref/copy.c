// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_copy_ref(struct sam_queue *q, const struct sam_copy *p)
{
    const size_t count = sam_count(&p->dst), period = sam_count(&p->src);
    for (size_t i = 0; i < count; i++)
        sam_store(&p->dst, i, sam_load(&p->src, i % period));
}

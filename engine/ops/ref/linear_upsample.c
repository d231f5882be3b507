// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// One after the other, by the queue's own operations.
void sam_linear_upsample_ref(struct sam_queue *q, const struct sam_linear_upsample *p)
{
    q->ops->linear(q, &p->product);
    if (!q->status)
        q->ops->upsample_add(q, &p->sum);
}

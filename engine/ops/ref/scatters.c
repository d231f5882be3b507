// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// One after the other, by the queue's own scatter.
void sam_scatters_ref(struct sam_queue *q, const struct sam_scatters *p)
{
    for (int i = 0; i < p->count && !q->status; i++)
        q->ops->scatter(q, &p->each[i]);
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// One after the other, by the queue's own linear: what the CPU has to win, it wins inside of one.
void sam_linears_ref(struct sam_queue *q, const struct sam_linears *p)
{
    for (int i = 0; i < p->count && !q->status; i++)
        q->ops->linear(q, &p->each[i]);
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// One after the other, by the queue's own operations.
void sam_norm_linears_ref(struct sam_queue *q, const struct sam_norm_linears *p)
{
    q->ops->layernorm(q, &p->norm);
    if (!q->status)
        q->ops->linears(q, &(struct sam_linears) { p->each, p->count });
    if (!q->status && p->pool.dst.data)
        q->ops->maxpool(q, &p->pool);
}

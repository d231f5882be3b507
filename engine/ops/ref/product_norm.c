// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// One after the other, by the queue's own operations.
void sam_product_norm_ref(struct sam_queue *q, const struct sam_product_norm *p)
{
    if (p->linear)
        q->ops->linear(q, p->linear);
    else if (p->conv)
        q->ops->conv(q, p->conv);
    else
        q->ops->conv_transpose(q, p->conv_transpose);
    if (!q->status)
        q->ops->layernorm(q, &p->norm);
}

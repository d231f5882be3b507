// SPDX-License-Identifier: MIT
// The fronts of the operations on boxes; ops.c has the others.

#include "ops/args.h"

void sam_op_refine_boxes(struct sam_queue *q, const struct sam_refine_boxes *p)
{
    const struct arg args[] = { OUT(dst, ARG_F32), IN(boxes, ARG_F32), IN(deltas, ARG_F32),
                                IN(index, ARG_I32 | ARG_OPTIONAL), END };
    begin();
    const int n = p->dst.n, rows = p->dst.w;
    require(is_shape(&p->dst, n, 1, rows, 4));
    require(is_shape(&p->boxes, n, 1, p->index.data ? p->boxes.w : rows, 4));
    require(is_shape(&p->deltas, n, 1, rows, 4) || is_shape(&p->deltas, 1, 1, rows, 4));
    require(!p->index.data || is_shape(&p->index, n, 1, 1, rows));
    require(q->ops->refine_boxes);
    q->ops->refine_boxes(q, p);
}

void sam_op_embed_boxes(struct sam_queue *q, const struct sam_embed_boxes *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(boxes, ARG_F32), END };
    begin();
    require(is_shape(&p->boxes, p->dst.n, 1, p->dst.w, 4));
    require(p->dst.h == 1 && p->dst.c % 8 == 0);
    require(q->ops->embed_boxes);
    q->ops->embed_boxes(q, p);
}

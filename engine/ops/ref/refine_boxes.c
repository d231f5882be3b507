// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static void refine(float *dst, const float *box, const float *delta)
{
    dst[0] = box[0] + delta[0] * box[2];
    dst[1] = box[1] + delta[1] * box[3];
    dst[2] = box[2] * expf(delta[2]);
    dst[3] = box[3] * expf(delta[3]);
}

void sam_refine_boxes_ref(struct sam_queue *q, const struct sam_refine_boxes *p)
{
    const float *boxes = p->boxes.data, *deltas = p->deltas.data;
    const int rows = p->dst.w;
    for (int n = 0; n < p->dst.n; n++)
        for (int i = 0; i < rows; i++) {
            const int at = n * rows + i;
            const int j = p->index.data ? ref_count(&p->index, at) : i;
            refine((float *) p->dst.data + 4 * (size_t) at,
                   boxes + 4 * ((size_t) n * p->boxes.w + j),
                   deltas + 4 * (size_t) (p->deltas.n == 1 ? i : at));
        }
}

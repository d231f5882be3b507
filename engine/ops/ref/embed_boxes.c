// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_embed_boxes_ref(struct sam_queue *q, const struct sam_embed_boxes *p)
{
    static const int place[4] = { 1, 0, 2, 3 }; // of x, y, w, h in a row of dst
    const int d = p->dst.c / 4;
    const float *boxes = p->boxes.data;
    for (int k = 0; k < d / 2; k++) {
        const float divisor = (float) pow(10000, 2.0 * k / d);
        for (size_t i = 0; i < 4 * sam_rows(&p->boxes); i++) {
            const float angle = boxes[i] * (float) (2 * M_PI) / divisor;
            const size_t at = i / 4 * p->dst.c + (size_t) place[i % 4] * d + 2 * k;
            sam_store(&p->dst, at, sinf(angle));
            sam_store(&p->dst, at + 1, cosf(angle));
        }
    }
}

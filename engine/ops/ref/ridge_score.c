// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// The scores of the cells, to room.
static void score_cells(const struct sam_ridge_score *p, int n, float *room)
{
    const int c = p->features.c, cells = p->features.h * p->features.w;
    const float *weights = (const float *) p->weights.data + (size_t) n * (c + 1);
    const float *x = p->features.data;
    for (int i = 0; i < cells; i++, x += c)
        room[i] = fminf(fmaxf(weights[c] + ref_dot_f32(weights, x, c), -p->most), p->most);
}

void sam_ridge_score_ref(struct sam_queue *q, const struct sam_ridge_score *p)
{
    const size_t cells = (size_t) p->features.h * p->features.w;
    for (int n = 0; n < p->logits.n; n++) {
        float *room = (float *) p->room.data + n * cells;
        if (!(sam_load(&p->score, n) > 0))
            continue;
        score_cells(p, n, room);
        ref_add_cells((float *) p->logits.data + 4 * n * cells, room, p->features.h, p->features.w,
                      p->scale);
    }
}

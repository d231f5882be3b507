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

static void add_scores(const struct sam_ridge_score *p, const float *room, float *logits)
{
    const int h = p->features.h, w = p->features.w;
    for (int y = 0; y < 2 * h; y++)
        for (int x = 0; x < 2 * w; x++) {
            const struct ref_taps v = ref_bilinear(y, 2 * h, h), u = ref_bilinear(x, 2 * w, w);
            const float *top = room + v.lo * w, *bottom = room + v.hi * w;
            const float above = (1 - u.weight) * top[u.lo] + u.weight * top[u.hi];
            const float below = (1 - u.weight) * bottom[u.lo] + u.weight * bottom[u.hi];
            logits[y * 2 * w + x] += p->scale * ((1 - v.weight) * above + v.weight * below);
        }
}

void sam_ridge_score_ref(struct sam_queue *q, const struct sam_ridge_score *p)
{
    const size_t cells = (size_t) p->features.h * p->features.w;
    for (int n = 0; n < p->logits.n; n++) {
        float *room = (float *) p->room.data + n * cells;
        if (!(sam_load(&p->score, n) > 0))
            continue;
        score_cells(p, n, room);
        add_scores(p, room, (float *) p->logits.data + 4 * n * cells);
    }
}

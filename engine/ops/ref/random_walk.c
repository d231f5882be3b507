// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// One mask and its room, two planes of it.
struct walk {
    const struct sam_random_walk *p;
    const float *right, *down;
    float *logits, *given, *now;
};

static bool is_free(const struct sam_random_walk *p, int y, int x)
{
    return x >= p->x0 && x < p->x1 && y >= p->y0 && y < p->y1;
}

static void relax(const struct walk *m, int y, int x)
{
    const int h = m->p->logits.h, w = m->p->logits.w, i = y * w + x;
    const float left = x ? m->right[i - 1] : 0, up = y ? m->down[i - w] : 0;
    const float right = m->right[i], down = m->down[i], fidelity = m->p->fidelity;
    float sum = fidelity * m->given[i];
    sum += x ? left * m->now[i - 1] : 0;
    sum += x + 1 < w ? right * m->now[i + 1] : 0;
    sum += y ? up * m->now[i - w] : 0;
    sum += y + 1 < h ? down * m->now[i + w] : 0;
    sum /= fidelity + left + right + up + down;
    m->now[i] += m->p->relaxation * (sum - m->now[i]);
}

static void walk(const struct walk *m)
{
    const struct sam_random_walk *p = m->p;
    const int places = p->logits.h * p->logits.w;
    for (int i = 0; i < places; i++)
        m->given[i] = m->now[i] = is_free(p, i / p->logits.w, i % p->logits.w)
                                      ? tanhf(m->logits[i] / 2) : p->outside;
    for (int turn = 0; turn < 2 * p->rounds; turn++) // the places of a chessboard's two colours
        for (int y = p->y0; y < p->y1; y++)
            for (int x = p->x0 + (p->x0 + y + turn) % 2; x < p->x1; x += 2)
                relax(m, y, x);
    for (int i = 0; i < places; i++)
        m->logits[i] = 2 * atanhf(fminf(fmaxf(m->now[i], -p->most), p->most));
}

void sam_random_walk_ref(struct sam_queue *q, const struct sam_random_walk *p)
{
    const size_t places = (size_t) p->logits.h * p->logits.w;
    const float *right = p->edges.data;
    for (int n = 0; n < p->logits.n; n++) {
        float *room = (float *) p->room.data + 2 * n * places;
        const struct walk m = { p, right, right + places,
                                (float *) p->logits.data + n * places, room, room + places };
        if (sam_load(&p->score, n) > 0)
            walk(&m);
    }
}

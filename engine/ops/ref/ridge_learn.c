// SPDX-License-Identifier: MIT
#include <string.h>

#include "ops/ref/ref.h"

// Sums of one kind: a lower triangle, row by row, and the right-hand side.
struct sums {
    float *a, *b;
};

static size_t triangle(int numbers)
{
    return (size_t) numbers * (numbers + 1) / 2;
}

// s += the sums over all cells, times `part`.
static void add_frame(const struct sam_ridge_learn *p, const float *shares, struct sums s,
                      float part)
{
    const int c = p->features.c, w = p->features.w, cells = p->features.h * w;
    int inside = 0;
    for (int i = 0; i < cells; i++)
        inside += shares[i] > 0.5f;
    for (int i = 0; i < cells; i++) {
        const float y = 2 * shares[i] - 1;
        float weight = part / (float) (shares[i] > 0.5f ? inside : cells - inside);
        weight *= ref_is_near(shares, p->features.h, w, p->near, i) ? 1 : p->far;
        weight *= p->unsure + (1 - p->unsure) * fabsf(y);
        float x[SAM_MAX_RIDGE + 1], *row = s.a;
        memcpy(x, (const float *) p->features.data + (size_t) i * c, c * sizeof(*x));
        x[c] = 1;
        for (int r = 0; r <= c; r++) {
            for (int k = 0; k <= r; k++)
                row[k] += weight * x[r] * x[k];
            row += r + 1;
            s.b[r] += weight * y * x[r];
        }
    }
}

static void learn(const struct sam_ridge_learn *p, int n, float *sums)
{
    const int numbers = p->features.c + 1, k = ref_count(&p->prompted, n);
    const int cells = p->features.h * p->features.w;
    const size_t half = triangle(numbers) + numbers;
    float *shares = (float *) p->room.data + (size_t) n * 2 * cells;
    const struct sums prompted = { sums, sums + triangle(numbers) };
    const struct sums tracked = { sums + half, sums + half + triangle(numbers) };
    for (int i = 0; i < cells; i++)
        shares[i] = ref_share(&p->logits, n, i / p->features.w, i % p->features.w);
    for (size_t i = 0; i < half; i++) {
        prompted.a[i] *= k ? 1 - 1 / (float) k : 1; // the right-hand side stands behind
        tracked.a[i] = k ? 0 : p->keep * tracked.a[i];
    }
    if (k)
        add_frame(p, shares, prompted, 1 / (float) k);
    else
        add_frame(p, shares, tracked, 1 - p->keep);
}

void sam_ridge_learn_ref(struct sam_queue *q, const struct sam_ridge_learn *p)
{
    for (int n = 0; n < p->logits.n; n++) {
        const int after = ref_count(&p->after, n);
        if (after < 0)
            continue;
        float *sums = ref_carry_row(&p->sums, ref_count(&p->before, n), after);
        if (sam_load(&p->score, n) > 0)
            learn(p, n, sums);
    }
}

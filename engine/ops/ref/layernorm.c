// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// Two passes over the row, because E[x^2] - E[x]^2 loses all its digits when the mean is large
// against the spread, as it is after the patch embedding.
static void normalize_row(const struct sam_layernorm *p, size_t row)
{
    const int c = p->src.c;
    const size_t at = row * c;

    double mean = 0, var = 0;
    for (int i = 0; i < c; i++)
        mean += sam_load(&p->src, at + i);
    mean /= c;
    for (int i = 0; i < c; i++) {
        const double d = sam_load(&p->src, at + i) - mean;
        var += d * d;
    }
    var /= c;

    const double scale = 1 / sqrt(var + p->eps);
    for (int i = 0; i < c; i++) {
        const double x = (sam_load(&p->src, at + i) - mean) * scale;
        const float y = (float) (x * sam_load(&p->gamma, i) + sam_load(&p->beta, i));
        sam_store(&p->dst, at + i, ref_act(p->act, y));
    }
}

void sam_layernorm_ref(struct sam_queue *q, const struct sam_layernorm *p)
{
    for (size_t row = 0; row < sam_rows(&p->src); row++)
        normalize_row(p, row);
    if (p->sum.data)
        sam_add_ref(q, &(struct sam_add) { p->sum, p->dst, p->add, 1 });
}

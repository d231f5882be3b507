// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// Two passes, as in layernorm.c. at: of the first channel of the group in the first position.
static void normalize(const struct sam_groupnorm *p, size_t at, int channel)
{
    const int c = p->src.c, width = c / p->groups;
    const size_t positions = (size_t) p->src.h * p->src.w;
    double mean = 0, var = 0;

    for (size_t i = 0; i < positions * width; i++)
        mean += sam_load(&p->src, at + i / width * c + i % width);
    mean /= (double) positions * width;
    for (size_t i = 0; i < positions * width; i++) {
        const double d = sam_load(&p->src, at + i / width * c + i % width) - mean;
        var += d * d;
    }
    var /= (double) positions * width;

    const double scale = 1 / sqrt(var + p->eps);
    for (size_t i = 0; i < positions * width; i++) {
        const size_t to = at + i / width * c + i % width, k = channel + i % width;
        const double x = (sam_load(&p->src, to) - mean) * scale;
        const float y = (float) (x * sam_load(&p->gamma, k) + sam_load(&p->beta, k));
        sam_store(&p->dst, to, ref_act(p->act, y));
    }
}

void sam_groupnorm_ref(struct sam_queue *q, const struct sam_groupnorm *p)
{
    const int width = p->src.c / p->groups;
    for (int n = 0; n < p->src.n; n++)
        for (int g = 0; g < p->groups; g++)
            normalize(p, ref_pixel(&p->src, n, 0, 0) + (size_t) g * width, g * width);
}

// SPDX-License-Identifier: MIT
// Multi-scale deformable attention, one query and one head at a time, sums in double. Only the
// coordinates are F32, step by step as the contract has them: every backend looks at one place.

#include "ops/ref/ref.h"

// What one head of one query works on.
struct look {
    const float *offsets, *weights, *reference;
    size_t value; // number of the first channel of this head in row 0 of the first map
};

// A coordinate in positions of a map with `size` of them; extent: of the box, along this axis.
static float position(const struct sam_deform_attention *p, float middle, float extent,
                      float offset, int size)
{
    float shift = offset / (float) size;
    if (p->references.c == 4) {
        shift = offset / (float) p->points;
        shift *= extent;
        shift *= 0.5f;
    }
    float at = middle + shift;
    at *= (float) size;
    return at - 0.5f;
}

// sum += weight * the value at (x, y) of map `level`, whose first row is `first`.
static void add_value(const struct sam_deform_attention *p, const struct look *look, int level,
                      size_t first, double weight, float x, float y, double *sum)
{
    const int width = p->width[level], height = p->height[level];
    if (!(x > -1 && x < width && y > -1 && y < height))
        return;
    const int x0 = (int) floorf(x), y0 = (int) floorf(y);
    for (int row = y0; row <= y0 + 1; row++)
        for (int column = x0; column <= x0 + 1; column++) {
            const double down = 1 - fabs((double) y - row), across = 1 - fabs((double) x - column);
            if (row >= 0 && row < height && column >= 0 && column < width)
                ref_accumulate(sum, weight * down * across, &p->values,
                               (first + (size_t) row * width + column) * p->values.c + look->value,
                               p->values.c / p->heads);
        }
}

static void attend(const struct sam_deform_attention *p, const struct look *look, size_t first,
                   double *sum)
{
    const int samples = p->levels * p->points;
    const float *box = look->reference;
    double largest = -INFINITY, total = 0;
    for (int s = 0; s < samples; s++)
        largest = look->weights[s] > largest ? look->weights[s] : largest;
    for (int s = 0; s < samples; s++)
        total += exp(look->weights[s] - largest);
    for (int s = 0; s < samples; s++) {
        const int level = s / p->points;
        const float x = position(p, box[0], box[p->references.c - 2], look->offsets[2 * s],
                                 p->width[level]);
        const float y = position(p, box[1], box[p->references.c - 1], look->offsets[2 * s + 1],
                                 p->height[level]);
        add_value(p, look, level, first, exp(look->weights[s] - largest) / total, x, y, sum);
        if (s % p->points == p->points - 1)
            first += (size_t) p->height[level] * p->width[level];
    }
}

void sam_deform_attention_ref(struct sam_queue *q, const struct sam_deform_attention *p)
{
    const size_t queries = p->dst.w, samples = p->levels * p->points;
    const size_t rows = (size_t) p->values.h * p->values.w;
    const int channels = p->dst.c / p->heads;
    for (size_t i = 0; i < p->dst.n * queries; i++)
        for (int head = 0; head < p->heads; head++) {
            const size_t first = (i * p->heads + head) * samples;
            const size_t box = p->references.n == 1 ? i % queries : i;
            const struct look look = {
                .offsets = (const float *) p->offsets.data + 2 * first,
                .weights = (const float *) p->weights.data + first,
                .reference = (const float *) p->references.data + box * p->references.c,
                .value = (size_t) head * channels,
            };
            double sum[SAM_MAX_HEAD_DIM] = { 0 };
            attend(p, &look, i / queries * rows, sum);
            for (int c = 0; c < channels; c++)
                sam_store(&p->dst, i * p->dst.c + head * channels + c, (float) sum[c]);
        }
}

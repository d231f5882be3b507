// SPDX-License-Identifier: MIT
// The position embedding at another size of the input.
#include <math.h>

#include "rfdetr.h"

// The cubic filter with a = -1/2, which PyTorch uses where it antialiases.
static double cubic(double x)
{
    const double a = -0.5;

    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0;
}

// One axis: position i of `to` from the `from` numbers at src, src + step, ...
static void scale_one(const float *src, int from, float *dst, int to, size_t step, int i)
{
    const double ratio = (double) from / to, width = ratio > 1 ? ratio : 1;
    const double centre = ratio * (i + 0.5);
    int lo = (int) (centre - 2 * width + 0.5), hi = (int) (centre + 2 * width + 0.5);
    double sum = 0, weights = 0;

    lo = lo > 0 ? lo : 0;
    hi = hi < from ? hi : from;
    for (int k = lo; k < hi; k++) {
        const double weight = cubic((k - centre + 0.5) / width);
        weights += weight;
        sum += weight * src[(size_t) k * step];
    }
    dst[(size_t) i * step] = (float) (sum / weights);
}

void rfdetr_scale_positions(const float *src, int from, float *dst, int to, int c, float *room)
{
    const size_t row = (size_t) to * c; // of room and dst

    for (int y = 0; y < from; y++)
        for (int i = 0; i < c; i++)
            for (int x = 0; x < to; x++)
                scale_one(src + (size_t) y * from * c + i, from, room + y * row + i, to,
                          (size_t) c, x);
    for (size_t i = 0; i < row; i++)
        for (int y = 0; y < to; y++)
            scale_one(room + i, from, dst + i, to, row, y);
}

// SPDX-License-Identifier: MIT
#include "position.h"

#include <math.h>
#include <stddef.h>

static const double pi = 3.14159265358979323846;

// Half of a sine map: `c` channels of position p in (0, 2 pi].
static void sine_code(double p, int c, float *dst)
{
    for (int i = 0; i < c; i++) {
        const double angle = p / pow(10000.0, (double) (i / 2 * 2) / c);
        dst[i] = (float) (i % 2 ? cos(angle) : sin(angle));
    }
}

void sam_position_sine(int side, int c, float *dst)
{
    const double step = 2 * pi / (side + 1e-6);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++, dst += c) {
            sine_code((y + 1) * step, c / 2, dst);
            sine_code((x + 1) * step, c / 2, dst + c / 2);
        }
}

void sam_position_fourier(const float *gaussian, int c, double x, double y, float *dst)
{
    const int half = c / 2;
    for (int i = 0; i < half; i++) {
        const double v = (2 * x - 1) * gaussian[i] + (2 * y - 1) * gaussian[half + i];
        dst[i] = (float) sin(2 * pi * v);
        dst[half + i] = (float) cos(2 * pi * v);
    }
}

void sam_position_fourier_map(const float *gaussian, int side, int c, float *dst)
{
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++, dst += c)
            sam_position_fourier(gaussian, c, (x + 0.5) / side, (y + 0.5) / side, dst);
}

void sam_position_rope(int side, int c, float *dst)
{
    const int quarter = c / 4; // pairs per axis
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++, dst += c)
            for (int i = 0; i < quarter; i++) {
                const double w = pow(10000.0, -4.0 * i / c);
                float *px = dst + 2 * i, *py = dst + 2 * (quarter + i);
                px[0] = (float) cos(x * w), px[1] = (float) sin(x * w);
                py[0] = (float) cos(y * w), py[1] = (float) sin(y * w);
            }
}

// Keys' cubic kernel with a = -0.75, PyTorch's, at distance t.
static double cubic(double t)
{
    const double a = -0.75;
    t = fabs(t);
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1
         : t < 2  ? ((t - 5) * t + 8) * t * a - 4 * a
                  : 0;
}

// The four taps that make entry `i` of `out` from `in` entries, corners not aligned; taps
// beyond the border fall on it.
static void cubic_taps(int i, int in, int out, int at[4], float weight[4])
{
    const double centre = (i + 0.5) * in / out - 0.5;
    const int first = (int) floor(centre) - 1;
    for (int k = 0; k < 4; k++) {
        const int j = first + k;
        at[k] = j < 0 ? 0 : j >= in ? in - 1 : j;
        weight[k] = (float) cubic(centre - j);
    }
}

void sam_position_scale(const float *map, int size, int side, int c, float *scratch, float *dst)
{
    int at[4];
    float weight[4];

    for (int x = 0; x < side; x++) { // (c, size, size) -> (size, side, c)
        cubic_taps(x, size, side, at, weight);
        for (int y = 0; y < size; y++)
            for (int i = 0; i < c; i++) {
                const float *row = map + ((size_t) i * size + y) * size;
                float sum = 0;
                for (int k = 0; k < 4; k++)
                    sum += weight[k] * row[at[k]];
                scratch[((size_t) y * side + x) * c + i] = sum;
            }
    }
    for (int y = 0; y < side; y++) { // -> (side, side, c)
        cubic_taps(y, size, side, at, weight);
        for (int x = 0; x < side; x++)
            for (int i = 0; i < c; i++) {
                float sum = 0;
                for (int k = 0; k < 4; k++)
                    sum += weight[k] * scratch[((size_t) at[k] * side + x) * c + i];
                dst[((size_t) y * side + x) * c + i] = sum;
            }
    }
}

void sam_position_hiera(const float *background, int size, const float *window, int window_size,
                        int side, int c, float *scratch, float *dst)
{
    const size_t tile = (size_t) window_size * window_size;

    sam_position_scale(background, size, side, c, scratch, dst);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++, dst += c)
            for (int i = 0; i < c; i++)
                dst[i] += window[i * tile + y % window_size * window_size + x % window_size];
}

// SPDX-License-Identifier: MIT
// See ridge.h.

#include "ops/cpu/ridge.h"
#include "ops/cpu/vec.h"

enum { ROWS = SAM_RIDGE_ROWS };

// A tile of `ROWS` rows and two vectors of columns, or one.
#define TILE(name, vectors)                                                                    \
    static void name(float *sums, const float *left, const float *features, int cells, int rows, \
                     int c)                                                                    \
    {                                                                                          \
        vf sum[ROWS][vectors];                                                                 \
        for (int r = 0; r < ROWS; r++)                                                         \
            for (int v = 0; v < vectors; v++)                                                  \
                sum[r][v] = vf_load(sums + r * c + v * VL);                                    \
        for (int i = 0; i < cells; i++, left += rows, features += c)                           \
            for (int v = 0; v < vectors; v++) {                                                \
                const vf x = vf_load(features + v * VL);                                       \
                for (int r = 0; r < ROWS; r++)                                                 \
                    sum[r][v] += left[r] * x;                                                  \
            }                                                                                  \
        for (int r = 0; r < ROWS; r++)                                                         \
            for (int v = 0; v < vectors; v++)                                                  \
                vf_store(sums + r * c + v * VL, sum[r][v]);                                    \
    }
TILE(wide_tile, 2)
TILE(tile, 1)

static void column(float *sums, const float *left, const float *features, int cells, int rows,
                   int c)
{
    for (int i = 0; i < cells; i++, left += rows, features += c)
        for (int r = 0; r < ROWS; r++)
            sums[r * c] += left[r] * *features;
}

void SAM_LEVEL(sam_ridge_products)(float *sums, const float *left, const float *features, int cells,
                                   int rows, int c)
{
    for (int r = 0; r < rows; r += ROWS) {
        const int end = r + ROWS > c ? c : r + ROWS;
        int k = 0;
        for (; k < end && k + 2 * VL <= c; k += 2 * VL)
            wide_tile(sums + r * c + k, left + r, features + k, cells, rows, c);
        for (; k < end && k + VL <= c; k += VL)
            tile(sums + r * c + k, left + r, features + k, cells, rows, c);
        for (; k < end; k++)
            column(sums + r * c + k, left + r, features + k, cells, rows, c);
    }
}

// SPDX-License-Identifier: MIT
// Products of features for ridge regression: private to ops/cpu.
#ifndef SAM_RIDGE_H
#define SAM_RIDGE_H

enum { SAM_RIDGE_ROWS = 4 }; // of a tile; left has whole tiles

// sums[r][k] += sum over cells of left[cell][r] features[cell][k], for rows r in whole tiles and k
// in [0, c); only where k is at most the last row of r's tile, or that has rows from c on.
typedef void sam_ridge_products(float *sums, const float *left, const float *features, int cells,
                                int rows, int c);

// ridge_products.c
sam_ridge_products sam_ridge_products_generic, sam_ridge_products_avx2, sam_ridge_products_avx512,
    sam_ridge_products_neon;

#endif // SAM_RIDGE_H

// SPDX-License-Identifier: MIT
// Random walks over rows of places: private to ops/cpu.
#ifndef SAM_WALK_H
#define SAM_WALK_H

#include <stddef.h>

// Columns begin to end - 1 of a row, of which every other one is relaxed, `begin` first. Rows
// beyond the map are any other row, with edges of weight 0.
struct sam_walk_row {
    float *now;
    const float *given, *above, *below;
    const float *right, *up, *down; // weights of the edges there
    int begin, end, width;
    float fidelity, relaxation;
};

struct sam_walk_kernels {
    void (*prior)(float *dst, const float *logits, int count); // tanh(l / 2)
    void (*relax)(const struct sam_walk_row *row);
};

// walk_row.c
extern const struct sam_walk_kernels sam_walk_kernels_generic, sam_walk_kernels_avx2,
    sam_walk_kernels_avx512, sam_walk_kernels_neon;

#endif // SAM_WALK_H

// SPDX-License-Identifier: MIT
// Cells that cover 2 x 2 logits: private to ops/cpu.
#ifndef SAM_CELLS_H
#define SAM_CELLS_H

#include <stddef.h>

enum { SAM_MAX_CELLS_WIDE = 1 << 17 }; // by which three stretched rows fit in a thread's workspace

// logits, 2 h x 2 w, += scale times h x w cells that are stretched to them. wide: 6 w numbers.
void sam_add_cells(float *logits, const float *cells, int h, int w, float scale, float *wide);

#endif // SAM_CELLS_H

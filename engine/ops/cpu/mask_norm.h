// SPDX-License-Identifier: MIT
// The first convolution of a mask and the norm behind it: private to ops/cpu.
#ifndef SAM_MASK_NORM_H
#define SAM_MASK_NORM_H

#include <stdint.h>

#include "ops/ops.h"

enum { SAM_MASK_CHANNELS = 4, SAM_MASK_TAPS = 9 };

// One output row, BF16: of each position SAM_MASK_CHANNELS sums of 3 x 3 numbers, two columns from
// one position to the next, rounded, then normalized. rows: BF16, of a multiple of 4 bytes; the
// window of position x begins at number 2 x - 1. They are read 64 bytes beyond what counts.
struct sam_mask_norm {
    uint16_t *dst;
    const float *rows[3];
    int width; // positions
    float weight[SAM_MASK_CHANNELS][SAM_MASK_TAPS], bias[SAM_MASK_CHANNELS];
    float gamma[SAM_MASK_CHANNELS], beta[SAM_MASK_CHANNELS], eps;
    enum sam_act act;
};
typedef void sam_mask_norm(const struct sam_mask_norm *m);

extern sam_mask_norm sam_mask_norm_bf16; // mask_norm.c

#endif // SAM_MASK_NORM_H

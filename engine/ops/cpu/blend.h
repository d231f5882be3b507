// SPDX-License-Identifier: MIT
// Colours over a row of a frame: private to ops/cpu. The arithmetic is that of struct sam_paint.
#ifndef SAM_BLEND_H
#define SAM_BLEND_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/ops.h"

// Bytes after which the numbers of every format begin anew: a multiple of 1, 2, 3 and 4, and of a
// vector of 16.
enum { SAM_BLEND_PERIOD = 48, SAM_BLEND_INKS = 16 };

// Numbers of a plane that are sampled alike.
struct sam_blend_stream {
    int plane, step; // bytes from one sample to the next
    int w_sub, h_sub;
    int8_t number[SAM_BLEND_PERIOD]; // of the colour, for each byte; -1: the byte is kept
};

// What one colour makes of a byte b: (b * factor + term) / 255.
struct sam_blend_ink {
    uint32_t colour;
    bool is_mixed; // factor and term are set
    uint16_t factor[3][SAM_BLEND_PERIOD], term[3][SAM_BLEND_PERIOD]; // of each stream
};

// A frame to blend over. Threads that share one need one of these each.
struct sam_blend {
    const struct sam_frame *frame;
    bool has_alpha, is_clear; // see struct sam_overlay
    int num_streams;
    struct sam_blend_stream stream[3];
    struct sam_blend_ink ink[SAM_BLEND_INKS];
};

void sam_blend_begin(struct sam_blend *b, const struct sam_frame *f, int has_alpha);

// Blend the colours of n pixels from (x, y) on.
typedef void sam_blend_row(struct sam_blend *b, int y, int x, int n, const uint32_t *colour);

// blend_row.c
sam_blend_row sam_blend_row_generic, sam_blend_row_avx2, sam_blend_row_avx512, sam_blend_row_neon;

#endif // SAM_BLEND_H

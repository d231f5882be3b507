// SPDX-License-Identifier: MIT
// The 2-D spatial perceiver: compresses a memory map to latents that attend to all of it, and to a
// grid of latents that attend to one window each.
#ifndef SAM_PERCEIVER_H
#define SAM_PERCEIVER_H

#include "sizes.h"

enum { SAM_MAX_PERCEIVER_LAYERS = 8 };

int sam_perceiver_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// Marks: spatial_perceiver.pos, .layer<i>_1d, .layer<i>_2d, .out, .out_pos.
extern const struct sam_compressor sam_perceiver;

#endif // SAM_PERCEIVER_H

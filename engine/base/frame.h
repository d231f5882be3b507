// SPDX-License-Identifier: MIT
// The caller's frames: what their planes hold.
#ifndef SAM_FRAME_H
#define SAM_FRAME_H

#include <stdbool.h>

#include "samtrack/samtrack.h"

// Bytes in a row of a frame's plane; 0 where its format has no such plane, -1 where there is no
// such format.
int sam_frame_row_bytes(const struct sam_frame *f, int plane);

// Rows of a plane of it.
static inline int sam_frame_rows(const struct sam_frame *f, int plane)
{
    return plane ? (f->height + 1) / 2 : f->height;
}

// Bytes of all its planes, without padding.
size_t sam_frame_bytes(const struct sam_frame *f);

// Whether the weights of its Y'CbCr define a matrix; other formats have none.
bool sam_frame_colour_fits(const struct sam_frame *f);

#endif // SAM_FRAME_H

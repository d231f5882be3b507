// SPDX-License-Identifier: MIT
// Blur and squares: what a painter hides of frames.
//
// The rules of samtrack.h apply: NULL, sizes, errors, threads, ownership.
#ifndef SAMTRACK_COVER_H
#define SAMTRACK_COVER_H

#include <samtrack/samtrack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SAM_MIN_CELL = 8, // px
    SAM_MAX_CELL = 256,
};

// What a painter hides of a frame, and behind what: means of square cells, which lie side by side
// from the frame's upper left on; in planes with less chroma they have less samples.
struct sam_cover {
    size_t size; // sizeof(struct sam_cover), set by the caller
    int x, y, width, height; // the area; must be inside the frame
    // In host memory, a byte per pixel of the area, rows `stride` bytes apart: what is not 0 is
    // hidden, and with it all that shares a sample of chroma.
    const uint8_t *map;
    int stride;
    int cell;   // px, SAM_MIN_CELL .. SAM_MAX_CELL
    int smooth; // 0: a cell has one colour, its mean; else colours go over into each other between
                // the centres of cells
};

#define SAM_COVER_INIT { .size = sizeof(struct sam_cover) }

// Hide what a cover has of a frame of any pixel format behind means of what the frame shows there.
// The fourth byte of RGBA and BGRA stays. Memory and errors as in sam_painter_draw(), of the cover.
// The painter keeps room for means of the largest frame: 4 bytes per cell and number.
SAM_API int sam_painter_cover(sam_painter *p, const struct sam_frame *frame,
                              const struct sam_cover *cover, struct sam_error *error);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_COVER_H

// SPDX-License-Identifier: MIT
// Blur, squares and other frames: what a painter hides of frames, and what it looks at.
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
    SAM_MAX_KEPT = 2,    // frames that a painter keeps
    SAM_MAX_LOOK = 1024, // samples each way
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

// Keep a copy of a frame of any pixel format, instead of the one that was kept under that number, 1
// .. SAM_MAX_KEPT. The frame may also be in host memory where the painter works in a GPU's; that is
// slow. The painter allocates the frame's bytes if it has less.
// SAM_EINVAL, SAM_ENOMEM: then nothing is kept under that number. SAM_EDEVICE as of
// sam_painter_draw().
SAM_API int sam_painter_keep(sam_painter *p, int number, const struct sam_frame *frame,
                             struct sam_error *error);

// Show a kept frame in the place of one of the same format and size: of all of it, bit by bit, if
// cover is NULL; else where the cover's map says so, whose bytes are 255ths of the kept frame. Its
// cells have no meaning. Pixels that share chroma share the mean of what they have of the map, and
// the fourth byte of RGBA and BGRA stays.
// SAM_ENOTFOUND: nothing is kept under that number. SAM_EINVAL: also another format or size. Memory
// and other errors as in sam_painter_draw(), of the cover.
SAM_API int sam_painter_show(sam_painter *p, int number, const struct sam_frame *frame,
                             const struct sam_cover *cover, struct sam_error *error);

// Have RGBA or BGRA frames transparent where a cover's map says so, whose bytes are 255ths that
// alpha loses. Memory and errors as in sam_painter_show(); SAM_EINVAL also of other formats.
SAM_API int sam_painter_clear(sam_painter *p, const struct sam_frame *frame,
                              const struct sam_cover *cover, struct sam_error *error);

// Read samples of a frame, columns * rows bytes: luma, or green of RGB, the upper 8 bits of numbers
// of more, at the pixels ((2 x + 1) width / (2 columns), (2 y + 1) height / (2 rows)). From a GPU's
// memory the rows that they are in are copied. The painter keeps room for these.
// SAM_EINVAL, SAM_ENOMEM; SAM_EDEVICE as of sam_painter_draw().
SAM_API int sam_painter_look(sam_painter *p, const struct sam_frame *frame, int columns, int rows,
                             uint8_t *samples, struct sam_error *error);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_COVER_H

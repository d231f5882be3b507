// SPDX-License-Identifier: MIT
// The contracts of the operations that change frames: a part of ops.h, which includes it.
#ifndef SAM_PAINTING_H
#define SAM_PAINTING_H

#include "base/frame.h"
#include "base/tensor.h"
#include "samtrack/cover.h"

// Colours over a frame, in place. A pixel inside the area gets the colour
//   of the last patch that covers it: its ink where a bit of its picture is set there, or, of a
//   picture of shades s, each of four bytes (colour (255 - s) + ink s + 127) / 255; else
//   fill[l] of its own label l, where line_width is 0; else
//   a mix of that, line[l] and what the labels around it bring. Without a label map: none.
// Lines: labels whose fill and line have alpha 0 count as one, the bare one. A pixel is near where
// one of the area up to line_width away, along the row or the column, has another label. In the 5 x
// 5 pixels around, of weights (1 2 3 2 1) both ways, 81 in all (beyond the area its nearest pixel
// counts), `same` is the weight of those with the pixel's label, `inner` that of those of them
// that are not near, and m the label of the heaviest with another one, the first of equal ones in
// the order of rows. Eighths, quotients towards 0:
//   other = (445 - 8 same) / 27, 0 .. 4, of line[m]; of the contour's colour if m is bare
//   bare pixels: 8 - other of the contour; if other is 0, (81 - same) 8 / 27, 0 .. 8
//   fill = (8 inner - 203) / 27, 0 .. 8, times (8 - other) / 8, of fill[l]; of line[l] the rest.
// A straight edge along rows or columns is as sharp as the label map; steps of others become ramps.
// Shares s of colours of alpha a and numbers c mix to alpha (sum of s a + 4) / 8, numbers (sum of
// s a c + half of the sum of s a) / (sum of s a), all rounded down.
// The label of a pixel: pixel i of a side of `size` lies t = max(0, (2 i + 1) cells 128 / size
// - 128) 256ths of a cell behind the middle of the first, rounded down: between cells t / 256 and
// the next (the last is its own next), which weighs t % 256, the other the rest. Of the four cells
// around, those with one label add their weights (products of both sides'); the heaviest label
// wins, the first of equal ones in the order of rows.
// With the colour's alpha a and its number c of 255, a number b of the frame becomes
//   (b (255 - a) + a c) / 255, rounded down; nothing changes where a is 0.
//   P010: b is 16 bits, b | b >> 10 of them; a and c are shifted left by 8, and 255 is 65535; of
//   the result the lower six bits are 0.
//   has_alpha, and RGBA or BGRA, whose own is A: A' = a + r / 255, r = A (255 - a); b becomes
//   min(255, (a c + b r / 255) / A'), each quotient rounded down. Where it is 2, all bytes of the
//   area become 0 before.
// GRAY8 has the number Y. Chroma that pixels share goes by the upper left one. The frame's planes,
// which are written though they are const, are the device's memory where it is not the host's; the
// label map is where it says it is; the rest is the host's.
struct sam_paint {
    struct sam_frame frame;
    const struct sam_overlay *overlay;
};

// Words in a row of a patch's picture, and its rows.
static inline int sam_patch_words(const struct sam_patch *p)
{
    if (p->scale == SAM_PATCH_SHADES)
        return (p->width + 3) / 4;
    return ((p->width + p->scale - 1) / p->scale + 31) / 32;
}

static inline int sam_patch_rows(const struct sam_patch *p)
{
    if (p->scale == SAM_PATCH_SHADES)
        return p->height;
    return (p->height + p->scale - 1) / p->scale;
}

// Blur, or squares, in place: what a cover hides of a frame is replaced by means of cells. A plane
// is rows of units: numbers of one pixel, or of the 2 x 2 pixels (YUY2: 2 x 1, Y U Y V) that share
// chroma. A unit is hidden where the cover has a byte other than 0 at one of its pixels; outside of
// the cover's area nothing is. The plane is cut into cells of h x w units, from its upper left on.
// Of each cell and each number of a unit m = (sum + count / 2) / count. Unit (y, x) becomes
//   m of its cell; if smooth (quotients towards 0, except floor()):
//   with t = 2 y + 1 - h, i = floor(t / 2 h) and v = (t - 2 h i) 128 / h, of each column of cells
//   c = m[i] (256 - v) + m[i + 1] v; with u = x - w / 2, j = floor(u / w),
//   s = 256 (c[j + 1] - c[j]) / w:
//   floor((256 c[j] + s / 2 + s (u - w j)) / 65536). Instead of cells beyond the edges the last.
// Numbers have 8 bits; of P010 16, and of the result the lower six are 0. The fourth byte of RGBA
// and BGRA stays. The frame's memory is as in sam_paint; the cover and its map are the host's.
struct sam_blur {
    struct sam_frame frame;
    const struct sam_cover *cover;
    struct sam_tensor room; // I32 (1, 1, 1, sam_blur_numbers() or more), for a plane's means
};

// A plane as rows of units, see struct sam_blur; none where the format has no such plane.
struct sam_units {
    int units, rows, numbers;    // units of a row, rows; numbers of a unit
    int unit_width, unit_height; // px
};

struct sam_units sam_frame_units(const struct sam_frame *f, int plane);

// A plane's cells that hidden units may take colours from; none where the format has no such plane.
struct sam_cells {
    int width, height; // of a cell, in units and rows
    int column, line, columns, lines;
};

struct sam_cells sam_blur_cells(const struct sam_blur *p, int plane);

int sam_blur_numbers(const struct sam_blur *p);

// What a cover has of a frame is replaced by another frame of its format and size, in place. The
// share a of a unit, see struct sam_blur, is the cover's byte where it is one pixel; else the mean
// of four, (b + b + b + b + 2) / 4, the corners of its pixels: of the frame's, so that at its edge
// the last one counts again. Outside of the cover's area it is 0. A number b becomes, with c of the
// other frame,
//   (b (255 - a) + c a + 127) / 255, rounded down; nothing changes where a is 0.
// Numbers have 8 bits; of P010 16, and of the result the lower six are 0. The fourth byte of RGBA
// and BGRA stays. Without a cover all bytes of the rows become those of the other frame. Both
// frames' memory is as in sam_paint; the cover, whose cells have no meaning, and its map are the
// host's.
struct sam_replace {
    struct sam_frame frame, other;
    const struct sam_cover *cover; // NULL: none
    // Non-zero: of RGBA and BGRA, with a cover, the fourth byte alone changes, and c is 0; the
    // other frame is not looked at.
    int alpha;
};

// What fronts ask of a patch.
bool sam_patch_fits(const struct sam_overlay *o, const struct sam_patch *p);

#endif // SAM_PAINTING_H

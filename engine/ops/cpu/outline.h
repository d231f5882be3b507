// SPDX-License-Identifier: MIT
// Windows around pixels of a label map: private to ops/cpu. Their weights are those of struct
// sam_paint.
#ifndef SAM_OUTLINE_H
#define SAM_OUTLINE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SAM_WINDOWS   = 32, // pixels at once
    SAM_SHARES    = 9,  // of a colour: eighths
    SAM_SHADES    = 16, // of a label, in a table: SAM_SHARES, and what is looked up in vain
    SAM_PAIR      = 2 * SAM_SHADES, // colours where a label meets the bare one
    SAM_LINE_ROWS = 8,  // whose windows are shaded together
    SAM_RUN_SLACK = 64, // bytes
    SAM_WORDS     = 8,  // of 64 pixels: rows of bits are a multiple of these
};

// Pixels of SAM_LINE_ROWS rows whose colours are not their labels' fill.
struct sam_line_window {
    uint16_t x;
    uint8_t n;
    uint8_t own;  // the label that meets the bare one,
    bool is_pair; // where there is no other, and pixels have an index of their colours
    uint8_t index[SAM_LINE_ROWS][SAM_WINDOWS];
};

struct sam_outline_kernels {
    // Copies n labels to a row, in which they may be already. Which are other ones than that before
    // them, and than that above, whose row may be NULL: a bit each, the lowest first. Up to
    // SAM_RUN_SLACK bytes behind the row are read and written, and one before it is read.
    void (*take_labels)(const uint8_t *from, const uint8_t *upper, int n, int words, uint8_t *row,
                        uint64_t *along, uint64_t *across);

    // What changes come near: those along a row within `line` pixels, of which a word before and
    // behind is read, and those across in `rows` rows. Bits; and bytes, 0 where a bit is set, else
    // 255, of which up to 63 more are written.
    void (*find_near)(const uint64_t *along, const uint64_t *across, int rows, int words, int line,
                      int n, uint64_t *near, uint8_t *inside);

    // shade: SAM_SHARES times the eighths of what is beyond the pixel's label, and those of its
    // fill, of what the former leave; of the contour where the label is `bare`, which may be
    // none's, 256. Two rows and two pixels around are read of both maps, whose rows are `pitch`
    // bytes apart; in `inside` 255 is a pixel that is near no other label, and 0 one that is.
    void (*shade_windows)(const uint8_t *label, const uint8_t *inside, int pitch, int bare,
                          uint8_t shade[SAM_WINDOWS]);

    // The same of `rows` rows, up to SAM_LINE_ROWS, where all labels are `own` and `bare`: what is
    // in windows is then added up along rows, and across. index: SAM_SHADES for `own`, and 0 to 8
    // for the shares of the contour, or of the line by what is left of the fill; 9 to 12 for those
    // of what is beyond. False: there is another label.
    bool (*shade_pair)(const uint8_t *label, const uint8_t *inside, int pitch, int rows, int own,
                       int bare, uint8_t index[][SAM_WINDOWS]);

    // The colours of n pixels of a row of windows: of these by their index, and between them that
    // of their label's fill. What is no pair is left out.
    void (*colour_lines)(const struct sam_line_window *window, int count, int row,
                         const uint32_t (*pair)[SAM_PAIR], const uint8_t *label,
                         const uint32_t fill[256], int n, uint32_t *out);

    // Where runs of equal bytes end in a row of n, which is the last one's end. Returns their
    // number. Up to SAM_RUN_SLACK bytes behind the row are read.
    int (*find_runs)(const uint8_t *row, int n, uint16_t *end);

    // Colours of n pixels, up to SAM_WINDOWS of them, by their label and the lower 4 bits of their
    // shade. SAM_WINDOWS + SAM_SHADES of both are read.
    void (*find_shades)(const uint8_t *label, const uint8_t *shade, int n,
                        const uint32_t (*table)[SAM_SHADES], uint32_t *out);

    void (*fill_colour)(uint32_t *out, int n, uint32_t colour);
};

// outline.c
extern const struct sam_outline_kernels sam_outline_kernels_generic, sam_outline_kernels_avx2,
    sam_outline_kernels_avx512, sam_outline_kernels_neon;

// A colour with alpha 0 paints nothing.
static inline uint32_t sam_visible(uint32_t colour)
{
    return colour >> 24 ? colour : 0;
}

#endif // SAM_OUTLINE_H

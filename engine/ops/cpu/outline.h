// SPDX-License-Identifier: MIT
// Windows around pixels of a label map: private to ops/cpu. Their weights are those of struct
// sam_paint.
#ifndef SAM_OUTLINE_H
#define SAM_OUTLINE_H

#include <stdint.h>

enum {
    SAM_WINDOWS = 32, // pixels at once
    SAM_SHARES  = 9,  // of a colour: eighths
    SAM_SHADES  = 16, // of a label, in a table: SAM_SHARES, and what is looked up in vain
    SAM_RUN_SLACK = 64, // bytes
};

// shade: SAM_SHARES times the eighths of what is beyond the pixel's label, and those of its fill,
// of what the former leave; of the contour where the label is `bare`, which may be none's, 256. Two
// rows and two pixels around are read of both maps, whose rows are `pitch` bytes apart; in `near`
// 255 is a pixel that is near another label.
typedef void sam_shade_windows(const uint8_t *label, const uint8_t *near, int pitch, int bare,
                               uint8_t shade[SAM_WINDOWS]);

// Where runs of equal bytes end in a row of n, which is the last one's end. Returns their number.
// Up to SAM_RUN_SLACK bytes behind the row are read.
typedef int sam_find_runs(const uint8_t *row, int n, uint16_t *end);

// Colours of n pixels, up to SAM_WINDOWS of them, by their label and the lower 4 bits of their
// shade. SAM_WINDOWS + SAM_SHADES of both are read.
typedef void sam_find_shades(const uint8_t *label, const uint8_t *shade, int n,
                             const uint32_t (*table)[SAM_SHADES], uint32_t *out);

typedef void sam_fill_colour(uint32_t *out, int n, uint32_t colour);

// outline.c
sam_shade_windows sam_shade_windows_generic, sam_shade_windows_avx2, sam_shade_windows_avx512,
    sam_shade_windows_neon;
sam_find_runs sam_find_runs_generic, sam_find_runs_avx2, sam_find_runs_avx512, sam_find_runs_neon;
sam_find_shades sam_find_shades_generic, sam_find_shades_avx2, sam_find_shades_avx512,
    sam_find_shades_neon;
sam_fill_colour sam_fill_colour_generic, sam_fill_colour_avx2, sam_fill_colour_avx512,
    sam_fill_colour_neon;

#endif // SAM_OUTLINE_H

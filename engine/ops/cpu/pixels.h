// SPDX-License-Identifier: MIT
// Kernels over rows of pixels: private to ops/cpu. One table per level. Built without fused
// multiply-add, so that a mask cut at zero is the reference's to the pixel.
#ifndef SAM_PIXELS_H
#define SAM_PIXELS_H

#include "ops/cpu/cpu.h"

// Where bilinear interpolation reads for one position: see ref.h.
struct sam_tap {
    int lo, hi;
    float weight; // of hi
};

// Where the triangle filter reads: `count` numbers from `first`, weights from weight[at].
struct sam_tent {
    int first, count, at;
};

// What turns one row of Y'CbCr into R'G'B', the offsets of the range taken in.
struct sam_ycbcr {
    float y_scale, y_bias;           // of Y'
    float r_cr, g_cr, g_cb, b_cb, chroma_bias;
};

struct sam_pixel_kernels {
    // dst[i][k] = (1 - weight) src[lo][k] + weight src[hi][k], k in [0, c)
    void (*stretch)(float *dst, const float *src, const struct sam_tap *taps, int count, int c);
    // dst = (1 - weight) a + weight b
    void (*blend)(float *dst, const float *a, const float *b, float weight, size_t count);
    // dst = weight src, or with `more` dst += weight src
    void (*accumulate)(float *dst, const float *src, float weight, bool more, size_t count);
    // dst[i][k] = sum of weight * src[first + j][k]
    void (*shrink)(float *dst, const float *src, const struct sam_tent *tents,
                   const float *weights, int count, int c);
    // The same for pixels of four numbers, of which three are stored: dst = scale * sum + bias.
    void (*shrink_rgb)(float *dst, const float *src, const struct sam_tent *tents,
                       const float *weights, const float scale[3], const float bias[3], int count);
    // One object's row of logits on the label map: where (1 - weight) a + weight b > best,
    // best becomes that and label becomes slot. best and label may be NULL. Adds to box: see
    // sam_draw_masks; box may be NULL.
    void (*draw)(const float *a, const float *b, float weight, int first, int last, int y,
                 float *best, uint8_t *label, uint8_t slot, int32_t *box);
    // Between four pixels of four numbers, of two rows, rounded to whole numbers, of which three
    // are stored: dst = round(...) / 255. weight: of the lower row; taps: of the columns.
    void (*mix_rgb)(float *dst, const float *upper, const float *lower, float weight,
                    const struct sam_tap *taps, int count);
    // What it gives where columns and rows are those of the frame.
    void (*round_rgb)(float *dst, const float *src, int count);
    // One row to pixels of four numbers, 0 .. 255, the fourth of no meaning. Packed colours: step
    // bytes a pixel, red first, or blue first if swap; grey: step 1.
    void (*load_packed)(float *dst, const uint8_t *src, int step, bool swap, int width);
    // y: step bytes apart; cb, cr: chroma_step bytes apart, one for two pixels. room: 3 (width + 1)
    // floats.
    void (*load_ycbcr)(float *dst, const uint8_t *y, int step, const uint8_t *cb, const uint8_t *cr,
                       int chroma_step, const struct sam_ycbcr *how, float *room, int width);
    // P010: two bytes a sample, the lower first; cb and cr by turns.
    void (*load_wide)(float *dst, const uint8_t *y, const uint8_t *chroma,
                      const struct sam_ycbcr *how, float *room, int width);
};

// pixels.c
extern const struct sam_pixel_kernels sam_pixel_kernels_generic, sam_pixel_kernels_avx2,
    sam_pixel_kernels_avx512, sam_pixel_kernels_neon;

#endif // SAM_PIXELS_H

// SPDX-License-Identifier: MIT
// Masks of detectors: logits of a square map, stretched to a square of one size, and cut at 0.
#ifndef SAM_MASKS_H
#define SAM_MASKS_H

enum {
    SAM_DETECTED_MASK = 384, // px a side
    SAM_DETECTED_PIXELS = SAM_DETECTED_MASK * SAM_DETECTED_MASK,
};

// Row y of the stretched logits; priv is the caller's.
typedef void sam_logits_row(void *priv, const float *row, int y);

// Floats of scratch for a map of size x size logits.
static inline int sam_logits_room(int size)
{
    return (size + 1) * SAM_DETECTED_MASK;
}

// Stretch size x size logits, bilinear, corners not aligned, and give each row to `take`. room has
// sam_logits_room() floats.
void sam_logits_stretch(const float *logits, int size, float *room, sam_logits_row *take,
                        void *priv);

// Whether no number is infinite or a NaN.
int sam_logits_are_finite(const float *logits, int size);

#endif // SAM_MASKS_H

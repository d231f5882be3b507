// SPDX-License-Identifier: MIT
#include "model/masks.h"

#include <stddef.h>

struct tap {
    int lo, hi;
    float weight; // of hi
};

// Where pixel i of a mask reads one of `size` logits.
static struct tap find_tap(int i, int size)
{
    const float scale = (float) size / SAM_DETECTED_MASK;
    float at = scale * ((float) i + 0.5f) - 0.5f;
    if (at < 0)
        at = 0;
    const int lo = (int) at < size - 1 ? (int) at : size - 1;
    return (struct tap) { lo, lo + 1 < size ? lo + 1 : lo, at - (float) lo };
}

static void stretch_rows(const float *logits, int size, float *wide)
{
    for (int x = 0; x < SAM_DETECTED_MASK; x++) {
        const struct tap t = find_tap(x, size);
        for (int y = 0; y < size; y++) {
            const float *from = logits + (size_t) y * size;
            wide[(size_t) y * SAM_DETECTED_MASK + x] =
                (1 - t.weight) * from[t.lo] + t.weight * from[t.hi];
        }
    }
}

void sam_logits_stretch(const float *logits, int size, float *room, sam_logits_row *take,
                        void *priv)
{
    float *wide = room, *row = room + (size_t) size * SAM_DETECTED_MASK;

    stretch_rows(logits, size, wide);
    for (int y = 0; y < SAM_DETECTED_MASK; y++) {
        const struct tap t = find_tap(y, size);
        const float *lo = wide + (size_t) t.lo * SAM_DETECTED_MASK;
        const float *hi = wide + (size_t) t.hi * SAM_DETECTED_MASK;
        for (int x = 0; x < SAM_DETECTED_MASK; x++)
            row[x] = (1 - t.weight) * lo[x] + t.weight * hi[x];
        take(priv, row, y);
    }
}

int sam_logits_are_finite(const float *logits, int size)
{
    float zero = 0;
    for (size_t i = 0; i < (size_t) size * size; i++)
        zero += logits[i] * 0;
    return zero == 0;
}

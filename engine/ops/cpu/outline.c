// SPDX-License-Identifier: MIT
// See outline.h.

#include "ops/cpu/outline.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Levels with shorter registers split a vector; it never crosses a call.
#pragma GCC diagnostic ignored "-Wpsabi"

typedef uint8_t pixels __attribute__((vector_size(SAM_WINDOWS)));

static inline __attribute__((always_inline)) pixels load(const uint8_t *at)
{
    pixels v;
    memcpy(&v, at, sizeof(v));
    return v;
}

void SAM_LEVEL(sam_weigh_windows)(const uint8_t *label, const uint8_t *near, int pitch,
                                  uint8_t same[SAM_WINDOWS], uint8_t inner[SAM_WINDOWS])
{
    const pixels own = load(label);
    pixels all = { 0 }, far = { 0 };
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            const ptrdiff_t at = (ptrdiff_t) dy * pitch + dx;
            const uint8_t weight = (uint8_t) ((3 - abs(dy)) * (3 - abs(dx)));
            const pixels found = (pixels) (load(label + at) == own) & weight;
            all += found;
            far += found & ~load(near + at);
        }
    memcpy(same, &all, sizeof(all));
    memcpy(inner, &far, sizeof(far));
}

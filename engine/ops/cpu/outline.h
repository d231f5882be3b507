// SPDX-License-Identifier: MIT
// Windows around pixels of a label map: private to ops/cpu. Their weights are those of struct
// sam_paint.
#ifndef SAM_OUTLINE_H
#define SAM_OUTLINE_H

#include <stdint.h>

enum { SAM_WINDOWS = 32 }; // pixels at once

// same: of the pixels around that have the pixel's own label; inner: of those of them that are not
// near another one (255 in the map `near`). Both maps have a row every `pitch` bytes; two rows and
// two pixels around are read.
typedef void sam_weigh_windows(const uint8_t *label, const uint8_t *near, int pitch,
                               uint8_t same[SAM_WINDOWS], uint8_t inner[SAM_WINDOWS]);

// outline.c
sam_weigh_windows sam_weigh_windows_generic, sam_weigh_windows_avx2, sam_weigh_windows_avx512,
    sam_weigh_windows_neon;

#endif // SAM_OUTLINE_H

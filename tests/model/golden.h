// SPDX-License-Identifier: MIT
// Goldens: whole runs and stages that the published code wrote.
#ifndef SAM_GOLDEN_H
#define SAM_GOLDEN_H

#include <stdbool.h>

#include "weights/weights.h"

struct golden {
    struct sam_weights *file;
    const char *path;
};

enum golden_layout { GOLDEN_AS_IS, GOLDEN_NCHW };

// A stage as dense floats, malloced; NULL if the golden does not hold it. NCHW becomes NHWC.
// Exits with a sentence where the file is damaged.
float *golden_read(const struct golden *g, const char *stage, enum golden_layout layout,
                   size_t *count);
bool golden_has(const struct golden *g, const char *stage);
// Extent i of a stage.
int golden_extent(const struct golden *g, const char *stage, int i);
// A lone I64.
int64_t golden_integer(const struct golden *g, const char *stage);

// The points of the scenario that a golden file is named after: all that its object was given
// on that frame. Returns how many; -1 where there are none, or a mask was given.
int golden_points(const struct golden *g, int object, int frame, float xy[][2], int *labels,
                  int max);

// Frame `index` of the clip beside the golden, u8 (side, side, 3), malloced; NULL: no clip.
uint8_t *golden_frame(const struct golden *g, int index, int side);

#endif // SAM_GOLDEN_H

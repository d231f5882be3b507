// SPDX-License-Identifier: MIT
// See cells.h: rows of logits, each between two rows of cells that were stretched before.

#include "ops/cpu/cells.h"

// The four cells nearest to a logit weigh 9, 3, 3 and 1 sixteenths; the border repeats itself.
static void stretch(float *wide, const float *cell, int w)
{
    for (int x = 0; x < w; x++) {
        const float here = 0.75f * cell[x];
        wide[2 * x] = here + 0.25f * cell[x ? x - 1 : 0];
        wide[2 * x + 1] = here + 0.25f * cell[x + 1 < w ? x + 1 : x];
    }
}

static void add_row(float *logits, const float *near, const float *far, float scale, int count)
{
    for (int i = 0; i < count; i++)
        logits[i] += scale * (0.75f * near[i] + 0.25f * far[i]);
}

void sam_add_cells(float *logits, const float *cells, int h, int w, float scale, float *wide)
{
    stretch(wide, cells, w);
    for (int y = 0; y < h; y++) {
        const float *here = wide + (size_t) (y % 3) * 2 * w;
        const float *above = y ? wide + (size_t) ((y + 2) % 3) * 2 * w : here, *below = here;
        if (y + 1 < h) {
            stretch(wide + (size_t) ((y + 1) % 3) * 2 * w, cells + (size_t) (y + 1) * w, w);
            below = wide + (size_t) ((y + 1) % 3) * 2 * w;
        }
        add_row(logits + (size_t) y * 4 * w, here, above, scale, 2 * w);
        add_row(logits + (size_t) y * 4 * w + 2 * w, here, below, scale, 2 * w);
    }
}

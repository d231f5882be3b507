// SPDX-License-Identifier: MIT
// What the test of `paint` draws, and what has to come of it.
#ifndef PAINT_SCENE_H
#define PAINT_SCENE_H

#include "test.h"

enum { MAX_WORDS = 4096 };

// What is drawn where.
struct scene {
    struct sam_frame frame;
    struct sam_overlay overlay;
    struct sam_patch patches[SAM_MAX_PATCHES];
    uint32_t bits[MAX_WORDS];
    struct check_buf *plane[3], *labels;
    int offset[3]; // of a plane in its buffer
    uint8_t *want[3]; // the planes as they have to become
};

static inline bool has_fourth(const struct sam_frame *f)
{
    return f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA;
}

// Paint s->want, in another way than the reference. The label map is read at CHECK_REF's place.
void expect_paint(struct scene *s);

#endif // PAINT_SCENE_H

// SPDX-License-Identifier: MIT
#include "ops/cpu/blend.h"

#include <string.h>

static void add_stream(struct sam_blend *b, int plane, int sub, int rows_sub, int step,
                       const int8_t *numbers)
{
    struct sam_blend_stream *s = &b->stream[b->num_streams++];
    *s = (struct sam_blend_stream) { .plane = plane, .step = step, .w_sub = sub,
                                     .h_sub = rows_sub };
    for (int i = 0; i < SAM_BLEND_PERIOD; i++)
        s->number[i] = numbers[i % step];
}

void sam_blend_begin(struct sam_blend *b, const struct sam_frame *f, int has_alpha)
{
    static const int8_t rgba[] = { 0, 1, 2, -1 }, bgra[] = { 2, 1, 0, -1 }, one[] = { 0 },
                        cb[] = { 1 }, cr[] = { 2 }, pair[] = { 1, 2 }, luma[] = { 0, -1 },
                        chroma[] = { -1, 1, -1, 2 }, bgr[] = { 2, 1, 0 };
    b->frame = f;
    b->has_alpha = has_alpha && (f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA);
    b->is_clear = b->has_alpha && has_alpha == 2;
    b->num_streams = 0;
    for (int i = 0; i < SAM_BLEND_INKS; i++)
        b->ink[i].colour = 0, b->ink[i].is_mixed = false;
    switch (f->format) {
    case SAM_PIXEL_RGB:   add_stream(b, 0, 0, 0, 3, rgba); break;
    case SAM_PIXEL_BGR:   add_stream(b, 0, 0, 0, 3, bgr); break;
    case SAM_PIXEL_RGBA:  add_stream(b, 0, 0, 0, 4, rgba); break;
    case SAM_PIXEL_BGRA:  add_stream(b, 0, 0, 0, 4, bgra); break;
    case SAM_PIXEL_GRAY8: add_stream(b, 0, 0, 0, 1, one); break;
    case SAM_PIXEL_NV12:
    case SAM_PIXEL_P010:
        add_stream(b, 0, 0, 0, 1, one);
        add_stream(b, 1, 1, 1, 2, pair);
        break;
    case SAM_PIXEL_I420:
        add_stream(b, 0, 0, 0, 1, one);
        add_stream(b, 1, 1, 1, 1, cb);
        add_stream(b, 2, 1, 1, 1, cr);
        break;
    case SAM_PIXEL_YUY2:
        add_stream(b, 0, 0, 0, 2, luma);
        add_stream(b, 0, 1, 0, 4, chroma);
        break;
    }
}

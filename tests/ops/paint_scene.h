// SPDX-License-Identifier: MIT
// What the tests of `paint` and `blur` draw, and what has to come of it.
#ifndef PAINT_SCENE_H
#define PAINT_SCENE_H

#include <string.h>

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

static const struct {
    enum sam_pixel_format format;
    const char *name;
} formats[] = {
    { SAM_PIXEL_NV12, "nv12" }, { SAM_PIXEL_P010, "p010" }, { SAM_PIXEL_I420, "i420" },
    { SAM_PIXEL_RGBA, "rgba" }, { SAM_PIXEL_BGRA, "bgra" }, { SAM_PIXEL_RGB, "rgb" },
    { SAM_PIXEL_BGR, "bgr" },   { SAM_PIXEL_GRAY8, "gray8" }, { SAM_PIXEL_YUY2, "yuy2" },
};
enum { NUM_FORMATS = sizeof(formats) / sizeof(*formats) };

static inline bool has_fourth(const struct sam_frame *f)
{
    return f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA;
}

static inline void draw_frame(struct check *t, struct scene *s, enum sam_pixel_format format,
                              int width, int height)
{
    struct sam_frame *f = &s->frame;
    static const int steps[] = { 1, 4, 16, 16 };
    const int step = steps[check_int(t, 0, 3)];
    *f = (struct sam_frame) { .format = format, .width = width, .height = height };
    for (int i = 0; i < 3; i++) {
        const int row = sam_frame_row_bytes(f, i), rows = i ? (height + 1) / 2 : height;
        s->plane[i] = &check_none;
        if (!row)
            continue;
        f->stride[i] = (row + step - 1) / step * step + step * check_int(t, 0, step == 1 ? 9 : 1);
        s->offset[i] = step == 16 ? 0 : step * check_int(t, 0, step == 1 ? 9 : 2);
        // The last row ends with its last byte: what is read behind shows.
        s->plane[i] = check_noise(t, 1, s->offset[i] + (rows - 1) * f->stride[i] + row, true);
    }
}

// What is there before, as what is wanted.
static inline void keep_planes(struct check *t, struct scene *s)
{
    for (int i = 0; i < 3; i++) {
        const struct sam_tensor *b = &s->plane[i]->host[CHECK_REF];
        s->want[i] = check_temp(t, 1, 1, 1, b->data ? b->c : 1).data;
        if (b->data)
            memcpy(s->want[i], (uint8_t *) b->data + s->offset[i],
                   sam_tensor_bytes(b) - (size_t) s->offset[i]);
    }
}

static inline struct sam_frame frame_on(const struct check *t, const struct scene *s, int side)
{
    struct sam_frame f = s->frame;
    f.on_device = sam_queue_has_own_memory(&t->queue[side]);
    for (int i = 0; i < 3; i++)
        f.plane[i] = s->plane[i]->on[side].data
                         ? (uint8_t *) s->plane[i]->on[side].data + s->offset[i] : NULL;
    return f;
}

// What the reference painted beside what is wanted.
static inline void compare_to_wanted(struct check *t, const struct scene *s)
{
    for (int i = 0; i < 3; i++) {
        const struct sam_tensor *b = &s->plane[i]->host[CHECK_REF];
        const size_t bytes = b->data ? sam_tensor_bytes(b) - (size_t) s->offset[i] : 0;
        const uint8_t *got = b->data ? (const uint8_t *) b->data + s->offset[i] : NULL;
        for (size_t k = 0; k < bytes; k++)
            if (got[k] != s->want[i][k]) {
                check_fail(t, "the reference, plane %d, row %zu, byte %zu: want %d, got %d", i,
                           k / (size_t) s->frame.stride[i], k % (size_t) s->frame.stride[i],
                           s->want[i][k], got[k]);
                return;
            }
    }
}

// The new side's beside the reference's.
static inline void compare_planes(struct check *t, const struct scene *s)
{
    for (int i = 0; i < 3; i++)
        if (s->plane[i]->host[CHECK_REF].data)
            check_same(t, s->plane[i]);
}

// Paint s->want, in another way than the reference. The label map is read at CHECK_REF's place.
void expect_paint(struct scene *s);

#endif // PAINT_SCENE_H

// SPDX-License-Identifier: MIT
// Random frames of every format, for the operations that read one.
#ifndef FRAMES_H
#define FRAMES_H

#include "check.h"

static const struct {
    enum sam_pixel_format format;
    const char *name;
} formats[] = {
    { SAM_PIXEL_RGB, "rgb" },     { SAM_PIXEL_BGR, "bgr" },   { SAM_PIXEL_RGBA, "rgba" },
    { SAM_PIXEL_BGRA, "bgra" },   { SAM_PIXEL_GRAY8, "gray" }, { SAM_PIXEL_NV12, "nv12" },
    { SAM_PIXEL_I420, "i420" },   { SAM_PIXEL_YUY2, "yuy2" }, { SAM_PIXEL_P010, "p010" },
};
enum { NUM_FORMATS = sizeof(formats) / sizeof(*formats) };

// BT.601 by default and by name, BT.709, and full range.
static const struct sam_colour colours[] = {
    { 0, 0, 0 }, { 0.299f, 0.114f, 1 }, { 0.2126f, 0.0722f, 0 }, { 0.2126f, 0.0722f, 1 },
};

// The planes of a frame, each in its own buffer with rows longer than needed.
static inline struct sam_frame draw_frame(struct check *t, enum sam_pixel_format format,
                                          int width, int height, struct check_buf *plane[3])
{
    const int half_w = (width + 1) / 2, half_h = (height + 1) / 2, more = check_int(t, 0, 9);
    struct sam_frame f = { .format = format, .width = width, .height = height };
    f.stride[0] = more + (format == SAM_PIXEL_RGB || format == SAM_PIXEL_BGR     ? 3 * width
                          : format == SAM_PIXEL_RGBA || format == SAM_PIXEL_BGRA ? 4 * width
                          : format == SAM_PIXEL_YUY2                             ? 4 * half_w
                          : format == SAM_PIXEL_P010                             ? 2 * width
                                                                                 : width);
    f.stride[1] = more + (format == SAM_PIXEL_P010   ? 4 * half_w
                          : format == SAM_PIXEL_NV12 ? 2 * half_w
                                                     : half_w);
    f.stride[2] = half_w + check_int(t, 0, 9);
    const bool planar = format == SAM_PIXEL_I420;
    const bool semi = format == SAM_PIXEL_NV12 || format == SAM_PIXEL_P010;
    plane[0] = check_host_in(t, height, f.stride[0]);
    plane[1] = planar || semi ? check_host_in(t, half_h, f.stride[1]) : &check_none;
    plane[2] = planar ? check_host_in(t, half_h, f.stride[2]) : &check_none;
    return f;
}

#endif // FRAMES_H

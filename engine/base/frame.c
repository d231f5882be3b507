// SPDX-License-Identifier: MIT
#include "frame.h"

int sam_frame_row_bytes(const struct sam_frame *f, int plane)
{
    const int half = (f->width + 1) / 2;
    switch (f->format) {
    case SAM_PIXEL_RGB:
    case SAM_PIXEL_BGR:   return plane == 0 ? 3 * f->width : 0;
    case SAM_PIXEL_RGBA:
    case SAM_PIXEL_BGRA:  return plane == 0 ? 4 * f->width : 0;
    case SAM_PIXEL_GRAY8: return plane == 0 ? f->width : 0;
    case SAM_PIXEL_NV12:  return plane == 0 ? f->width : plane == 1 ? 2 * half : 0;
    case SAM_PIXEL_I420:  return plane == 0 ? f->width : half;
    case SAM_PIXEL_YUY2:  return plane == 0 ? 4 * half : 0;
    case SAM_PIXEL_P010:  return plane == 0 ? 2 * f->width : plane == 1 ? 4 * half : 0;
    }
    return -1;
}

size_t sam_frame_bytes(const struct sam_frame *f)
{
    size_t bytes = 0;
    for (int i = 0; i < 3; i++)
        bytes += (size_t) sam_frame_row_bytes(f, i) * sam_frame_rows(f, i);
    return bytes;
}

bool sam_frame_colour_fits(const struct sam_frame *f)
{
    switch (f->format) {
    case SAM_PIXEL_NV12:
    case SAM_PIXEL_I420:
    case SAM_PIXEL_YUY2:
    case SAM_PIXEL_P010:
        return f->colour.kr >= 0 && f->colour.kb >= 0 && f->colour.kr + f->colour.kb < 1;
    default: return true;
    }
}

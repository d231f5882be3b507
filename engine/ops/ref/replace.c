// SPDX-License-Identifier: MIT
#include <string.h>

#include "ops/ref/ref.h"

struct plane {
    const struct sam_replace *p;
    struct sam_units is;
    uint8_t *data;
    const uint8_t *other;
    int stride, other_stride;
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int byte_of(const struct sam_cover *c, int y, int x)
{
    if (y < c->y || y >= c->y + c->height || x < c->x || x >= c->x + c->width)
        return 0;
    return c->map[(size_t) (y - c->y) * c->stride + (x - c->x)];
}

static int share_of(const struct plane *a, int y, int x)
{
    const struct sam_cover *c = a->p->cover;
    const struct sam_frame *f = &a->p->frame;
    const int top = y * a->is.unit_height, left = x * a->is.unit_width;
    const int bottom = smaller(top + a->is.unit_height, f->height) - 1;
    const int right = smaller(left + a->is.unit_width, f->width) - 1;
    if (a->is.unit_width == 1)
        return byte_of(c, top, left);
    return (byte_of(c, top, left) + byte_of(c, top, right) + byte_of(c, bottom, left) +
            byte_of(c, bottom, right) + 2) / 4;
}

static int load_number(const uint8_t *at, bool is_deep)
{
    return is_deep ? at[0] | at[1] << 8 : at[0];
}

static void mix_number(uint8_t *at, int new, int share, bool is_deep)
{
    const int own = load_number(at, is_deep);
    const int mixed = (own * (255 - share) + new * share + 127) / 255;
    at[0] = (uint8_t) (is_deep ? mixed & 0xc0 : mixed);
    if (is_deep)
        at[1] = (uint8_t) (mixed >> 8);
}

static void replace_row(const struct plane *a, int y)
{
    const enum sam_pixel_format format = a->p->frame.format;
    const bool is_deep = format == SAM_PIXEL_P010;
    const bool has_fourth = format == SAM_PIXEL_RGBA || format == SAM_PIXEL_BGRA;
    const int first = a->p->alpha ? 3 : 0;
    const int end = has_fourth && !a->p->alpha ? 3 : a->is.numbers;
    for (int x = 0; x < a->is.units; x++) {
        const int share = share_of(a, y, x);
        for (int k = first; k < end && share; k++) {
            const size_t at = ((size_t) x * a->is.numbers + k) * (is_deep ? 2 : 1);
            const uint8_t *other = a->other + (size_t) y * a->other_stride + at;
            mix_number(a->data + (size_t) y * a->stride + at,
                       a->p->alpha ? 0 : load_number(other, is_deep), share, is_deep);
        }
    }
}

void sam_replace_ref(struct sam_queue *q, const struct sam_replace *p)
{
    (void) q;
    for (int i = 0; i < 3; i++) {
        const struct plane a = { .p = p,
                                 .is = sam_frame_units(&p->frame, i),
                                 .data = (uint8_t *) (uintptr_t) p->frame.plane[i],
                                 .other = p->other.plane[i],
                                 .stride = p->frame.stride[i],
                                 .other_stride = p->other.stride[i] };
        for (int y = 0; y < a.is.rows && a.is.units; y++) {
            if (p->cover)
                replace_row(&a, y);
            else
                memcpy(a.data + (size_t) y * a.stride, a.other + (size_t) y * a.other_stride,
                       (size_t) sam_frame_row_bytes(&p->frame, i));
        }
    }
}

// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// The nearest four pixels of one output position.
static struct ref_rgb interpolate(const struct sam_frame *f, struct ref_taps v, struct ref_taps h)
{
    const struct ref_rgb a = ref_rgb(f, v.lo, h.lo), b = ref_rgb(f, v.lo, h.hi);
    const struct ref_rgb c = ref_rgb(f, v.hi, h.lo), d = ref_rgb(f, v.hi, h.hi);
    const float wa = (1 - v.weight) * (1 - h.weight), wb = (1 - v.weight) * h.weight;
    const float wc = v.weight * (1 - h.weight), wd = v.weight * h.weight;
    return (struct ref_rgb) { wa * a.r + wb * b.r + wc * c.r + wd * d.r,
                              wa * a.g + wb * b.g + wc * c.g + wd * d.g,
                              wa * a.b + wb * b.b + wc * c.b + wd * d.b };
}

void sam_letterbox_ref(struct sam_queue *q, const struct sam_letterbox *p)
{
    const struct sam_tensor *d = &p->dst;
    for (int y = 0; y < d->h; y++)
        for (int x = 0; x < d->w; x++) {
            const int row = y - p->y, column = x - p->x;
            const size_t at = ((size_t) y * d->w + x) * 3;
            struct ref_rgb v = { p->fill, p->fill, p->fill };
            if (row >= 0 && row < p->height && column >= 0 && column < p->width) {
                v = interpolate(&p->frame, ref_bilinear(row, p->height, p->frame.height),
                                ref_bilinear(column, p->width, p->frame.width));
                v = (struct ref_rgb) { floorf(v.r + 0.5f), floorf(v.g + 0.5f), floorf(v.b + 0.5f) };
            }
            sam_store(d, at, v.r / 255);
            sam_store(d, at + 1, v.g / 255);
            sam_store(d, at + 2, v.b / 255);
        }
}

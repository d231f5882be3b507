// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static float at(const struct sam_tensor *t, int n, int y, int x, int c)
{
    return sam_load(t, (((size_t) n * t->h + y) * t->w + x) * t->c + c);
}

static float blend(float lo, float hi, float weight)
{
    return (1 - weight) * lo + weight * hi;
}

static float bilinear(const struct sam_resize *p, int n, int y, int x, int c)
{
    const struct sam_tensor *src = &p->src;
    const struct ref_taps v = ref_bilinear(y, p->dst.h, src->h);
    const struct ref_taps h = ref_bilinear(x, p->dst.w, src->w);
    const float upper = blend(at(src, n, v.lo, h.lo, c), at(src, n, v.lo, h.hi, c), h.weight);
    const float lower = blend(at(src, n, v.hi, h.lo, c), at(src, n, v.hi, h.hi, c), h.weight);
    return blend(upper, lower, v.weight);
}

static float triangle(const struct sam_resize *p, int n, int y, int x, int c)
{
    const struct ref_tent v = ref_tent(y, p->dst.h, p->src.h);
    const struct ref_tent h = ref_tent(x, p->dst.w, p->src.w);
    double sum = 0;
    for (int i = v.lo; i < v.hi; i++) {
        double row = 0;
        for (int j = h.lo; j < h.hi; j++)
            row += ref_tent_weight(&h, j) * at(&p->src, n, i, j, c);
        sum += ref_tent_weight(&v, i) * row;
    }
    return (float) (sum / ((double) v.sum * h.sum));
}

void sam_resize_ref(struct sam_queue *q, const struct sam_resize *p)
{
    const struct sam_tensor *d = &p->dst;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++)
                    sam_store(d, i, p->antialias ? triangle(p, n, y, x, c)
                                                 : bilinear(p, n, y, x, c));
}

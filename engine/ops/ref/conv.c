// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// The sum over the kernel for output channel o at (y, x). In each kernel row, the taps inside
// the map lie side by side in memory, in the map as in the weight: one dot product.
static float convolve(const struct sam_conv *p, const struct sam_tensor *weight, int n, int y,
                      int x, int o, struct ref_steps steps)
{
    const struct sam_tensor *src = &p->src;
    const int k = p->kernel, top = y * p->stride - p->pad, left = x * p->stride - p->pad;
    const int first = ref_max(0, -left), last = ref_min(k, src->w - left); // kx inside the map
    float sum = 0;
    for (int ky = 0; ky < k && first < last; ky++) {
        if (top + ky < 0 || top + ky >= src->h)
            continue;
        const size_t w = (size_t) o * weight->c + (size_t) (ky * k + first) * src->c;
        sum += ref_dot_rounded(weight, w, src, ref_pixel(src, n, top + ky, left + first),
                               (last - first) * src->c, steps);
    }
    return sum;
}

// Of the window at (y, x).
static struct ref_steps steps_at(const struct sam_conv *p, int n, int y, int x)
{
    const struct sam_tensor *src = &p->src;
    const int k = p->kernel, top = y * p->stride - p->pad, left = x * p->stride - p->pad;
    const int first = ref_max(0, -left), last = ref_min(k, src->w - left);
    float largest = 0;
    if (!p->weight.int8)
        return (struct ref_steps) { 0 };
    for (int ky = ref_max(0, -top); ky < ref_min(k, src->h - top) && first < last; ky++)
        largest = ref_largest(largest, src, ref_pixel(src, n, top + ky, left + first),
                              (last - first) * src->c);
    return ref_steps_of(largest);
}

void sam_conv_ref(struct sam_queue *q, const struct sam_conv *p)
{
    const struct sam_tensor weight = ref_matrix(p->weight), *d = &p->dst;
    const size_t period = p->add.data ? sam_count(&p->add) : 0;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++) {
                const struct ref_steps steps = steps_at(p, n, y, x);
                for (int o = 0; o < d->c; o++, i++) {
                    const float sum = convolve(p, &weight, n, y, x, o, steps);
                    const float add = period ? sam_load(&p->add, i % period) : 0;
                    sam_store(d, i, add + ref_act(p->act, sum + ref_bias(&p->bias, o)));
                }
            }
}

// SPDX-License-Identifier: MIT
// Bilinear and triangle-filtered resizing of F32 maps.
//
// Shape: a thread makes one number. Traffic: dst once; src once from memory, its overlaps from the
// cache. The arithmetic of positions and weights is PyTorch's, in F32 (see ops/ref/ref.h).
#include "sample.cuh"
#include "view.cuh"

struct resize_at {
    float *dst;
    const float *src;
    unsigned h, w, src_h, src_w, c;
    bool antialias;

    __device__ float bilinear(const float *map, unsigned y, unsigned x) const
    {
        const taps v = taps_at(y, h, src_h), u = taps_at(x, w, src_w);
        const float *upper = map + v.lo * src_w * c, *lower = map + v.hi * src_w * c;
        const float a = blend(upper[u.lo * c], upper[u.hi * c], u.weight);
        return blend(a, blend(lower[u.lo * c], lower[u.hi * c], u.weight), v.weight);
    }

    __device__ float triangle(const float *map, unsigned y, unsigned x) const
    {
        const tent v = tent_at(y, h, src_h), u = tent_at(x, w, src_w);
        float sum = 0.0f;
        for (int i = v.lo; i < v.hi; i++) {
            float row = 0.0f;
            for (int j = u.lo; j < u.hi; j++)
                row += tent_weight(u, j) * map[(i * src_w + j) * c];
            sum += tent_weight(v, i) * row;
        }
        return sum / (v.sum * u.sum);
    }

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned channel = i % c, x = i / c % w, y = i / c / w % h, n = i / c / w / h;
        const float *map = src + (size_t) n * src_h * src_w * c + channel;
        dst[i] = antialias ? triangle(map, y, x) : bilinear(map, y, x);
    }
};

extern "C" void sam_resize_cuda(struct sam_queue *q, const struct sam_resize *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    const resize_at f = { (float *) d->data, (const float *) s->data, (unsigned) d->h,
                          (unsigned) d->w, (unsigned) s->h, (unsigned) s->w, (unsigned) d->c,
                          p->antialias };
    each_by<1>(q, "resize", f, sam_count(d));
}

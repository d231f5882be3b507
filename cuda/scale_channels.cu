// SPDX-License-Identifier: MIT
// Channels of a map, each times a number of its own.
#include "view.cuh"

// Shape: a thread makes four neighbouring channels, or one.
// Traffic: src once, dst once; scale comes from the cache.
struct scale_channels_at {
    view dst, src;
    const float *scale;
    unsigned per_object, c;

    template <int N> __device__ void at(unsigned i) const
    {
        float v[N], s[N];
        load(v, src, i);
        load(s, { (void *) scale, false }, i / per_object * c + i % c);
        for (int k = 0; k < N; k++)
            v[k] *= s[k];
        store(dst, i, v);
    }
};

extern "C" void sam_scale_channels_cuda(struct sam_queue *q, const struct sam_scale_channels *p)
{
    const size_t count = sam_count(&p->src);
    const unsigned c = p->src.c;
    const scale_channels_at f = { view_of(&p->dst), view_of(&p->src), (const float *) p->scale.data,
                                  (unsigned) (count / p->src.n), c };
    each(q, "scale_channels", f, count,
         by_four(&p->dst, c) && by_four(&p->src, c) && by_four(&p->scale, c));
}

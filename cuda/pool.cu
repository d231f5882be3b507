// SPDX-License-Identifier: MIT
// Max-pooling by cells and around positions, and the depthwise convolution.
#include "view.cuh"

// Shape: a thread makes four neighbouring channels, or one. Traffic: src once, dst once.
struct maxpool_at {
    view dst, src;
    unsigned h, w, src_h, src_w, c;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned channel = i % c, x = i / c % w, y = i / c / w % h, n = i / c / w / h;
        const unsigned first = ((n * src_h + 2 * y) * src_w + 2 * x) * c + channel;
        float v[N], u[N];
        load(v, src, first);
        for (int cell = 1; cell < 4; cell++) {
            load(u, src, first + (cell / 2 * src_w + cell % 2) * c);
            for (int k = 0; k < N; k++)
                v[k] = fmaxf(v[k], u[k]);
        }
        store(dst, i, v);
    }
};

extern "C" void sam_maxpool_cuda(struct sam_queue *q, const struct sam_maxpool *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    if (!sam_count(d))
        return;
    const maxpool_at f = { view_of(d), view_of(s), (unsigned) d->h, (unsigned) d->w,
                           (unsigned) s->h, (unsigned) s->w, (unsigned) d->c };
    each(q, "maxpool", f, sam_count(d), by_four(d, d->c) && by_four(s, d->c));
}

// Shape: a thread makes four neighbouring channels of one position, or one.
// Traffic: dst once; src once from memory, kernel^2 times from the cache.
struct maxpool_around_at {
    view dst, src;
    int h, w, c, reach;

    template <int N> __device__ void at(unsigned i) const
    {
        const int channel = i % c, x = i / c % w, y = i / c / w % h;
        const int top = max(y - reach, 0), bottom = min(y + reach, h - 1);
        const int left = max(x - reach, 0), right = min(x + reach, w - 1);
        const unsigned first = i / c / w / h * h; // row of the map in n
        float v[N], u[N];
        load(v, src, i);
        for (int row = top; row <= bottom; row++)
            for (int column = left; column <= right; column++) {
                load(u, src, ((first + row) * w + column) * c + channel);
                for (int k = 0; k < N; k++)
                    v[k] = u[k] > v[k] || isnan(u[k]) ? u[k] : v[k]; // fmaxf would lose a NaN
            }
        store(dst, i, v);
    }
};

extern "C" void sam_maxpool_around_cuda(struct sam_queue *q, const struct sam_maxpool_around *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    const maxpool_around_at f = { view_of(d), view_of(s), d->h, d->w, d->c, p->kernel / 2 };
    each(q, "maxpool_around", f, sam_count(d), by_four(d, d->c) && by_four(s, d->c));
}

// Shape: a thread makes four neighbouring channels of one position, or one.
// Traffic: dst once; src and weight once from memory, kernel^2 times from the cache.
struct depthwise_at {
    view dst, src;
    const float *weight, *bias;
    int h, w, src_h, src_w, c, kernel, stride, before; // before: rows and columns of zeros
    enum sam_act act;

    template <int N> __device__ void at(unsigned i) const
    {
        const int channel = i % c, x = i / c % w, y = i / c / w % h, n = i / c / w / h;
        const int top = y * stride - before, left = x * stride - before;
        float sum[N], u[N], t[N];
        load(sum, { (void *) bias, false }, channel);
        for (int ky = max(0, -top); ky < min(kernel, src_h - top); ky++)
            for (int kx = max(0, -left); kx < min(kernel, src_w - left); kx++) {
                load(t, { (void *) weight, false }, (ky * kernel + kx) * c + channel);
                load(u, src, ((n * src_h + top + ky) * src_w + left + kx) * c + channel);
                for (int k = 0; k < N; k++)
                    sum[k] += t[k] * u[k];
            }
        for (int k = 0; k < N; k++)
            sum[k] = act_of(act, sum[k]);
        store(dst, i, sum);
    }
};

extern "C" void sam_depthwise_cuda(struct sam_queue *q, const struct sam_depthwise *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    const depthwise_at f = { view_of(d), view_of(s), (const float *) p->weight.data,
                             (const float *) p->bias.data, d->h, d->w, s->h, s->w, d->c, p->kernel,
                             p->stride, p->kernel / 2 - p->late, p->act };
    each(q, "depthwise", f, sam_count(d),
         by_four(d, d->c) && by_four(s, d->c) && by_four(&p->weight, d->c)
             && by_four(&p->bias, d->c));
}

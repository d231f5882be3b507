// SPDX-License-Identifier: MIT
// Copies and sums, number by number.
//
// Shape: a thread makes four neighbouring numbers, or one where rows or starts are odd.
// Traffic: every number read once, written once; repeated sources come from the cache.
#include "view.cuh"

static __global__ void probe_kernel()
{
    await_earlier();
}

extern "C" void sam_cuda_launch_probe(struct sam_queue *q)
{
    SAM_LAUNCH(probe_kernel, 1, 32, 0, q);
    sam_cuda_launched(q, "the first launch");
}

// Whether this build's kernels run on the device: found out at open, not at the first frame.
extern "C" bool sam_cuda_probe(struct sam_queue *q)
{
    SAM_LAUNCH(probe_kernel, 1, 32, 0, q);
    const cudaError_t error = cudaGetLastError();
    if (error == cudaErrorNoKernelImageForDevice)
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "CUDA: this build has no kernels for %s: configure with its architecture "
                       "in -Dgpu_archs",
                       sam_cuda(q)->name);
    return !q->status && sam_cuda_check(q, "the first launch", error)
        && sam_cuda_check(q, "the first launch", cudaStreamSynchronize(sam_cuda_stream(q)));
}

struct copy_at {
    view dst, src;
    unsigned period;

    template <int N> __device__ void at(unsigned i) const
    {
        float v[N];
        load(v, src, i % period);
        store(dst, i, v);
    }
};

extern "C" void sam_copy_cuda(struct sam_queue *q, const struct sam_copy *p)
{
    const size_t count = sam_count(&p->dst), period = sam_count(&p->src);
    const copy_at f = { view_of(&p->dst), view_of(&p->src), (unsigned) period };
    each(q, "copy", f, count, by_four(&p->dst, period) && by_four(&p->src, period));
}

struct copy_rows_at {
    view dst, src;
    unsigned count, dst_first, dst_step, src_first, src_step; // numbers of one n, and between two

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned n = i / count, k = i % count;
        float v[N];
        load(v, src, n * src_step + src_first + k);
        store(dst, n * dst_step + dst_first + k, v);
    }
};

// A row's index and its numbers are loads that follow each other.
struct pick_rows_at {
    view dst, src;
    const int *index;
    unsigned rows, c, dst_first, dst_step, src_step; // rows and numbers of one n

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned row = i / c, n = row / rows;
        float v[N];
        load(v, src, n * src_step + index[row] * c + i % c);
        store(dst, n * dst_step + dst_first + i - n * rows * c, v);
    }
};

extern "C" void sam_copy_rows_cuda(struct sam_queue *q, const struct sam_copy_rows *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    const unsigned c = d->c, dst_rows = d->h * d->w, src_rows = s->n == 1 ? 0 : s->h * s->w;
    if (p->index.data) {
        const pick_rows_at f = { view_of(d), view_of(s), (const int *) p->index.data,
                                 (unsigned) p->rows, c, p->to * c, dst_rows * c, src_rows * c };
        each(q, "copy_rows", f, (size_t) d->n * p->rows * c, by_four(d, c) && by_four(s, c));
        return;
    }
    const copy_rows_at f = { view_of(d), view_of(s), p->rows * c, p->to * c, dst_rows * c,
                             p->from * c, src_rows * c };
    each(q, "copy_rows", f, (size_t) d->n * p->rows * c, by_four(d, c) && by_four(s, c));
}

struct copy_channels_at {
    view dst, src;
    unsigned channels, to, from, up, dst_c, src_c;
    unsigned w; // of dst

    template <int N> __device__ void at(unsigned i) const
    {
        // h of dst is a multiple of up, so that rows of all n can be counted through.
        const unsigned position = i / channels, k = i % channels, x = position % w;
        const unsigned y = position / w, from_row = y / up * (w / up) + x / up;
        float v[N];
        load(v, src, from_row * src_c + from + k);
        store(dst, position * dst_c + to + k, v);
    }
};

extern "C" void sam_copy_channels_cuda(struct sam_queue *q, const struct sam_copy_channels *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    const bool four = p->channels % 4 == 0 && p->to % 4 == 0 && p->from % 4 == 0;
    const copy_channels_at f = { view_of(d), view_of(s), (unsigned) p->channels, (unsigned) p->to,
                                 (unsigned) p->from, (unsigned) p->up, (unsigned) d->c,
                                 (unsigned) s->c, (unsigned) d->w };
    if (sam_count(d) > INT32_MAX || sam_count(s) > INT32_MAX) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "copy_channels: maps of %zu and %zu numbers, at most "
                       "%d on a GPU", sam_count(d), sam_count(s), INT32_MAX);
        return;
    }
    each(q, "copy_channels", f, sam_rows(d) * p->channels,
         four && by_four(d, d->c) && by_four(s, s->c));
}

struct add_at {
    view dst, a, b;
    unsigned period;
    float scale;

    template <int N> __device__ void at(unsigned i) const
    {
        float v[N], w[N];
        load(v, a, i);
        load(w, b, i % period);
        for (int k = 0; k < N; k++)
            v[k] += scale * w[k];
        store(dst, i, v);
    }
};

extern "C" void sam_add_cuda(struct sam_queue *q, const struct sam_add *p)
{
    const size_t period = sam_count(&p->b);
    const add_at f = { view_of(&p->dst), view_of(&p->a), view_of(&p->b), (unsigned) period,
                       p->scale };
    each(q, "add", f, sam_count(&p->dst),
         by_four(&p->dst, period) && by_four(&p->a, period) && by_four(&p->b, period));
}

struct upsample_add_at {
    view dst, a, b;
    unsigned w, c; // of dst

    template <int N> __device__ void at(unsigned i) const
    {
        // h of dst is even, so that rows of all n can be counted through.
        const unsigned channel = i % c, x = i / c % w, y = i / c / w;
        float v[N], u[N];
        load(v, a, i);
        load(u, b, ((y / 2) * (w / 2) + x / 2) * c + channel);
        for (int k = 0; k < N; k++)
            v[k] += u[k];
        store(dst, i, v);
    }
};

// Nearest neighbour, twice the size, onto the finer map.
extern "C" void sam_upsample_add_cuda(struct sam_queue *q, const struct sam_upsample_add *p)
{
    const unsigned w = p->dst.w, c = p->dst.c;
    const upsample_add_at f = { view_of(&p->dst), view_of(&p->a), view_of(&p->b), w, c };
    each(q, "upsample_add", f, sam_count(&p->dst),
         by_four(&p->dst, c) && by_four(&p->a, c) && by_four(&p->b, c));
}

// SPDX-License-Identifier: MIT
// Boxes of detectors: moved and scaled, and their sines. Few numbers: what counts is that no thread
// waits twice where once will do.
#include "view.cuh"

#include <math.h>

// Shape: a thread makes one number; four side by side have a box.
// Traffic: all once; a box that several rows are made of comes from the cache. Where there is an
// index, its load and the box's follow each other.
struct refine_at {
    float *dst;
    const float *boxes, *deltas;
    const int *index; // NULL: the row itself
    unsigned rows, box_rows;
    bool shared; // one n of deltas

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned row = i / 4, k = i % 4, n = row / rows, own = row % rows;
        const float delta = deltas[shared ? 4 * own + k : i];
        const float *box = boxes + 4 * (size_t) (n * box_rows + (index ? index[row] : own));
        // In single steps, as the CPU: a fused one differs where a box moves to about 0.
        dst[i] = k < 2 ? __fadd_rn(box[k], __fmul_rn(delta, box[k + 2])) : box[k] * expf(delta);
    }
};

extern "C" void sam_refine_boxes_cuda(struct sam_queue *q, const struct sam_refine_boxes *p)
{
    const refine_at f = { (float *) p->dst.data, (const float *) p->boxes.data,
                          (const float *) p->deltas.data, (const int *) p->index.data,
                          (unsigned) p->dst.w, (unsigned) p->boxes.w, p->deltas.n == 1 };
    each_by<1>(q, "refine_boxes", f, sam_count(&p->dst));
}

// As sincosf(), which needs local memory for angles of very many turns. The last digit of an angle
// beyond 4e6 is a quarter or more: it counts as 0. Errors are below 8e-8, beyond 1e5 below 3e-7.
static __device__ __forceinline__ void sines(float angle, float *sine, float *cosine)
{
    const float a = fabsf(angle) <= 4e6f ? angle : angle - angle; // infinity becomes a NaN
    // Quarters of a turn, rounded: behind 3 * 2^22 the last digit of a number is a whole.
    const float shifted = fmaf(a, 0.636619772f, 12582912.0f), quarters = shifted - 12582912.0f;
    float r = fmaf(quarters, -1.57079601f, a); // pi / 2 in three parts
    r = fmaf(quarters, -3.13916473e-7f, r);
    r = fmaf(quarters, -5.39030253e-15f, r);
    const float x = r * r; // Cody and Waite, Software manual for the elementary functions, 1980
    const float s =
        fmaf(r * x, fmaf(x, fmaf(x, -1.95152959e-4f, 8.33216087e-3f), -1.66666546e-1f), r);
    const float even = fmaf(x, fmaf(x, 2.44331571e-5f, -1.38873163e-3f), 4.16666457e-2f);
    const float c = fmaf(x, fmaf(x, even, -0.5f), 1.0f);
    const unsigned quarter = __float_as_uint(shifted) & 3;
    const float up = quarter & 1 ? c : s, across = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -up : up;
    *cosine = quarter == 1 || quarter == 2 ? -across : across;
}

// Shape: a thread makes the sine and the cosine of two neighbouring angles, or of one.
// Traffic: dst once; boxes from the cache. The divisors are the kernel's parameters, made on the
// host in F64: as many as those hold at once.
enum { EMBED_PAIRS = 256 };

struct embed_at {
    view dst;
    const float *boxes;
    unsigned channels, pairs, first; // channels of a number; pairs of them here, from first on
    float divisor[EMBED_PAIRS];

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned number = i / (2 * pairs), c = i % (2 * pairs), place = number % 4;
        const unsigned k = place < 2 ? 1 - place : place; // y's channels come before x's
        const float v = boxes[number / 4 * 4 + k] * 6.28318531f;
        float out[N];
#pragma unroll
        for (int e = 0; e < N; e += 2)
            sines(v / divisor[(c + e) / 2], &out[e], &out[e + 1]);
        store(dst, number * channels + 2 * first + c, out);
    }
};

extern "C" void sam_embed_boxes_cuda(struct sam_queue *q, const struct sam_embed_boxes *p)
{
    const int d = p->dst.c / 4;
    if (sam_count(&p->dst) > INT32_MAX) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "embed_boxes: %zu numbers, at most %d on a GPU",
                       sam_count(&p->dst), INT32_MAX);
        return;
    }
    embed_at f = { view_of(&p->dst), (const float *) p->boxes.data, (unsigned) d, 0, 0, {} };
    for (; (int) f.first < d / 2 && !q->status; f.first += f.pairs) {
        f.pairs = min(d / 2 - f.first, (unsigned) EMBED_PAIRS);
        for (unsigned k = 0; k < f.pairs; k++)
            f.divisor[k] = (float) pow(10000, 2.0 * (f.first + k) / d);
        const size_t count = sam_rows(&p->dst) * 8 * f.pairs;
        if (by_four(&p->dst, d)) // d / 2 is even, then, and so is every part of it
            each_by<4>(q, "embed_boxes", f, count);
        else
            each_by<2>(q, "embed_boxes", f, count);
    }
}

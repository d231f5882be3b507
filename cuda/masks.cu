// SPDX-License-Identifier: MIT
// Selects one of the candidate masks, and makes the memory encoder's input of it.
//
// Shape: a thread makes four neighbouring numbers, or one. Traffic: src once, dst once.
#include "sample.cuh"
#include "view.cuh"

static __device__ __forceinline__ float signal_of(float logit, bool is_binary)
{
    return is_binary ? (logit > 0.0f ? 1.0f : 0.0f) : act_of(SAM_ACT_SIGMOID, logit);
}

struct mask_signal_at {
    view dst;
    const float *src;
    const int *binary;
    unsigned per_object;
    float scale, bias;

    template <int N> __device__ void at(unsigned i) const
    {
        const bool is_binary = binary[i / per_object];
        float v[N];
        load(v, { (void *) src, false }, i);
        for (int k = 0; k < N; k++)
            v[k] = scale * signal_of(v[k], is_binary) + bias;
        store(dst, i, v);
    }
};

// Of maps of one channel that are resized first; N numbers are of one row.
struct resized_signal_at {
    float *dst;
    const float *src;
    const int *binary;
    unsigned h, w, src_h, src_w;
    float scale, bias;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned x = i % w, y = i / w % h, n = i / w / h;
        const taps v = taps_at(y, h, src_h);
        const float *upper = src + (n * src_h + v.lo) * src_w;
        const float *lower = src + (n * src_h + v.hi) * src_w;
        const bool is_binary = binary[n];
        float out[N];
#pragma unroll
        for (int k = 0; k < N; k++) {
            const taps u = taps_at(x + k, w, src_w);
            const float logit = blend(blend(upper[u.lo], upper[u.hi], u.weight),
                                      blend(lower[u.lo], lower[u.hi], u.weight), v.weight);
            out[k] = scale * signal_of(logit, is_binary) + bias;
        }
        store(view { dst, false }, i, out);
    }
};

static void resize_signal(struct sam_queue *q, const struct sam_mask_signal *p)
{
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    const resized_signal_at f = { (float *) d->data, (const float *) s->data,
                                  (const int *) p->binary.data, (unsigned) d->h, (unsigned) d->w,
                                  (unsigned) s->h, (unsigned) s->w, p->scale, p->bias };
    each(q, "mask_signal", f, sam_count(d), by_four(d, d->w));
}

extern "C" void sam_mask_signal_cuda(struct sam_queue *q, const struct sam_mask_signal *p)
{
    const size_t count = sam_count(&p->src), one = count / p->src.n;
    if (sam_rows(&p->src) != sam_rows(&p->dst)) {
        resize_signal(q, p);
        return;
    }
    const mask_signal_at f = { view_of(&p->dst), (const float *) p->src.data,
                               (const int *) p->binary.data, (unsigned) one, p->scale, p->bias };
    each(q, "mask_signal", f, count, by_four(&p->dst, one) && by_four(&p->src, one));
}

struct gate_at {
    view dst, src, other;
    const float *score;
    unsigned per_object, c;

    template <int N> __device__ void at(unsigned i) const
    {
        float v[N];
        if (score[i / per_object] > 0.0f)
            load(v, src, i);
        else
            load(v, other, i % c);
        store(dst, i, v);
    }
};

extern "C" void sam_gate_cuda(struct sam_queue *q, const struct sam_gate *p)
{
    const size_t count = sam_count(&p->src);
    const unsigned c = p->src.c;
    const gate_at f = { view_of(&p->dst), view_of(&p->src), view_of(&p->other),
                        (const float *) p->score.data, (unsigned) (count / p->src.n), c };
    each(q, "gate", f, count, by_four(&p->dst, c) && by_four(&p->src, c) && by_four(&p->other, c));
}

// ---- the selection of the mask decoder

struct selection {
    float *low_res, *iou;
    const float *masks, *ious, *score;
    view token, tokens;
    const int *multimask;
    unsigned pixels, d;
    float delta, threshold;
};

// Shape: SELECT_BLOCKS blocks for an object; each of them counts the pixels of mask 0, which L2
// gives it, makes the choice, and writes its share of the mask, N numbers of a thread at a time.
// Loads of SELECT_AHEAD times N are under way together.
// Traffic: mask 0 once from memory, the chosen mask once, low_res once; one token.
enum { SELECT_THREADS = 1024, SELECT_BLOCKS = 16, SELECT_AHEAD = 8 };

// How many numbers of a mask are above delta, in .x, and above -delta, in .y, over the block.
template <int N>
static __device__ __forceinline__ uint2 count_above(const float *mask, unsigned pixels, float delta)
{
    __shared__ unsigned sums[2];
    unsigned sure = 0, likely = 0;
    for (unsigned i = threadIdx.x * N; i < pixels; i += SELECT_AHEAD * SELECT_THREADS * N) {
        float v[SELECT_AHEAD][N];
#pragma unroll
        for (int a = 0; a < SELECT_AHEAD; a++) {
            const unsigned at = i + a * SELECT_THREADS * N;
            for (int k = 0; k < N; k++)
                v[a][k] = -INFINITY;
            if (at < pixels)
                load(v[a], { (void *) mask, false }, at);
        }
#pragma unroll
        for (int a = 0; a < SELECT_AHEAD; a++)
            for (int k = 0; k < N; k++)
                sure += v[a][k] > delta, likely += v[a][k] > -delta;
    }
    if (threadIdx.x < 2)
        sums[threadIdx.x] = 0;
    __syncthreads();
    sure = __reduce_add_sync(0xffffffffu, sure);
    likely = __reduce_add_sync(0xffffffffu, likely);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums[0], sure);
        atomicAdd(&sums[1], likely);
    }
    __syncthreads();
    return make_uint2(sums[0], sums[1]);
}

template <int N>
static __global__ void __launch_bounds__(SELECT_THREADS) select_mask_kernel(selection p)
{
    await_earlier();
    const unsigned n = blockIdx.x;
    const float *masks = p.masks + (size_t) n * 4 * p.pixels, *iou = p.ious + 4 * n;

    const uint2 count = count_above<N>(masks, p.pixels, p.delta);
    const bool stable = (count.y ? (float) count.x / (float) count.y : 1.0f) >= p.threshold;
    int best = 1;
    for (int i = 2; i <= 3; i++)
        if (iou[i] > iou[best])
            best = i;

    const bool multimask = p.multimask[n], present = p.score[n] > 0.0f;
    const int mask_at = !multimask && stable ? 0 : best, token_at = multimask ? best : 0;
    const unsigned share = blockIdx.y * SELECT_THREADS + threadIdx.x;
    for (unsigned i = share; i < p.d; i += SELECT_BLOCKS * SELECT_THREADS)
        store_one(p.token, n * p.d + i, load_one(p.tokens, (n * 4 + token_at) * p.d + i));
    if (share == 0)
        p.iou[n] = iou[mask_at];
    for (unsigned i = share * N; i < p.pixels; i += SELECT_BLOCKS * SELECT_THREADS * N) {
        float v[N];
        for (int k = 0; k < N; k++)
            v[k] = -1024.0f;
        if (present)
            load(v, { (void *) masks, false }, mask_at * p.pixels + i);
        store(view { p.low_res, false }, n * p.pixels + i, v);
    }
}

extern "C" void sam_select_mask_cuda(struct sam_queue *q, const struct sam_select_mask *p)
{
    const unsigned pixels = p->masks.c;
    const selection a = {
        (float *) p->low_res.data, (float *) p->iou.data, (const float *) p->masks.data,
        (const float *) p->ious.data, (const float *) p->score.data, view_of(&p->token),
        view_of(&p->tokens), (const int *) p->multimask.data, pixels, (unsigned) p->tokens.c,
        p->delta, p->threshold,
    };
    const dim3 grid(p->masks.n, SELECT_BLOCKS);
    if (by_four(&p->low_res, pixels) && by_four(&p->masks, pixels))
        SAM_LAUNCH(select_mask_kernel<4>, grid, SELECT_THREADS, 0, q, a);
    else
        SAM_LAUNCH(select_mask_kernel<1>, grid, SELECT_THREADS, 0, q, a);
    sam_cuda_launched(q, "select_mask");
}

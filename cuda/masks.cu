// Selects one of the candidate masks, and makes the memory encoder's input of it.
//
// Shape: a thread makes four neighbouring numbers, or one. Traffic: src once, dst once.
#include "reduce.cuh"
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

// ---- the selection of the mask decoder, in two launches

struct choice {
    int mask, present;
};

struct selection {
    float *low_res, *iou;
    const float *masks, *ious, *score;
    view token, tokens;
    const int *multimask;
    choice *chosen; // workspace: one per object
    unsigned pixels, d;
    float delta, threshold;
};

enum { CHOOSE_THREADS = 1024 };

// The number of pixels of mask 0 above a threshold, summed over the block.
static __device__ unsigned count_above(const float *mask, unsigned pixels, float threshold,
                                       unsigned *sum)
{
    unsigned count = 0;
    for (unsigned i = threadIdx.x; i < pixels; i += CHOOSE_THREADS)
        count += mask[i] > threshold;
    __syncthreads();
    if (threadIdx.x == 0)
        *sum = 0;
    __syncthreads();
    count = __reduce_add_sync(0xffffffffu, count);
    if (threadIdx.x % 32 == 0)
        atomicAdd(sum, count);
    __syncthreads();
    return *sum;
}

// Shape: a block per object. Traffic: mask 0 twice, the second time from the cache; one token.
static __global__ void __launch_bounds__(CHOOSE_THREADS) choose_kernel(selection p)
{
    __shared__ unsigned sum;
    const unsigned n = blockIdx.x;
    const float *mask = p.masks + (size_t) n * 4 * p.pixels, *iou = p.ious + 4 * n;

    const unsigned sure = count_above(mask, p.pixels, p.delta, &sum);
    const unsigned likely = count_above(mask, p.pixels, -p.delta, &sum);
    const bool stable = (likely ? (float) sure / (float) likely : 1.0f) >= p.threshold;
    int best = 1;
    for (int i = 2; i <= 3; i++)
        if (iou[i] > iou[best])
            best = i;

    const bool multimask = p.multimask[n];
    const int mask_at = !multimask && stable ? 0 : best, token_at = multimask ? best : 0;
    for (unsigned i = threadIdx.x; i < p.d; i += CHOOSE_THREADS)
        store_one(p.token, n * p.d + i, load_one(p.tokens, (n * 4 + token_at) * p.d + i));
    if (threadIdx.x == 0) {
        p.iou[n] = iou[mask_at];
        p.chosen[n] = { mask_at, p.score[n] > 0.0f };
    }
}

struct chosen_at {
    float *dst;
    const float *masks;
    const choice *chosen;
    unsigned pixels;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned n = i / pixels;
        const choice c = chosen[n];
        float v[N];
        for (int k = 0; k < N; k++)
            v[k] = -1024.0f;
        if (c.present)
            load(v, { (void *) masks, false }, (n * 4 + c.mask) * pixels + i % pixels);
        store(view { dst, false }, i, v);
    }
};

extern "C" void sam_select_mask_cuda(struct sam_queue *q, const struct sam_select_mask *p)
{
    choice *chosen = (choice *) sam_cuda(q)->workspace;
    const unsigned n = p->masks.n, pixels = p->masks.c;
    const selection a = {
        (float *) p->low_res.data, (float *) p->iou.data, (const float *) p->masks.data,
        (const float *) p->ious.data, (const float *) p->score.data, view_of(&p->token),
        view_of(&p->tokens), (const int *) p->multimask.data, chosen, pixels,
        (unsigned) p->tokens.c, p->delta, p->threshold,
    };
    if (n > SAM_CUDA_WORKSPACE / sizeof(choice)) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "select_mask: %u objects, at most %zu on a GPU", n,
                       SAM_CUDA_WORKSPACE / sizeof(choice));
        return;
    }
    SAM_LAUNCH(choose_kernel, n, CHOOSE_THREADS, 0, sam_cuda_stream(q), a);
    sam_cuda_launched(q, "select_mask");
    const chosen_at f = { (float *) p->low_res.data, (const float *) p->masks.data, chosen,
                          pixels };
    each(q, "select_mask", f, (size_t) n * pixels,
         by_four(&p->low_res, pixels) && by_four(&p->masks, pixels));
}

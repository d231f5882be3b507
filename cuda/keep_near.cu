// SPDX-License-Identifier: MIT
// Pieces of masks near the box of the mask before.
//
// Shape: components by a thread per place, two launches; then a block per object, which passes over
// its places three times. Traffic: logits four times, labels a few times, all from the cache.
#include "components.cuh"

enum { NEAR_THREADS = 512 };

struct near_box {
    float x0, y0, x1, y1, area;
};

struct nearby {
    float *logits;
    near_box *boxes;
    const float *score;
    const int *before, *after, *prompted;
    int *room; // per object: labels of the places (-1: in no piece), whether a root's piece is near
    unsigned places;
    int h, w;
    float reach, least, share, value;

    __device__ int *labels(unsigned object) const
    {
        return room + (size_t) object * 2 * places;
    }

    __device__ near_box last(unsigned object) const
    {
        return before[object] < 0 ? near_box {} : boxes[before[object]];
    }

    // Whether pieces may go; all threads of an object alike.
    __device__ bool drops(unsigned object) const
    {
        return score[object] > 0.0f && !prompted[object] && last(object).area > 0.0f;
    }
};

// What the threads of a block share.
struct near_shared {
    int near;           // places of near pieces
    int x0, y0, x1, y1; // of the places that stay
    int area;
};

static __device__ bool is_within(const near_box &b, float reach, int y, int x)
{
    return (float) x >= b.x0 - reach && (float) x < b.x1 + reach && (float) y >= b.y0 - reach &&
           (float) y < b.y1 + reach;
}

// Drop the far pieces of an object.
static __device__ void drop_far(const nearby &k, unsigned object, near_shared *all)
{
    const near_box b = k.last(object);
    const float reach = floorf(k.reach * fmaxf(b.x1 - b.x0, b.y1 - b.y0)) + k.least;
    float *logits = k.logits + (size_t) object * k.places;
    int *label = k.labels(object), *near = label + k.places;
    int mine = 0;
    for (unsigned i = threadIdx.x; i < k.places; i += NEAR_THREADS)
        if (is_within(b, reach, i / k.w, i % k.w) && is_member(label, i))
            atomicOr(&near[root_of(label, i)], 1);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < k.places; i += NEAR_THREADS)
        mine += is_member(label, i) && __ldcg(near + root_of(label, i));
    atomicAdd(&all->near, mine);
    __syncthreads();
    if (!all->near || !((float) all->near >= k.share * b.area)) // all threads alike
        return;
    for (unsigned i = threadIdx.x; i < k.places; i += NEAR_THREADS)
        if (is_member(label, i) && !__ldcg(near + root_of(label, i)))
            logits[i] = k.value;
}

// The box of the places above 0 that a thread has seen, to those of all.
static __device__ void measure(const nearby &k, unsigned object, near_shared *all)
{
    const float *logits = k.logits + (size_t) object * k.places;
    int x0 = k.w, y0 = k.h, x1 = 0, y1 = 0, area = 0;
    for (unsigned i = threadIdx.x; i < k.places; i += NEAR_THREADS) {
        if (!(logits[i] > 0.0f)) // what a thread reads, it has written itself
            continue;
        const int y = i / k.w, x = i % k.w;
        x0 = min(x0, x), y0 = min(y0, y), x1 = max(x1, x + 1), y1 = max(y1, y + 1);
        area++;
    }
    if (!area)
        return;
    atomicMin(&all->x0, x0);
    atomicMin(&all->y0, y0);
    atomicMax(&all->x1, x1);
    atomicMax(&all->y1, y1);
    atomicAdd(&all->area, area);
}

static __global__ void __launch_bounds__(NEAR_THREADS) keep_near_kernel(nearby k)
{
    await_earlier();
    __shared__ near_shared all;
    const unsigned object = blockIdx.x;
    const bool is_present = k.score[object] > 0.0f;
    near_box b = k.last(object);
    if (!threadIdx.x)
        all = { 0, k.w, k.h, 0, 0, 0 };
    __syncthreads();
    if (k.drops(object))
        drop_far(k, object, &all);
    if (is_present)
        measure(k, object, &all);
    __syncthreads();
    if (threadIdx.x || k.after[object] < 0)
        return;
    if (all.area)
        b = { (float) all.x0, (float) all.y0, (float) all.x1, (float) all.y1, (float) all.area };
    k.boxes[k.after[object]] = b;
}

extern "C" void sam_keep_near_cuda(struct sam_queue *q, const struct sam_keep_near *p)
{
    const size_t count = sam_count(&p->logits);
    const nearby k = { (float *) p->logits.data, (near_box *) p->boxes.data,
                       (const float *) p->score.data, (const int *) p->before.data,
                       (const int *) p->after.data, (const int *) p->prompted.data,
                       (int *) p->room.data, (unsigned) (p->logits.h * p->logits.w), p->logits.h,
                       p->logits.w, p->reach, p->least, p->share, p->value };
    each_by<1>(q, "keep_near", label_pieces_at<nearby> { k }, count);
    each_by<1>(q, "keep_near", join_pieces_at<nearby> { k }, count);
    SAM_LAUNCH(keep_near_kernel, p->logits.n, NEAR_THREADS, 0, q, k);
    sam_cuda_launched(q, "keep_near");
}

// SPDX-License-Identifier: MIT
// Nearest neighbours among cells of the frame that an object was prompted on: learn, score.
//
// Learn. Shape: a thread per number of a row of keys, which is copied or cleared; then a block per
// object, which does nothing on frames without prompts. Traffic: rows twice.
// Score. Shape: half a warp per cell, each lane with every 16th key, neighbours side by side; then
// a thread per logit. Traffic: keys once per 16 cells, from the cache.
#include "cells.cuh"

enum { COPY_THREADS = 256, LEARN_THREADS = 512, LANES = 16, CELLS = 16 };

struct recall_keys {
    float *keys, *room; // room: a share, then a key of each cell
    const float *features, *logits, *iou, *score;
    const int *before, *after, *prompted;
    int h, w, c, count, ring, beside; // count: of keys in a row
    float doubted, trusted;

    __device__ bool is_new(int i) const
    {
        return after[i] >= 0 && prompted[i] > 0 && score[i] > 0.0f;
    }

    __device__ float trust(int i) const
    {
        return fminf(fmaxf((iou[i] - doubted) / (trusted - doubted), 0.0f), 1.0f);
    }
};

static __global__ void __launch_bounds__(COPY_THREADS) recall_copy_kernel(recall_keys k)
{
    await_earlier();
    const int object = blockIdx.y, numbers = (k.c + 1) * k.count;
    const int at = blockIdx.x * COPY_THREADS + threadIdx.x, before = k.before[object];
    if (at >= numbers || k.after[object] < 0)
        return;
    k.keys[(size_t) k.after[object] * numbers + at] =
        before < 0 || k.is_new(object) ? 0.0f : k.keys[(size_t) before * numbers + at];
}

// The key of `count` cells, in rows of two: their mean, with length 1. trust: in ground beside the
// object.
static __device__ void store_recall_key(const recall_keys &k, float *row, const float *shares,
                                        float trust, int key, int first, int count)
{
    float square = 0.0f, y = 0.0f;
    bool is_beside = false;
    for (int j = 0; j < k.c; j++) {
        float sum = 0.0f;
        for (int i = 0; i < count; i++)
            sum += k.features[(size_t) (first + i / 2 * k.w + i % 2) * k.c + j] / count;
        row[(size_t) j * k.count + key] = sum;
        square += sum * sum;
    }
#pragma unroll 1 // unrolled it spills
    for (int i = 0; i < count; i++) {
        const int cell = first + i / 2 * k.w + i % 2;
        y += (2.0f * shares[cell] - 1.0f) / count;
        is_beside = is_beside || is_near(shares, k.h, k.w, k.beside, cell);
    }
    for (int j = 0; j < k.c; j++)
        row[(size_t) j * k.count + key] /= fmaxf(sqrtf(square), 1e-12f);
    row[(size_t) k.c * k.count + key] = y < 0.0f && is_beside ? y * trust : y;
}

// near[cell] becomes the number of its key, -1: it is near without one, -2: it is not near.
static __device__ void number_recall_keys(float *near, int cells, int count, int most)
{
    int seen = 0, stored = 0;
    for (int i = 0; i < cells; i++) {
        const bool is_one = near[i] > 0.0f;
        const bool is_next = is_one && stored < most && seen == (long long) stored * count / most;
        near[i] = !is_one ? -2.0f : is_next ? (float) stored : -1.0f;
        seen += is_one;
        stored += is_next;
    }
}

static __global__ void __launch_bounds__(LEARN_THREADS) recall_learn_kernel(recall_keys k)
{
    await_earlier();
    __shared__ int found;
    const int object = blockIdx.x, cells = k.h * k.w, blocks = cells / 4;
    const float *low = k.logits + (size_t) object * 4 * cells;
    float *shares = k.room + (size_t) object * 2 * cells, *near = shares + cells;
    const float trust = k.trust(object);
    if (!k.is_new(object)) // all threads alike
        return;
    float *row = k.keys + (size_t) k.after[object] * (k.c + 1) * k.count;
    if (!threadIdx.x)
        found = 0;
    for (int i = threadIdx.x; i < cells; i += LEARN_THREADS)
        shares[i] = share_of(low, k.w, i);
    __syncthreads();
    int mine = 0;
    for (int i = threadIdx.x; i < cells; i += LEARN_THREADS) {
        near[i] = is_near(shares, k.h, k.w, k.ring, i);
        mine += near[i] > 0.0f;
    }
    atomicAdd(&found, mine);
    __syncthreads();
    if (!threadIdx.x)
        number_recall_keys(near, cells, found, min(found, k.count - blocks));
    __syncthreads();
    for (int i = threadIdx.x; i < cells; i += LEARN_THREADS)
        if (near[i] >= 0.0f)
            store_recall_key(k, row, shares, trust, (int) near[i], i, 1);
    for (int i = threadIdx.x; i < blocks; i += LEARN_THREADS) {
        const int first = i / (k.w / 2) * 2 * k.w + i % (k.w / 2) * 2;
        const float top = fmaxf(near[first], near[first + 1]);
        if (fmaxf(top, fmaxf(near[first + k.w], near[first + k.w + 1])) == -2.0f)
            store_recall_key(k, row, shares, trust, k.count - blocks + i, first, 4);
    }
}

extern "C" void sam_recall_learn_cuda(struct sam_queue *q, const struct sam_recall_learn *p)
{
    const recall_keys k = { (float *) p->keys.data, (float *) p->room.data,
                            (const float *) p->features.data, (const float *) p->logits.data,
                            (const float *) p->iou.data, (const float *) p->score.data,
                            (const int *) p->before.data, (const int *) p->after.data,
                            (const int *) p->prompted.data, p->features.h, p->features.w,
                            p->features.c, p->keys.c / (p->features.c + 1), p->ring, p->beside,
                            p->doubted, p->trusted };
    const dim3 grid(blocks_for(p->keys.c, COPY_THREADS), p->logits.n);
    SAM_LAUNCH(recall_copy_kernel, grid, COPY_THREADS, 0, q, k);
    SAM_LAUNCH(recall_learn_kernel, p->logits.n, LEARN_THREADS, 0, q, k);
    sam_cuda_launched(q, "recall_learn");
}

struct recalls {
    float *room;
    const float *features, *keys, *score;
    const int *slot;
    int cells, c, count;
    float likeness, softness;
};

// The larger product of two lanes, of equals the first key's.
static __device__ __forceinline__ void take_larger(float *most, int *best, int step)
{
    const float other = __shfl_xor_sync(0xffffffffu, *most, step);
    const int key = __shfl_xor_sync(0xffffffffu, *best, step);
    if (other > *most || (other == *most && key < *best)) {
        *most = other;
        *best = key;
    }
}

static __global__ void __launch_bounds__(LANES *CELLS) recall_match_kernel(recalls k)
{
    await_earlier();
    extern __shared__ __align__(128) unsigned char smem[];
    float *x = (float *) smem; // features of the block's cells
    const int object = blockIdx.y, first = blockIdx.x * CELLS, slot = k.slot[object];
    const int own = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    if (slot < 0 || !(k.score[object] > 0.0f)) // all threads alike
        return;
    for (int i = threadIdx.x; i < CELLS * k.c; i += LANES * CELLS)
        x[i] = first + i / k.c < k.cells ? k.features[(size_t) first * k.c + i] : 0.0f;
    __syncthreads();
    const float *keys = k.keys + (size_t) slot * (k.c + 1) * k.count, *mine = x + own * k.c;
    float most = -1e30f, square = 0.0f;
    int best = k.count; // none
    for (int i = lane; i < k.count; i += LANES) {
        float product = 0.0f;
        for (int j = 0; j < k.c; j++)
            product += mine[j] * keys[(size_t) j * k.count + i];
        if (product > most) {
            most = product;
            best = i;
        }
    }
    for (int step = 1; step < LANES; step *= 2)
        take_larger(&most, &best, step);
    if (lane || first + own >= k.cells)
        return;
    for (int j = 0; j < k.c; j++)
        square += mine[j] * mine[j];
    const float likeness = most / fmaxf(sqrtf(square), 1e-12f);
    const float y = best < k.count ? keys[(size_t) k.c * k.count + best] : 0.0f;
    k.room[(size_t) object * k.cells + first + own] =
        y / (1.0f + expf((k.likeness - likeness) / k.softness));
}

// The score of an object without keys is taken for 0.
struct add_recalled_at {
    add_scores_at add;
    const int *slot;

    template <int N> __device__ void at(unsigned i) const
    {
        if (slot[i / (4u * add.h * add.w)] >= 0)
            add.at<N>(i);
    }
};

extern "C" void sam_recall_score_cuda(struct sam_queue *q, const struct sam_recall_score *p)
{
    const int cells = p->features.h * p->features.w, c = p->features.c, n = p->logits.n;
    const float *score = (const float *) p->score.data;
    const int *slot = (const int *) p->slot.data;
    const recalls k = { (float *) p->room.data, (const float *) p->features.data,
                        (const float *) p->keys.data, score, slot, cells, c, p->keys.c / (c + 1),
                        p->likeness, p->softness };
    const add_recalled_at add = { { (float *) p->logits.data, (const float *) p->room.data, score,
                                    p->features.h, p->features.w, p->scale }, slot };
    SAM_LAUNCH(recall_match_kernel, dim3(blocks_for(cells, CELLS), n), LANES * CELLS,
               CELLS * c * sizeof(float), q, k);
    sam_cuda_launched(q, "recall_score");
    each_by<1>(q, "recall_score", add, sam_count(&p->logits));
}

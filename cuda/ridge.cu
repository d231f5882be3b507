// SPDX-License-Identifier: MIT
// Ridge regression of masks on features: learn, fit, score.
//
// Learn. Shape: weights of the cells by a block per object, as they depend on how many are inside;
// then SUM_PARTS threads per number of a row of sums, which share the cells. Traffic: features and
// weights from the cache, once for each number; sums twice.
// Fit. Shape: a block per object; N columns one after the other, five barriers each. Traffic:
// N^3 / 6 doubles of shared memory or, beyond 48 KiB, of the room.
// Score. Shape: a thread per cell, then per logit. Traffic: features once per object, logits twice.
#include "cells.cuh"

enum { CELL_THREADS = 512, SUM_NUMBERS = 32, SUM_PARTS = 8, FIT_THREADS = 256 };
enum { FIT_SHARED = 48 << 10 }; // bytes that a launch need not ask for, less those of this file

struct lessons {
    float *sums, *room; // room: a share, then a weight of each cell
    const float *features, *logits, *score;
    const int *before, *after, *prompted;
    int n, h, w, c, near;
    float keep, far, unsure;

    __device__ bool learns(int i) const
    {
        return after[i] >= 0 && score[i] > 0.0f;
    }
};

static __global__ void __launch_bounds__(CELL_THREADS) ridge_weights_kernel(lessons k)
{
    await_earlier();
    __shared__ int inside;
    const int object = blockIdx.x, cells = k.h * k.w;
    float *shares = k.room + (size_t) object * 2 * cells, *weights = shares + cells;
    const float *low = k.logits + (size_t) object * 4 * cells;
    if (!k.learns(object)) // all threads alike
        return;
    if (!threadIdx.x)
        inside = 0;
    __syncthreads();
    int mine = 0;
    for (int i = threadIdx.x; i < cells; i += CELL_THREADS) {
        shares[i] = share_of(low, k.w, i);
        mine += shares[i] > 0.5f;
    }
    atomicAdd(&inside, mine);
    __syncthreads();
    const int count = k.prompted[object];
    const float part = count ? 1.0f / count : 1.0f - k.keep;
    for (int i = threadIdx.x; i < cells; i += CELL_THREADS) {
        const float share = shares[i];
        float weight = part / (share > 0.5f ? inside : cells - inside);
        weight *= is_near(shares, k.h, k.w, k.near, i) ? 1.0f : k.far;
        weights[i] = weight * (k.unsure + (1.0f - k.unsure) * fabsf(2.0f * share - 1.0f));
    }
}

// Number `at` of a triangle and its right-hand side, a sum over every SUM_PARTS-th cell.
static __device__ float ridge_sum(const lessons &k, const float *shares, int at, int part)
{
    const int cells = k.h * k.w, c = k.c, triangle = (c + 1) * (c + 2) / 2;
    const float *weights = shares + cells;
    int row = (int) ((sqrtf(8.0f * at + 1.0f) - 1.0f) / 2.0f), column;
    row -= row * (row + 1) / 2 > at;
    row += (row + 1) * (row + 2) / 2 <= at;
    column = at - row * (row + 1) / 2;
    const bool is_right = at >= triangle;
    if (is_right)
        row = at - triangle, column = c;
    // A number of a row, or 1 behind its last: loads without a branch, so that they go together.
    const int own = row < c ? row : 0, other = column < c ? column : 0;
    float sum = 0.0f;
#pragma unroll 4
    for (int i = part; i < cells; i += SUM_PARTS) {
        const float *x = k.features + (size_t) i * c;
        const float a = x[own], b = x[other], share = shares[i];
        const float right = is_right ? 2.0f * share - 1.0f : column < c ? b : 1.0f;
        sum += weights[i] * (row < c ? a : 1.0f) * right;
    }
    return sum;
}

static __global__ void __launch_bounds__(SUM_NUMBERS * SUM_PARTS) ridge_sums_kernel(lessons k)
{
    await_earlier();
    __shared__ float parts[SUM_PARTS][SUM_NUMBERS];
    const int object = blockIdx.y, half = (k.c + 1) * (k.c + 4) / 2;
    const int part = threadIdx.x / SUM_NUMBERS, own = threadIdx.x % SUM_NUMBERS;
    const int at = blockIdx.x * SUM_NUMBERS + own, before = k.before[object];
    if (k.after[object] < 0) // all threads alike
        return;
    const bool learns = k.learns(object);
    if (learns && at < half)
        parts[part][own] = ridge_sum(k, k.room + (size_t) object * 2 * k.h * k.w, at, part);
    __syncthreads();
    if (part > 0 || at >= half)
        return;
    const float *from = k.sums + (size_t) max(before, 0) * 2 * half + at;
    float *to = k.sums + (size_t) k.after[object] * 2 * half + at;
    float prompted = before < 0 ? 0.0f : from[0], tracked = before < 0 ? 0.0f : from[half];
    if (learns) {
        const int count = k.prompted[object];
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < SUM_PARTS; i++)
            sum += parts[i][own];
        prompted = count ? (1.0f - 1.0f / count) * prompted + sum : prompted;
        tracked = count ? 0.0f : k.keep * tracked + sum;
    }
    to[0] = prompted;
    to[half] = tracked;
}

extern "C" void sam_ridge_learn_cuda(struct sam_queue *q, const struct sam_ridge_learn *p)
{
    const lessons k = { (float *) p->sums.data, (float *) p->room.data,
                        (const float *) p->features.data, (const float *) p->logits.data,
                        (const float *) p->score.data, (const int *) p->before.data,
                        (const int *) p->after.data, (const int *) p->prompted.data, p->logits.n,
                        p->features.h, p->features.w, p->features.c, p->near, p->keep, p->far,
                        p->unsure };
    const dim3 grid(blocks_for(p->sums.c / 2, SUM_NUMBERS), p->logits.n);
    SAM_LAUNCH(ridge_weights_kernel, p->logits.n, CELL_THREADS, 0, q, k);
    SAM_LAUNCH(ridge_sums_kernel, grid, SUM_NUMBERS * SUM_PARTS, 0, q, k);
    sam_cuda_launched(q, "ridge_learn");
}

struct fits {
    float *dst, *room;
    const float *sums, *score;
    const int *slot;
    int numbers, room_floats; // of an object
    bool is_shared;           // the matrix lies in shared memory
    float ridge;
};

// Columns one after the other, the right-hand side as one more row; 1 / l on the diagonal. False:
// there is none.
static __device__ bool ridge_decompose(double *a, double *x, int n)
{
    for (int k = 0; k < n; k++) {
        __syncthreads();
        const double left = a[k * n + k];
        if (!(left > 0.0)) // all threads alike
            return false;
        const double scale = 1.0 / sqrt(left);
        __syncthreads();
        for (int i = k + threadIdx.x; i < n; i += FIT_THREADS)
            a[i * n + k] = i > k ? a[i * n + k] * scale : scale;
        if (!threadIdx.x)
            x[k] *= scale;
        __syncthreads();
        for (int i = k + 1 + threadIdx.x; i < n; i += FIT_THREADS)
            x[i] -= a[i * n + k] * x[k];
        for (int i = k + 1 + threadIdx.x / 32; i < n; i += FIT_THREADS / 32)
            for (int j = k + 1 + threadIdx.x % 32; j <= i; j += 32)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    return true;
}

static __device__ void ridge_solve(const double *l, double *x, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        __syncthreads();
        if (!threadIdx.x)
            x[i] *= l[i * n + i];
        __syncthreads();
        for (int k = threadIdx.x; k < i; k += FIT_THREADS)
            x[k] -= l[i * n + k] * x[i];
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(FIT_THREADS) ridge_fit_kernel(fits k)
{
    await_earlier();
    __shared__ double x[SAM_MAX_RIDGE + 1];
    __shared__ double mean;
    const int object = blockIdx.x, n = k.numbers, half = n * (n + 3) / 2, slot = k.slot[object];
    float *dst = k.dst + (size_t) object * n;
    const uintptr_t begin = (uintptr_t) (k.room + (size_t) object * k.room_floats);
    extern __shared__ __align__(8) unsigned char smem[];
    double *a = k.is_shared ? (double *) smem : (double *) ((begin + 7) & ~(uintptr_t) 7);
    bool has_any = slot >= 0 && k.score[object] > 0.0f;
    if (has_any) {
        const float *s = k.sums + (size_t) slot * 2 * half;
        for (int at = threadIdx.x; at < n * n; at += FIT_THREADS) {
            const int i = at / n, j = at % n, from = i * (i + 1) / 2 + j;
            if (j <= i)
                a[at] = (double) s[from] + (double) s[half + from];
        }
        for (int i = threadIdx.x; i < n; i += FIT_THREADS)
            x[i] = (double) s[half - n + i] + (double) s[2 * half - n + i];
        __syncthreads();
        if (!threadIdx.x) {
            mean = 0.0;
            for (int i = 0; i < n; i++)
                mean += a[i * n + i];
            mean /= n;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += FIT_THREADS)
            a[i * n + i] += (double) k.ridge * mean;
        has_any = ridge_decompose(a, x, n);
    }
    if (has_any)
        ridge_solve(a, x, n);
    for (int i = threadIdx.x; i < n; i += FIT_THREADS)
        dst[i] = has_any ? (float) x[i] : 0.0f;
}

extern "C" void sam_ridge_fit_cuda(struct sam_queue *q, const struct sam_ridge_fit *p)
{
    const size_t bytes = sizeof(double) * p->dst.c * p->dst.c;
    const bool is_shared = bytes + sizeof(double) * (SAM_MAX_RIDGE + 2) <= FIT_SHARED;
    const fits k = { (float *) p->dst.data, (float *) p->room.data, (const float *) p->sums.data,
                     (const float *) p->score.data, (const int *) p->slot.data, p->dst.c,
                     p->room.w * p->room.c, is_shared, p->ridge };
    SAM_LAUNCH(ridge_fit_kernel, p->dst.n, FIT_THREADS, is_shared ? bytes : 0, q, k);
    sam_cuda_launched(q, "ridge_fit");
}

struct score_cells_at {
    float *room;
    const float *features, *weights, *score;
    unsigned cells;
    int c;
    float most;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned object = i / cells;
        const float *w = weights + (size_t) object * (c + 1);
        const float *x = features + (size_t) (i % cells) * c;
        float sum = w[c];
        if (!(score[object] > 0.0f))
            return;
        for (int k = 0; k < c; k++)
            sum += w[k] * x[k];
        room[i] = fminf(fmaxf(sum, -most), most);
    }
};

extern "C" void sam_ridge_score_cuda(struct sam_queue *q, const struct sam_ridge_score *p)
{
    const float *score = (const float *) p->score.data;
    const int h = p->features.h, w = p->features.w;
    const score_cells_at cells = { (float *) p->room.data, (const float *) p->features.data,
                                   (const float *) p->weights.data, score, (unsigned) (h * w),
                                   p->features.c, p->most };
    const add_scores_at add = { (float *) p->logits.data, (const float *) p->room.data, score, h, w,
                                p->scale };
    each_by<1>(q, "ridge_score", cells, sam_count(&p->room));
    each_by<1>(q, "ridge_score", add, sam_count(&p->logits));
}

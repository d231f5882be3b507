// SPDX-License-Identifier: MIT
// The k largest numbers of each n, in three launches: those above the threshold are collected as
// keys of 64 bits, number and place together, so that no two are equal and the order in which they
// were collected does not matter; a radix select finds the k-th key, eight bits a turn; each
// survivor counts how many are larger, which is its rank. Memory is the only limit of any size.
#include "view.cuh"

typedef unsigned long long sort_key;

enum { TOPK_THREADS = 256, SELECT_THREADS = 1024, DIGITS = 256 };

struct topk {
    int *index, *num;
    float *score;
    const float *src;
    sort_key *keys; // per n: `count` of them, then k survivors
    int *found;     // per n: keys collected
    int count, k;
    size_t step;    // keys from one n to the next
    float threshold;
    bool all;
};

// Larger for larger numbers, and among equal ones for the first. A NaN is below all numbers.
static __device__ sort_key key_of(float number, unsigned place)
{
    const unsigned bits = __float_as_uint(number + 0.0f); // -0 is 0
    const unsigned order = number != number ? 0u : bits >> 31 ? ~bits : bits | 0x80000000u;
    return (sort_key) order << 32 | ~place;
}

// Shape: a thread per number; a warp takes its places in the list at once. Traffic: src once.
static __global__ void __launch_bounds__(TOPK_THREADS) collect_kernel(topk p)
{
    await_earlier();
    const int n = blockIdx.y, i = blockIdx.x * TOPK_THREADS + threadIdx.x, lane = threadIdx.x % 32;
    const float number = i < p.count ? p.src[(size_t) n * p.count + i] : 0.0f;
    const bool is_above = i < p.count && (p.all || number > p.threshold);
    const unsigned above = __ballot_sync(0xffffffffu, is_above);
    int at = 0;
    if (lane == 0 && above)
        at = atomicAdd(&p.found[n], __popc(above));
    at = __shfl_sync(0xffffffffu, at, 0) + __popc(above & ((1u << lane) - 1));
    if (is_above)
        p.keys[n * p.step + at] = key_of(number, i);
}

// The k-th largest of `count` keys: in each turn the digit under which it lies.
static __device__ sort_key select_key(const sort_key *keys, int count, int k, int *bins,
                                      sort_key *shared)
{
    sort_key prefix = 0, mask = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        for (int i = threadIdx.x; i < DIGITS; i += SELECT_THREADS)
            bins[i] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += SELECT_THREADS)
            if ((keys[i] & mask) == prefix)
                atomicAdd(&bins[keys[i] >> shift & (DIGITS - 1)], 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            int digit = DIGITS - 1, left = k;
            for (; bins[digit] < left; digit--)
                left -= bins[digit];
            shared[0] = prefix | (sort_key) digit << shift;
            shared[1] = left;
        }
        __syncthreads();
        prefix = shared[0];
        k = (int) shared[1];
        mask |= (sort_key) (DIGITS - 1) << shift;
    }
    return prefix;
}

// Shape: a block per n. Traffic: the keys nine times, from the cache.
static __global__ void __launch_bounds__(SELECT_THREADS) select_kernel(topk p)
{
    await_earlier();
    __shared__ int bins[DIGITS], kept;
    __shared__ sort_key shared[2];
    const int n = blockIdx.x, found = p.found[n];
    const sort_key *keys = p.keys + n * p.step;
    sort_key *survivors = p.keys + n * p.step + p.count;

    const sort_key least = found > p.k ? select_key(keys, found, p.k, bins, shared) : 0;
    if (threadIdx.x == 0) {
        kept = 0;
        p.num[n] = min(found, p.k);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < found; i += SELECT_THREADS)
        if (keys[i] >= least)
            survivors[atomicAdd(&kept, 1)] = keys[i];
}

// Shape: a thread per output. Traffic: the survivors once per block, from the cache.
static __global__ void __launch_bounds__(TOPK_THREADS) rank_kernel(topk p)
{
    await_earlier();
    const int n = blockIdx.y, i = blockIdx.x * TOPK_THREADS + threadIdx.x, num = p.num[n];
    const sort_key *survivors = p.keys + n * p.step + p.count;
    int *index = p.index + (size_t) n * p.k;
    float *score = p.score + (size_t) n * p.k;
    if (i >= p.k)
        return;
    if (i >= num) {
        index[i] = -1;
        score[i] = 0.0f;
        return;
    }
    const sort_key own = survivors[i];
    int rank = 0;
    for (int j = 0; j < num; j++)
        rank += survivors[j] > own;
    const unsigned place = ~(unsigned) own;
    index[rank] = (int) place;
    score[rank] = p.src[(size_t) n * p.count + place];
}

extern "C" void sam_topk_cuda(struct sam_queue *q, const struct sam_topk *p)
{
    const int n = p->src.n;
    const uintptr_t room = ((uintptr_t) p->room.data + 7) & ~(uintptr_t) 7;
    const topk a = { (int *) p->index.data, (int *) p->num.data, (float *) p->score.data,
                     (const float *) p->src.data, (sort_key *) room,
                     (int *) sam_cuda(q)->workspace, p->src.c, p->index.c,
                     (size_t) p->room.c / 2, p->threshold, p->all };
    if (n > SAM_CUDA_WORKSPACE / (int) sizeof(int)) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "topk: %d lists, at most %d on a GPU", n,
                       SAM_CUDA_WORKSPACE / (int) sizeof(int));
        return;
    }
    if (!sam_cuda_check(q, "topk", cudaMemsetAsync(a.found, 0, n * sizeof(int),
                                                   sam_cuda_stream(q))))
        return;
    SAM_LAUNCH(collect_kernel, dim3(blocks_for(a.count, TOPK_THREADS), n), TOPK_THREADS, 0, q, a);
    sam_cuda_launched(q, "topk");
    SAM_LAUNCH(select_kernel, n, SELECT_THREADS, 0, q, a);
    sam_cuda_launched(q, "topk");
    SAM_LAUNCH(rank_kernel, dim3(blocks_for(a.k, TOPK_THREADS), n), TOPK_THREADS, 0, q, a);
    sam_cuda_launched(q, "topk");
}

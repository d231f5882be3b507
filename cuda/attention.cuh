// SPDX-License-Identifier: MIT
#pragma once

#include "mma.cuh"
#include "view.cuh"

// Attention as the kernels see it: groups of queries and keys, told apart by head. A group is an
// object of attention, or one window of a map.
struct attend {
    view q, k, v, dst;
    int heads, dk, dv, groups, queries, keys; // queries and keys of one group
    float scale;
    const int *num_keys; // of each group; NULL: all
    int q_step, k_step, v_step, dst_step; // numbers between two rows
    int k_rows, v_rows;                   // rows between two groups; 0: all share one
    // Windows: of height x width positions, row-major over maps of map_h x map_w, `across` side by
    // side, `per_map` in a map. Queries are the largest of cell x cell positions. width 0: none.
    int height, width, map_h, map_w, across, per_map, cell;
    const float *pad; // the token beyond the map: q, k, v
    bool chunks;      // eight neighbouring channels of q, k and v are BF16 and 16 bytes aligned
    bool dst_chunks;  // and so of dst
    bool fours;       // F32 of which four neighbouring channels can be read at once; no windows
    // Keys cut into `splits` parts, so that few queries keep the device busy. Each part leaves for
    // every (group, head, query) its sum of weighted values, the largest score, the weights' sum.
    int splits;
    float *part;      // (splits, groups, heads, queries, dv), then as many pairs; in the workspace
    unsigned *arrivals; // of the blocks of a tile, whose last one merges; NULL: a launch does
    // Of the exact kernel alone, see attention.cu.
    int shift;         // of windows on a torus
    const float *bias; // by head, and how far a query is below and to the right of a key
    const float *mask; // (groups, queries, keys): negative where a query leaves out a key; unless
    const int *open;   // (groups, queries) it would leave out all; in the workspace
    const int *num_first; // of each group: keys from there on have `rest` added; NULL: none
    float rest;
    size_t used;       // bytes of the workspace that hold such: a multiple of 16
    int *gave_up;      // of attention_wgmma.cu alone: told of a wait that nothing ended
};

enum { ATTEND_MOST_SPLITS = 16, ATTEND_FEW_SPLITS = 4 };

// Of (split, group, head, query), the number among all.
static __device__ __forceinline__ size_t attend_part(const attend &a, int split, int group,
                                                     int head, int query)
{
    return (((size_t) split * a.groups + group) * a.heads + head) * a.queries + query;
}

static __device__ __forceinline__ float2 *attend_tops(const attend &a)
{
    return (float2 *) (a.part + attend_part(a, a.splits, 0, 0, 0) * a.dv);
}

// The row of key i of a group; negative: beyond the map.
static __device__ __forceinline__ int attend_key_row(const attend &a, int group, int i, int rows)
{
    if (!a.width)
        return group * rows + i;
    const int window = group % a.per_map;
    const int y = window / a.across * a.height + i / a.width;
    const int x = window % a.across * a.width + i % a.width;
    return y < a.map_h && x < a.map_w ? (group / a.per_map * a.map_h + y) * a.map_w + x : -1;
}

// The row of dst of query i of a group; negative: there is none.
static __device__ __forceinline__ int attend_dst_row(const attend &a, int group, int i)
{
    if (i >= a.queries)
        return -1;
    if (!a.width)
        return group * a.queries + i;
    const int window = group % a.per_map, width = a.width / a.cell;
    const int y = window / a.across * (a.height / a.cell) + i / width;
    const int x = window % a.across * width + i % width;
    const int map_h = a.map_h / a.cell, map_w = a.map_w / a.cell;
    return y < map_h && x < map_w ? (group / a.per_map * map_h + y) * map_w + x : -1;
}

// Number c of a key or value: `which` is 1 for keys, 2 for values.
static __device__ __forceinline__ float attend_load(const attend &a, view t, int row, int step,
                                                    int which, int head, int dim, int c)
{
    if (row < 0)
        return a.pad[which * a.heads * dim + head * dim + c];
    return load_one(t, (unsigned) row * step + head * dim + c);
}

// Number c of query i; 0 where there is none.
static __device__ __forceinline__ float attend_query(const attend &a, int group, int i, int head,
                                                     int c)
{
    const int row = attend_dst_row(a, group, i), at = head * a.dk + c;
    if (row < 0)
        return 0.0f;
    if (a.cell <= 1)
        return load_one(a.q, (unsigned) row * a.q_step + at);
    // Rows of dst count cells: (n, y, x) of a map half as high and half as wide.
    const int map_w = a.map_w / 2, above = row / map_w * 2 * a.map_w + row % map_w * 2;
    const float upper = fmaxf(load_one(a.q, (unsigned) above * a.q_step + at),
                              load_one(a.q, (unsigned) (above + 1) * a.q_step + at));
    const unsigned below = above + a.map_w;
    const float lower = fmaxf(load_one(a.q, below * a.q_step + at),
                              load_one(a.q, (below + 1) * a.q_step + at));
    return fmaxf(upper, lower);
}

// How many keys of a group count.
static __device__ __forceinline__ int attend_num_keys(const attend &a, int group)
{
    return a.num_keys ? a.num_keys[group] : a.keys;
}

// ---- parts of the keys

// N numbers of the result, from c on, of what at most MOST parts left, whose loads are all under
// way together.
template <int N, int MOST>
static __device__ __forceinline__ void attend_merge_at(const attend &a, int group, int head,
                                                       int query, int c)
{
    const int row = attend_dst_row(a, group, query);
    if (row < 0)
        return;
    const size_t first = attend_part(a, 0, group, head, query);
    const size_t step = attend_part(a, 1, 0, 0, 0);
    float2 its[MOST];
    float v[MOST][N], top = -INFINITY, total = 0.0f, sum[N] = {};
#pragma unroll
    for (int s = 0; s < MOST; s++)
        its[s] = s < a.splits ? attend_tops(a)[first + s * step] : make_float2(-INFINITY, 0.0f);
#pragma unroll
    for (int s = 0; s < MOST; s++)
        if (s < a.splits)
            load(v[s], { a.part, false }, (unsigned) ((first + s * step) * a.dv + c));
#pragma unroll
    for (int s = 0; s < MOST; s++)
        top = fmaxf(top, its[s].x);
#pragma unroll
    for (int s = 0; s < MOST; s++) {
        if (s >= a.splits) // without this the compiler has the loads wait for each other
            break;
        const float weight = expf(its[s].x - top);
        total += weight * its[s].y;
        for (int k = 0; k < N; k++)
            sum[k] += weight * v[s][k];
    }
    for (int k = 0; k < N; k++)
        sum[k] /= total;
    store(a.dst, (unsigned) row * a.dst_step + head * a.dv + c, sum);
}

// Whether this block is the last of its tile to leave a part, for each of its THREADS threads that
// have left one. *is_last: in shared memory.
template <int THREADS>
static __device__ __forceinline__ bool attend_is_last(const attend &a, int *is_last)
{
    const unsigned tile = (blockIdx.z * gridDim.y + blockIdx.y) * (gridDim.x / a.splits)
                        + blockIdx.x / a.splits;
    __threadfence(); // what this thread has left is there for other blocks
    barrier_sync(1, THREADS);
    if (threadIdx.x == 0) {
        // The last one counts back to 0, which the next launch begins with.
        *is_last = atomicInc(&a.arrivals[tile], a.splits - 1) == (unsigned) a.splits - 1;
        __threadfence(); // what others have left is there for this block
    }
    barrier_sync(1, THREADS);
    return *is_last;
}

// By the last block of a tile: ROWS queries of DV channels, in the order of the parts, whoever is
// the last.
template <int N, int MOST, int THREADS, int ROWS, int DV>
static __device__ __forceinline__ void attend_merge_tile(const attend &a, int *is_last, int group,
                                                         int head, int query0)
{
    if (!attend_is_last<THREADS>(a, is_last))
        return;
#pragma unroll(ROWS * DV > 4 * THREADS * N ? 4 : 1) // loads that are under way together
    for (int i = threadIdx.x * N; i < ROWS * DV; i += THREADS * N)
        if (i % DV < a.dv)
            attend_merge_at<N, MOST>(a, group, head, query0 + i / DV, i % DV);
}

// Cuts the keys so that there are `side_by_side` blocks for every multiprocessor, as far as the
// workspace goes. `rows` queries and `keys` keys make a step of a block.
void sam_cuda_attend_split(struct sam_queue *q, attend *a, int rows, int keys, int side_by_side);

// Lets the last block of a tile of `rows` queries merge its parts, if these are few bytes for one
// multiprocessor. For kernels that end with attend_merge_tile.
void sam_cuda_attend_merge_within(struct sam_queue *q, attend *a, int rows);

// The parts of a split to dst; nothing without one, or where blocks do so.
void sam_cuda_attend_merge(struct sam_queue *q, const attend &a);

// In F32, for narrow heads and few queries or few keys. False: it is for another kernel.
bool sam_cuda_attend_few(struct sam_queue *q, const attend &a);

// BF16 factors, F32 sums, on tensor cores. False: no kernel for this many channels or scale.
bool sam_cuda_attend_tensor(struct sam_queue *q, attend a);

// Likewise, by the instructions of sm_90a. False also where twins.cu has found no use for it.
bool sam_cuda_attend_wgmma(struct sam_queue *q, attend a);

// Whether device, driver and build have these.
bool sam_cuda_can_wgmma(const struct sam_queue *q);

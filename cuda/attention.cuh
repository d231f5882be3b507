#pragma once

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
    // Of the exact kernel alone, see attention.cu.
    int shift;         // of windows on a torus
    const float *bias; // by head, and how far a query is below and to the right of a key
    const float *mask; // (groups, queries, keys): negative where a query leaves out a key; unless
    const int *open;   // (groups, queries) it would leave out all; in the workspace
    size_t used;       // bytes of the workspace that hold such: a multiple of 16
};

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

// Cuts the keys so that there are `side_by_side` blocks for every multiprocessor, as far as the
// workspace goes. `rows` queries and `keys` keys make a step of a block.
void sam_cuda_attend_split(struct sam_queue *q, attend *a, int rows, int keys, int side_by_side);

// The parts of a split to dst; nothing without one.
void sam_cuda_attend_merge(struct sam_queue *q, const attend &a);

// In F32, for narrow heads and few queries or few keys. False: it is for another kernel.
bool sam_cuda_attend_few(struct sam_queue *q, const attend &a);

// BF16 factors, F32 sums, on tensor cores. False: no kernel for this many channels or scale.
bool sam_cuda_attend_tensor(struct sam_queue *q, attend a);

// Likewise, by the instructions of sm_90a. False also where twins.cu has found no use for it.
bool sam_cuda_attend_wgmma(struct sam_queue *q, attend a);

// Whether device, driver and build have these.
bool sam_cuda_can_wgmma(const struct sam_queue *q);

// SPDX-License-Identifier: MIT
// Exact attention of narrow heads where one side is short: the decoder's tokens and the image. All
// in F32, no tensor cores; a row of a head is a few float4.
#include "attention.cuh"

#include "reduce.cuh"

enum { FEW_WARPS = 4, FEW_THREADS = 32 * FEW_WARPS };

static __device__ __forceinline__ float4 load_four(view t, unsigned at, bool valid)
{
    return valid ? *(const float4 *) ((const float *) t.p + at) : make_float4(0, 0, 0, 0);
}

// A head's row of `dim` numbers; zeros beyond.
template <int D>
static __device__ __forceinline__ void load_row(float4 (&v)[D / 4], view t, unsigned at, int dim)
{
#pragma unroll
    for (int c = 0; c < D / 4; c++)
        v[c] = load_four(t, at + 4 * c, 4 * c < dim);
}

template <int D>
static __device__ __forceinline__ float dot(const float4 (&a)[D / 4], const float4 *b)
{
    float sum = 0.0f;
#pragma unroll
    for (int c = 0; c < D / 4; c++)
        sum += a[c].x * b[c].x + a[c].y * b[c].y + a[c].z * b[c].z + a[c].w * b[c].w;
    return sum;
}

static __device__ __forceinline__ void add_scaled(float4 &sum, float by, float4 v)
{
    sum.x += by * v.x, sum.y += by * v.y, sum.z += by * v.z, sum.w += by * v.w;
}

// ---- few keys

// Shape: a thread has a query of one head; the keys and values of the head lie in shared memory.
// Scores are made twice: for the largest, and for the weights.
// Traffic: keys and values once per FEW_THREADS queries; everything else once.
enum { FEW_KEYS = 128 };

template <int D>
static __global__ void __launch_bounds__(FEW_THREADS) attend_few_keys_kernel(attend a)
{
    await_earlier();
    __shared__ float4 keys[FEW_KEYS][D / 4], values[FEW_KEYS][D / 4];
    const int head = blockIdx.y, group = blockIdx.z, num_keys = attend_num_keys(a, group);
    const int query = blockIdx.x * FEW_THREADS + threadIdx.x;
    const unsigned row = (unsigned) group * a.queries + min(query, a.queries - 1);
    float4 q[D / 4], sum[D / 4] = {};
    load_row<D>(q, a.q, row * a.q_step + head * a.dk, a.dk);
    for (int i = threadIdx.x; i < num_keys * (D / 4); i += FEW_THREADS) {
        const int key = i / (D / 4), c = i % (D / 4);
        const unsigned k = (unsigned) (group * a.k_rows + key) * a.k_step + head * a.dk + 4 * c;
        const unsigned v = (unsigned) (group * a.v_rows + key) * a.v_step + head * a.dv + 4 * c;
        keys[key][c] = load_four(a.k, k, 4 * c < a.dk);
        values[key][c] = load_four(a.v, v, 4 * c < a.dv);
    }
    __syncthreads();
    float top = -INFINITY, total = 0.0f;
    for (int key = 0; key < num_keys; key++)
        top = fmaxf(top, dot<D>(q, keys[key]) * a.scale);
    for (int key = 0; key < num_keys; key++) {
        const float weight = expf(dot<D>(q, keys[key]) * a.scale - top);
        total += weight;
#pragma unroll
        for (int c = 0; c < D / 4; c++)
            add_scaled(sum[c], weight, values[key][c]);
    }
    if (query >= a.queries)
        return;
#pragma unroll
    for (int c = 0; c < D / 4; c++) {
        const float four[4] = { sum[c].x / total, sum[c].y / total, sum[c].z / total,
                                sum[c].w / total };
        if (4 * c < a.dv)
            store(a.dst, row * a.dst_step + head * a.dv + 4 * c, four);
    }
}

// ---- few queries

// Shape: a block has FEW_QUERIES<D> queries of one head and a part of the keys. A lane takes every
// FEW_THREADS-th key for all of its queries, with sums of its own, which meet at the end: the
// largest score so far scales what was added up before.
// Traffic: keys and values once per FEW_QUERIES<D> queries.
enum { MOST_FEW_QUERIES = 128, FEW_SIDE_BY_SIDE = 2 };

// As many as registers hold the sums of.
template <int D> constexpr int FEW_QUERIES = D <= 16 ? 4 : 2;

// Whether the last block of a tile merges. Of 32 the compiler would keep no sums in registers.
template <int D> constexpr bool MERGES_FEW = D <= 16;

// What one lane, then one warp, knows of a query.
template <int D> struct few_sums {
    float top, total;
    float4 sum[D / 4];
};

template <int D>
static __device__ __forceinline__ void take_key(few_sums<D> &s, float score,
                                                const float4 (&value)[D / 4])
{
    const float now = fmaxf(s.top, score), fade = expf(s.top - now), weight = expf(score - now);
    s.top = now;
    s.total = s.total * fade + weight;
#pragma unroll
    for (int c = 0; c < D / 4; c++) {
        s.sum[c].x *= fade, s.sum[c].y *= fade, s.sum[c].z *= fade, s.sum[c].w *= fade;
        add_scaled(s.sum[c], weight, value[c]);
    }
}

// The weight of sums whose largest score was `top` among those of `all`; one without keys has none.
static __device__ __forceinline__ float share_of(float top, float all)
{
    return top == -INFINITY ? 0.0f : expf(top - all);
}

// Sums of a warp's lanes to shared memory: number c of the values, then the total.
template <int D>
static __device__ __forceinline__ void join_lanes(few_sums<D> &s, float *to, float *top)
{
    const int lane = threadIdx.x % 32;
    float all = s.top;
    for (int step = 16; step > 0; step /= 2)
        all = fmaxf(all, __shfl_xor_sync(0xffffffffu, all, step));
    const float share = share_of(s.top, all);
    const float total = lanes_sum(share * s.total, 32);
#pragma unroll
    for (int from = 0; from < D; from += 16) { // of 32 the compiler keeps none in registers
        float v[16];
#pragma unroll
        for (int c = 0; c < 4; c++) {
            const float4 sum = s.sum[from / 4 + c];
            v[4 * c] = share * sum.x, v[4 * c + 1] = share * sum.y;
            v[4 * c + 2] = share * sum.z, v[4 * c + 3] = share * sum.w;
        }
        const float mine = lanes_sums(v);
        if (lane < 16)
            to[from + lane] = mine;
    }
    if (lane == 0)
        to[D] = total, *top = all;
}

template <int D>
static __global__ void __launch_bounds__(FEW_THREADS, FEW_SIDE_BY_SIDE)
attend_few_queries_kernel(attend a)
{
    await_earlier();
    enum { QUERIES = FEW_QUERIES<D> };
    __shared__ float4 queries[QUERIES][D / 4];
    __shared__ float sums[QUERIES][FEW_WARPS][D + 1], tops[QUERIES][FEW_WARPS];
    __shared__ int is_last;
    const int head = blockIdx.y, group = blockIdx.z, split = blockIdx.x % a.splits;
    const int query0 = blockIdx.x / a.splits * QUERIES, num_keys = attend_num_keys(a, group);
    const int steps = (num_keys + FEW_THREADS - 1) / FEW_THREADS;
    const int end = min(steps * (split + 1) / a.splits * FEW_THREADS, num_keys);
    const unsigned k0 = (unsigned) group * a.k_rows, v0 = (unsigned) group * a.v_rows;
    if (threadIdx.x < QUERIES * D / 4) {
        const int i = threadIdx.x / (D / 4), c = threadIdx.x % (D / 4);
        const unsigned row = (unsigned) group * a.queries + min(query0 + i, a.queries - 1);
        queries[i][c] = load_four(a.q, row * a.q_step + head * a.dk + 4 * c, 4 * c < a.dk);
    }
    __syncthreads();

    few_sums<D> mine[QUERIES] = {};
#pragma unroll
    for (int i = 0; i < QUERIES; i++)
        mine[i].top = -INFINITY;
#pragma unroll 1 // more would need more registers than there are
    for (int key = steps * split / a.splits * FEW_THREADS + threadIdx.x; key < end;
         key += FEW_THREADS) {
        float4 k[D / 4], v[D / 4];
        load_row<D>(k, a.k, (k0 + key) * a.k_step + head * a.dk, a.dk);
        load_row<D>(v, a.v, (v0 + key) * a.v_step + head * a.dv, a.dv);
#pragma unroll
        for (int i = 0; i < QUERIES; i++)
            take_key<D>(mine[i], dot<D>(k, queries[i]) * a.scale, v);
    }
#pragma unroll
    for (int i = 0; i < QUERIES; i++)
        join_lanes<D>(mine[i], sums[i][threadIdx.x / 32], &tops[i][threadIdx.x / 32]);
    __syncthreads();

    for (int n = threadIdx.x; n < QUERIES * D; n += FEW_THREADS) {
        const int i = n / D, c = n % D, query = query0 + i;
        float all = tops[i][0], sum = 0.0f, total = 0.0f;
        for (int w = 1; w < FEW_WARPS; w++)
            all = fmaxf(all, tops[i][w]);
        for (int w = 0; w < FEW_WARPS; w++) {
            const float share = share_of(tops[i][w], all);
            sum += share * sums[i][w][c];
            total += share * sums[i][w][D];
        }
        if (query >= a.queries || c >= a.dv)
            continue;
        const size_t part = attend_part(a, split, group, head, query);
        if (a.splits == 1) {
            store_one(a.dst, ((unsigned) group * a.queries + query) * a.dst_step + head * a.dv + c,
                      sum / total);
            continue;
        }
        a.part[part * a.dv + c] = sum;
        if (c == 0)
            attend_tops(a)[part] = make_float2(all, total);
    }
    if constexpr (MERGES_FEW<D>)
        if (a.arrivals)
            attend_merge_tile<1, ATTEND_MOST_SPLITS, FEW_THREADS, QUERIES, D>(a, &is_last, group,
                                                                             head, query0);
}

// ---- launch

template <int D> static void launch(struct sam_queue *q, attend a)
{
    if (a.keys <= FEW_KEYS) {
        const dim3 grid(blocks_for(a.queries, FEW_THREADS), a.heads, a.groups);
        SAM_LAUNCH(attend_few_keys_kernel<D>, grid, FEW_THREADS, 0, q, a);
        return;
    }
    sam_cuda_attend_split(q, &a, FEW_QUERIES<D>, FEW_THREADS, FEW_SIDE_BY_SIDE);
    if (MERGES_FEW<D>)
        sam_cuda_attend_merge_within(q, &a, FEW_QUERIES<D>);
    const dim3 grid(blocks_for(a.queries, FEW_QUERIES<D>) * a.splits, a.heads, a.groups);
    SAM_LAUNCH(attend_few_queries_kernel<D>, grid, FEW_THREADS, 0, q, a);
    sam_cuda_attend_merge(q, a);
}

bool sam_cuda_attend_few(struct sam_queue *q, const attend &a)
{
    const int d = a.dk > a.dv ? a.dk : a.dv;
    if (!a.fours || d > 32 || (a.keys > FEW_KEYS && a.queries > MOST_FEW_QUERIES))
        return false;
    if (d <= 16)
        launch<16>(q, a);
    else
        launch<32>(q, a);
    return true;
}

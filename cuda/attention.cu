// SPDX-License-Identifier: MIT
// Attention: what the operations ask of the kernels, and the exact kernel: all in F32, no tensor
// cores. Those of tensor cores are in attention_tensor.cu and, for sm_90a, in attention_wgmma.cu;
// those of narrow heads in attention_few.cu. There is no rope_attention: its keys would be made
// anew for every block of queries; a product and a rotation make them once, for all.
#include "attention.cuh"

#include "reduce.cuh"

#include <float.h>

// Shape: a block of four warps takes 16 queries of one group and head, four to a warp, and walks
// along the keys 32 at a time: a lane has one key while scores are made, and one channel in 32
// while values are added up. The largest score so far scales what was added up before (Milakov and
// Gimelshein, arXiv 1805.02867).
// Traffic: keys and values once per 16 queries; pieces of 32 channels pass through shared memory.
// 32 PIECES channels of the values to a block; where there are more, other blocks have them.
enum { EXACT_WARPS = 4, EXACT_QUERIES = 4, EXACT_KEYS = 32 };
enum { EXACT_ROWS = EXACT_WARPS * EXACT_QUERIES, EXACT_ATTEND_THREADS = 32 * EXACT_WARPS };

typedef float4 piece[EXACT_KEYS / 4 + 1]; // one more, so that lanes meet no bank twice

// Kinds of attention: as attention.cuh has it; in windows of a torus, with a bias; with a mask;
// with keys that count less.
struct plain {
    enum { SHIFTS = false, MASKS = false, RESTS = false };
};
struct shifted {
    enum { SHIFTS = true, MASKS = false, RESTS = false };
};
struct masked {
    enum { SHIFTS = false, MASKS = true, RESTS = false };
};
struct rested {
    enum { SHIFTS = false, MASKS = false, RESTS = true };
};

// Position i of a window that begins at (shift, shift) and further on. Negative rows are of no map.
struct place {
    int row;
    int at;   // how far it is down and to the right, in steps of the table of biases
    int side; // on which sides of the map's end, at the bottom and at the right, it lies
};

static __device__ __forceinline__ place place_of(const attend &a, int group, int i)
{
    const int window = group % a.per_map, rows = a.per_map / a.across * a.height;
    const int columns = a.across * a.width, down = i / a.width, right = i % a.width;
    int y = window / a.across * a.height + down + a.shift;
    int x = window % a.across * a.width + right + a.shift;
    place p = { -1, down * (2 * a.width - 1) + right, (y >= rows) + 2 * (x >= columns) };
    y -= y >= rows ? rows : 0;
    x -= x >= columns ? columns : 0;
    if (y < a.map_h && x < a.map_w)
        p.row = (group / a.per_map * a.map_h + y) * a.map_w + x;
    return p;
}

// Another lane's.
static __device__ __forceinline__ place place_from(place p, int lane)
{
    return { __shfl_sync(0xffffffffu, p.row, lane), __shfl_sync(0xffffffffu, p.at, lane),
             __shfl_sync(0xffffffffu, p.side, lane) };
}

// What is added to the score of a query and a key, which lie at two places of a window.
static __device__ __forceinline__ float bias_of(const attend &a, int head, place query, place key)
{
    const int wide = 2 * a.width - 1, middle = wide * wide / 2;
    return a.bias[head * wide * wide + middle + query.at - key.at]
           - (query.side != key.side ? 100.0f : 0.0f);
}

// Likewise by the mask.
static __device__ __forceinline__ float mask_of(const attend &a, size_t query, int key)
{
    return a.mask[query * a.keys + key] < 0.0f ? -INFINITY : 0.0f;
}

static __device__ float lanes_max(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}

// Channels c0 .. c0 + 31 of 32 keys or values; zeros beyond both ends.
static __device__ void load_piece(piece *to, const attend &a, view t, int group, int step, int rows,
                                  int which, int head, int dim, int key0, int num_keys, int c0)
{
    for (int i = threadIdx.x; i < EXACT_KEYS * 32; i += EXACT_ATTEND_THREADS) {
        const int key = key0 + i / 32, c = c0 + i % 32;
        float v = 0.0f;
        if (key < num_keys && c < dim)
            v = attend_load(a, t, attend_key_row(a, group, key, rows), step, which, head, dim, c);
        ((float *) to[i / 32])[i % 32] = v;
    }
}

// Channels c0 .. c0 + 31 of ROWS tokens of a window, of which there are `count`, at the places of
// as many lanes; zeros beyond both ends. All loads are under way together.
template <int ROWS, bool BF16>
static __device__ void load_tokens(piece *to, const attend &a, void *from, int which, int head,
                                   int count, int c0, place own)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, at = head * a.dk + c0 + lane;
    const bool there = c0 + lane < a.dk;
    const float pad = there ? a.pad[which * a.heads * a.dk + at] : 0.0f;
    float v[ROWS / EXACT_WARPS];
#pragma unroll
    for (int k = 0; k < ROWS / EXACT_WARPS; k++) {
        const int row = __shfl_sync(0xffffffffu, own.row, warp + EXACT_WARPS * k);
        v[k] = pad;
        if (there && row >= 0)
            v[k] = load_one({ from, BF16 }, (unsigned) row * a.k_step + at);
    }
#pragma unroll
    for (int k = 0; k < ROWS / EXACT_WARPS; k++) {
        const int i = warp + EXACT_WARPS * k;
        ((float *) to[i])[lane] = i < count ? v[k] : 0.0f;
    }
}

template <int ROWS>
static __device__ void load_window(piece *to, const attend &a, view t, int which, int head,
                                   int count, int c0, place own)
{
    if (t.bf16)
        load_tokens<ROWS, true>(to, a, t.p, which, head, count, c0, own);
    else
        load_tokens<ROWS, false>(to, a, t.p, which, head, count, c0, own);
}

template <int PIECES, class KIND>
static __global__ void __launch_bounds__(EXACT_ATTEND_THREADS, 1) attend_exact_kernel(attend a)
{
    await_earlier();
    __shared__ piece keys[EXACT_KEYS], queries[EXACT_ROWS], weights[EXACT_ROWS];
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * EXACT_QUERIES;
    const int query0 = blockIdx.x / a.splits * EXACT_ROWS, group = blockIdx.z;
    const int head = blockIdx.y % a.heads, from = blockIdx.y / a.heads * 32 * PIECES;
    const int num_keys = attend_num_keys(a, group), split = blockIdx.x % a.splits;
    const int steps = (num_keys + EXACT_KEYS - 1) / EXACT_KEYS;
    const int end = steps * (split + 1) / a.splits * EXACT_KEYS;
    float out[EXACT_QUERIES][PIECES] = {}, top[EXACT_QUERIES], total[EXACT_QUERIES] = {};
    float added[EXACT_QUERIES] = {};
    int open[EXACT_QUERIES] = {}; // whether a query's mask does not count
    place mine = { -1, 0, 0 }, key = { -1, 0, 0 }; // of query query0 + lane, of key key0 + lane
    if (KIND::SHIFTS && lane < EXACT_ROWS && query0 + lane < a.queries)
        mine = place_of(a, group, query0 + lane);
#pragma unroll
    for (int i = 0; i < EXACT_QUERIES; i++) {
        const int query = query0 + first + i;
        top[i] = KIND::MASKS ? -FLT_MAX : -INFINITY; // a mask may leave out all keys of a step
        if (KIND::MASKS)
            open[i] = query < a.queries ? a.open[(size_t) group * a.queries + query] : 1;
    }

    for (int key0 = steps * split / a.splits * EXACT_KEYS; key0 < end; key0 += EXACT_KEYS) {
        float score[EXACT_QUERIES] = {};
        if (KIND::SHIFTS && key0 + lane < num_keys)
            key = place_of(a, group, key0 + lane);
#pragma unroll
        for (int i = 0; i < EXACT_QUERIES; i++) {
            const size_t query = (size_t) group * a.queries + query0 + first + i;
            if (KIND::SHIFTS)
                added[i] = bias_of(a, head, place_from(mine, first + i), key);
            else if (KIND::MASKS && key0 + lane < num_keys && !open[i])
                added[i] = mask_of(a, query, key0 + lane);
        }
        for (int c0 = 0; c0 < a.dk; c0 += 32) {
            __syncthreads();
            if constexpr (KIND::SHIFTS) {
                load_window<EXACT_KEYS>(keys, a, a.k, 1, head, num_keys - key0, c0, key);
                load_window<EXACT_ROWS>(queries, a, a.q, 0, head, a.queries - query0, c0, mine);
            } else {
                load_piece(keys, a, a.k, group, a.k_step, a.k_rows, 1, head, a.dk, key0, num_keys,
                           c0);
                for (int i = threadIdx.x; i < EXACT_ROWS * 32; i += EXACT_ATTEND_THREADS)
                    ((float *) queries[i / 32])[i % 32] = c0 + i % 32 < a.dk
                        ? attend_query(a, group, query0 + i / 32, head, c0 + i % 32) : 0.0f;
            }
            __syncthreads();
            for (int c = 0; c < 32 / 4; c++) {
                const float4 k = keys[lane][c];
#pragma unroll
                for (int i = 0; i < EXACT_QUERIES; i++) {
                    const float4 v = queries[first + i][c];
                    score[i] += v.x * k.x + v.y * k.y + v.z * k.z + v.w * k.w;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < EXACT_QUERIES; i++) {
            float s = key0 + lane < num_keys ? score[i] * a.scale : -INFINITY;
            if (KIND::SHIFTS || KIND::MASKS)
                s += added[i];
            if (KIND::RESTS && key0 + lane >= a.num_first[group])
                s += a.rest;
            const float now = fmaxf(top[i], lanes_max(s)), fade = expf(top[i] - now);
            const float weight = expf(s - now);
            top[i] = now;
            total[i] = total[i] * fade + lanes_sum(weight, 32);
            ((float *) weights[first + i])[lane] = weight;
#pragma unroll
            for (int k = 0; k < PIECES; k++)
                out[i][k] *= fade;
        }
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
            if (from + 32 * k >= a.dv)
                break;
            __syncthreads(); // keys are done with, and so is the piece before
            if constexpr (KIND::SHIFTS)
                load_window<EXACT_KEYS>(keys, a, a.v, 2, head, num_keys - key0, from + 32 * k, key);
            else
                load_piece(keys, a, a.v, group, a.v_step, a.v_rows, 2, head, a.dv, key0, num_keys,
                           from + 32 * k);
            __syncthreads();
            for (int key = 0; key < EXACT_KEYS; key += 4) {
                const float v0 = ((float *) keys[key])[lane], v1 = ((float *) keys[key + 1])[lane];
                const float v2 = ((float *) keys[key + 2])[lane];
                const float v3 = ((float *) keys[key + 3])[lane];
#pragma unroll
                for (int i = 0; i < EXACT_QUERIES; i++) {
                    const float4 w = weights[first + i][key / 4];
                    out[i][k] += w.x * v0 + w.y * v1 + w.z * v2 + w.w * v3;
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < EXACT_QUERIES; i++) {
        const int query = query0 + first + i;
        const int row = KIND::SHIFTS ? place_from(mine, first + i).row
                                     : attend_dst_row(a, group, query);
        const size_t part = attend_part(a, split, group, head, query);
        if (row >= 0 && a.splits > 1 && lane == 0 && from == 0)
            attend_tops(a)[part] = make_float2(top[i], total[i]);
#pragma unroll
        for (int k = 0; k < PIECES; k++) {
            const int c = from + 32 * k + lane;
            if (row >= 0 && c < a.dv && a.splits > 1)
                a.part[part * a.dv + c] = out[i][k];
            else if (row >= 0 && c < a.dv)
                store_one(a.dst, (unsigned) row * a.dst_step + head * a.dv + c,
                          out[i][k] / total[i]);
        }
    }
}

template <int PIECES, class KIND> static void launch_exact(struct sam_queue *q, const attend &a)
{
    const dim3 grid(blocks_for(a.queries, EXACT_ROWS) * a.splits,
                    a.heads * blocks_for(a.dv, 32 * PIECES), a.groups);
    SAM_LAUNCH((attend_exact_kernel<PIECES, KIND>), grid, EXACT_ATTEND_THREADS, 0, q, a);
}

template <class KIND> static void attend_exact(struct sam_queue *q, attend a)
{
    if (KIND::SHIFTS) // the merge knows no torus, and windows have few keys
        a.splits = 1;
    else
        sam_cuda_attend_split(q, &a, EXACT_ROWS, EXACT_KEYS, 1);
    if (a.dv <= 32) // as in all models with windows or masks
        launch_exact<1, KIND>(q, a);
    else if constexpr (KIND::SHIFTS || KIND::MASKS)
        launch_exact<8, KIND>(q, a);
    else if (a.dv <= 64)
        launch_exact<2, KIND>(q, a);
    else
        launch_exact<8, KIND>(q, a);
    sam_cuda_attend_merge(q, a);
}

static bool has_room(struct sam_queue *q, const char *op, const attend &a)
{
    if (a.heads > 65535 || a.groups > 65535)
        sam_queue_fail(q, SAM_EUNSUPPORTED, "%s: %d heads of %d objects or windows, at most 65535 "
                       "each on a GPU", op, a.heads, a.groups);
    return !q->status;
}

static void attend(struct sam_queue *q, const char *op, const struct attend &a, bool exact)
{
    if (!has_room(q, op, a))
        return;
    if (a.num_first) {
        attend_exact<rested>(q, a);
        sam_cuda_launched(q, op);
        return;
    }
    const bool on_tensor_cores =
        !exact && (sam_cuda_attend_wgmma(q, a) || sam_cuda_attend_tensor(q, a));
    if (!on_tensor_cores && !sam_cuda_attend_few(q, a))
        attend_exact<plain>(q, a);
    sam_cuda_launched(q, op);
}

extern "C" void sam_attention_cuda(struct sam_queue *q, const struct sam_attention *p)
{
    struct attend a = {};
    a.q = view_of(&p->q), a.k = view_of(&p->k), a.v = view_of(&p->v), a.dst = view_of(&p->dst);
    a.heads = p->heads, a.dk = p->q.c / p->heads, a.dv = p->v.c / p->heads;
    a.groups = p->q.n, a.queries = p->q.w, a.keys = p->k.w;
    a.scale = p->scale;
    a.num_keys = (const int *) p->num_keys.data;
    a.num_first = (const int *) p->num_first.data, a.rest = p->rest;
    a.q_step = p->q.c, a.k_step = p->k.c, a.v_step = p->v.c, a.dst_step = p->dst.c;
    a.k_rows = p->k.n == 1 ? 0 : p->k.w;
    a.v_rows = p->v.n == 1 ? 0 : p->v.w;
    a.cell = 1;
    a.chunks = a.q.bf16 && a.k.bf16 && a.v.bf16 && by_eight(&p->q, a.dk)
            && by_eight(&p->k, a.dk) && by_eight(&p->v, a.dv);
    a.dst_chunks = a.dst.bf16 && by_eight(&p->dst, a.dv);
    a.fours = !a.q.bf16 && !a.k.bf16 && !a.v.bf16 && by_four(&p->q, a.dk)
           && by_four(&p->k, a.dk) && by_four(&p->v, a.dv) && by_four(&p->dst, a.dv);
    attend(q, "attention", a, p->exact || q->precision == SAM_PRECISION_FP32);
}

// A part of the channels of qkv: 0 queries, 1 keys, 2 values.
static view part_of(const struct sam_tensor *qkv, int which)
{
    const size_t at = (size_t) which * (qkv->c / 3) * sam_type_size(qkv->type);
    return { (uint8_t *) qkv->data + at, qkv->type == SAM_BF16 };
}

// Groups are windows; over the whole map there is one, which needs no padding.
extern "C" void sam_window_attention_cuda(struct sam_queue *q, const struct sam_window_attention *p)
{
    const struct sam_tensor *t = &p->qkv;
    struct attend a = {};
    a.q = part_of(t, 0), a.k = part_of(t, 1), a.v = part_of(t, 2), a.dst = view_of(&p->dst);
    a.heads = p->heads, a.dk = a.dv = p->dst.c / p->heads;
    a.height = p->window ? p->window : t->h;
    a.width = p->window ? p->window : t->w;
    a.map_h = t->h, a.map_w = t->w;
    a.across = blocks_for(t->w, a.width);
    a.per_map = a.across * blocks_for(t->h, a.height);
    a.cell = p->pool ? 2 : 1;
    a.groups = t->n * a.per_map;
    a.keys = a.height * a.width;
    a.queries = a.keys / (a.cell * a.cell);
    a.scale = 1.0f / sqrtf((float) a.dk);
    a.q_step = a.k_step = a.v_step = t->c, a.dst_step = p->dst.c;
    a.pad = (const float *) p->pad.data;
    a.chunks = a.q.bf16 && by_eight(t, a.dk);
    a.dst_chunks = a.dst.bf16 && by_eight(&p->dst, a.dv);
    if (!p->window && !p->pool) // rows in their own order
        a.width = 0, a.k_rows = a.v_rows = a.keys;
    attend(q, "window_attention", a, q->precision == SAM_PRECISION_FP32);
}

// In F32 at any precision.
extern "C" void sam_shifted_attention_cuda(struct sam_queue *q,
                                           const struct sam_shifted_attention *p)
{
    const struct sam_tensor *t = &p->qkv;
    struct attend a = {};
    a.q = part_of(t, 0), a.k = part_of(t, 1), a.v = part_of(t, 2), a.dst = view_of(&p->dst);
    a.heads = p->heads, a.dk = a.dv = p->dst.c / p->heads;
    a.height = a.width = p->window, a.shift = p->shift;
    a.map_h = t->h, a.map_w = t->w;
    a.across = blocks_for(t->w, a.width);
    a.per_map = a.across * blocks_for(t->h, a.height);
    a.groups = t->n * a.per_map;
    a.keys = a.queries = a.height * a.width;
    a.scale = 1.0f / sqrtf((float) a.dk);
    a.q_step = a.k_step = a.v_step = t->c, a.dst_step = p->dst.c;
    a.pad = (const float *) p->pad.data, a.bias = (const float *) p->bias.data;
    if (!has_room(q, "shifted_attention", a))
        return;
    attend_exact<shifted>(q, a);
    sam_cuda_launched(q, "shifted_attention");
}

// Shape: a block has a query's row of the mask. Traffic: the mask once; dst once.
enum { OPEN_THREADS = 256 };

static __global__ void __launch_bounds__(OPEN_THREADS) open_kernel(int *dst, const float *mask,
                                                                   int keys)
{
    await_earlier();
    const float *row = mask + (size_t) blockIdx.x * keys;
    bool leaves_one = false;
#pragma unroll 4
    for (int key = threadIdx.x; key < keys; key += OPEN_THREADS)
        leaves_one |= !(row[key] < 0.0f);
    const int any = __syncthreads_or(leaves_one);
    if (threadIdx.x == 0)
        dst[blockIdx.x] = !any;
}

// In F32 at any precision.
extern "C" void sam_masked_attention_cuda(struct sam_queue *q, const struct sam_masked_attention *p)
{
    const size_t rows = (size_t) p->q.n * p->q.w, used = (rows * sizeof(int) + 15) / 16 * 16;
    struct attend a = {};
    a.q = view_of(&p->q), a.k = view_of(&p->k), a.v = view_of(&p->v), a.dst = view_of(&p->dst);
    a.heads = p->heads, a.dk = p->q.c / p->heads, a.dv = p->v.c / p->heads;
    a.groups = p->q.n, a.queries = p->q.w, a.keys = p->k.w;
    a.scale = p->scale;
    a.q_step = p->q.c, a.k_step = p->k.c, a.v_step = p->v.c, a.dst_step = p->dst.c;
    a.k_rows = p->k.n == 1 ? 0 : p->k.w;
    a.v_rows = p->v.n == 1 ? 0 : p->v.w;
    a.cell = 1;
    a.mask = (const float *) p->mask.data;
    a.open = (const int *) sam_cuda(q)->workspace, a.used = used;
    if (!has_room(q, "masked_attention", a))
        return;
    if (used > SAM_CUDA_WORKSPACE / 2) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "masked_attention: %zu queries, at most %d on a GPU",
                       rows, SAM_CUDA_WORKSPACE / 8);
        return;
    }
    SAM_LAUNCH(open_kernel, (unsigned) rows, OPEN_THREADS, 0, q, (int *) sam_cuda(q)->workspace,
               a.mask, a.keys);
    sam_cuda_launched(q, "masked_attention: queries whose mask leaves no key");
    attend_exact<masked>(q, a);
    sam_cuda_launched(q, "masked_attention");
}

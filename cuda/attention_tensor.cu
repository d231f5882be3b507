// SPDX-License-Identifier: MIT
// Attention on tensor cores: BF16 factors, F32 scores, weights and sums.
#include "attention.cuh"

#include "mma.cuh"
#include "reduce.cuh"

// Shape: a block of WARPS warps takes ROWS queries of one group and head, 16 MI to a warp, and
// walks along the keys KEYS at a time with two stages of cp.async. Scores, weights and sums stay in
// registers: the accumulators of one product are the factors of the next (Dao, arXiv 2307.08691).
// Rows in shared memory are eight numbers longer than they need be: an odd number of 16 bytes, so
// that ldmatrix meets no bank twice.
// Traffic: keys and values once per ROWS queries; 16 bytes at a time where they lie ready.
// Needs: dk <= DK, dv <= DV, both multiples of 16; DV <= DK. READY: eight neighbours of q, k, v and
// dst are 16 aligned bytes; other numbers come one at a time, by code that would lie between.
template <int DK_, int DV_, int WARPS_, int MI_, int KEYS_, bool READY_ = true>
struct attend_shape {
    enum { DK = DK_, DV = DV_, WARPS = WARPS_, MI = MI_, KEYS = KEYS_, READY = READY_ };
    enum { STEPS = DK / 16, KEEPS = 0, KEPT = 1 };
    enum { THREADS = 32 * WARPS, ROWS = 16 * MI * WARPS };
    struct stage {
        __nv_bfloat16 k[KEYS][DK + 8], v[KEYS][DV + 8];
    };
    struct shared {
        __nv_bfloat16 q[ROWS][DK + 8];
        stage s[2];
    };
};

// A warp holds its queries in registers, too: of few keys a step, reading them again in every step
// would take shared memory longer than the products take the tensor cores.
template <int DK, int DV, int WARPS, int MI, int KEYS>
struct attend_kept_shape : attend_shape<DK, DV, WARPS, MI, KEYS> {
    enum { KEEPS = 1, KEPT = DK / 16 };
};

// ---- to shared memory

// Rows of the map by the positions of a window, which a block finds once: four divisions for each
// position and step took longer than the products of a window. NULL: they are found where needed.
enum { MOST_IN_WINDOW = 256 };
typedef const int *window_rows;

static __device__ __forceinline__ int key_row_of(const attend &a, window_rows known, int group,
                                                 int i)
{
    return known ? known[i] : attend_key_row(a, group, i, a.k_rows);
}

static __device__ __forceinline__ int dst_row_of(const attend &a, window_rows known, int group,
                                                 int i)
{
    if (known && a.cell == 1)
        return i < a.queries ? known[i] : -1;
    return attend_dst_row(a, group, i);
}

// Where numbers do not lie ready, one at a time. Zeros beyond the last key: its weight is 0, and 0
// times what lies in memory might not be.
template <int D>
static __device__ __forceinline__ void load_each(__nv_bfloat16 (*to)[D + 8], int rows, int threads,
                                                 const attend &a, view t, int group, int key0,
                                                 int num_keys, int t_rows, int step, int which,
                                                 int head, int dim)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < rows * D; i += threads) {
        const int key = key0 + i / D, c = i % D;
        float v = 0.0f;
        if (key < num_keys && c < dim)
            v = attend_load(a, t, attend_key_row(a, group, key, t_rows), step, which, head, dim, c);
        to[i / D][c] = bf16_one(v);
    }
}

// Rows that lie ready, 16 bytes at a time; four neighbouring threads share a row.
template <int D>
static __device__ __forceinline__ void load_ready(__nv_bfloat16 *to, const attend &a, view t,
                                                  bool valid, int row, int step, int which,
                                                  int head, int dim)
{
    const __nv_bfloat16 *from = (const __nv_bfloat16 *) t.p;
    if (valid && row < 0) { // beyond the map
        const float *pad = a.pad + which * a.heads * dim + head * dim;
#pragma unroll 1
        for (int c = threadIdx.x % 4; c < D; c += 4)
            to[c] = bf16_one(c < dim ? pad[c] : 0.0f);
        return;
    }
#pragma unroll(D > 128 ? 2 : 4)
    for (int c = threadIdx.x % 4 * 8; c < D; c += 32) {
        const bool there = valid && c < dim;
        cp_async_16(to + c, there ? from + (size_t) row * step + head * dim + c : from, there);
    }
}

template <class S>
static __device__ __forceinline__ void load_stage(typename S::stage *to, const attend &a,
                                                  window_rows known, int group, int head, int key0,
                                                  int num_keys)
{
    if constexpr (!S::READY) {
        load_each<S::DK>(to->k, S::KEYS, S::THREADS, a, a.k, group, key0, num_keys, a.k_rows,
                         a.k_step, 1, head, a.dk);
        load_each<S::DV>(to->v, S::KEYS, S::THREADS, a, a.v, group, key0, num_keys, a.v_rows,
                         a.v_step, 2, head, a.dv);
    } else {
#pragma unroll 1
        for (int r = threadIdx.x / 4; r < S::KEYS; r += S::THREADS / 4) {
            const bool valid = key0 + r < num_keys;
            const int k_row = valid ? key_row_of(a, known, group, key0 + r) : 0;
            const int v_row = a.width ? k_row : valid ? group * a.v_rows + key0 + r : 0;
            load_ready<S::DK>(to->k[r], a, a.k, valid, k_row, a.k_step, 1, head, a.dk);
            load_ready<S::DV>(to->v[r], a, a.v, valid, v_row, a.v_step, 2, head, a.dv);
        }
    }
}

static __device__ __forceinline__ uint32_t larger_two(uint32_t a, uint32_t b)
{
    return bf16_two(fmaxf(bf16_low(a), bf16_low(b)), fmaxf(bf16_high(a), bf16_high(b)));
}

static __device__ __forceinline__ uint4 larger_eight(uint4 a, uint4 b)
{
    return make_uint4(larger_two(a.x, b.x), larger_two(a.y, b.y), larger_two(a.z, b.z),
                      larger_two(a.w, b.w));
}

static __device__ __forceinline__ uint4 larger_of(const __nv_bfloat16 *a, const __nv_bfloat16 *b)
{
    return larger_eight(*(const uint4 *) a, *(const uint4 *) b);
}

template <class S>
static __device__ __forceinline__ void load_ready_queries(typename S::shared *to, const attend &a,
                                                          window_rows known, int group, int head,
                                                          int query0)
{
    const __nv_bfloat16 *q = (const __nv_bfloat16 *) a.q.p + head * a.dk;
#pragma unroll 1
    for (int r = threadIdx.x / 4; r < S::ROWS; r += S::THREADS / 4) {
        const int row = dst_row_of(a, known, group, query0 + r);
        const __nv_bfloat16 *from = q + (size_t) max(row, 0) * a.q_step;
        if (a.cell == 2 && row >= 0) { // the first of 2 x 2 positions, and the one below
            const int half = a.map_w / 2, first = row / half * 2 * a.map_w + row % half * 2;
            from = q + (size_t) first * a.q_step;
        }
        const __nv_bfloat16 *below = from + (size_t) a.map_w * a.q_step;
#pragma unroll
        for (int c = threadIdx.x % 4 * 8; c < S::DK; c += 32) {
            const bool there = row >= 0 && c < a.dk;
            if (a.cell == 2 && there)
                *(uint4 *) (to->q[r] + c) =
                    larger_eight(larger_of(from + c, from + a.q_step + c),
                                 larger_of(below + c, below + a.q_step + c));
            else
                cp_async_16(to->q[r] + c, there ? from + c : q, there);
        }
    }
}

template <class S>
static __device__ __forceinline__ void load_queries(typename S::shared *to, const attend &a,
                                                    window_rows known, int group, int head,
                                                    int query0)
{
    if constexpr (S::READY) {
        load_ready_queries<S>(to, a, known, group, head, query0);
    } else {
#pragma unroll 1
        for (int i = threadIdx.x; i < S::ROWS * S::DK; i += S::THREADS) {
            const int r = i / S::DK, c = i % S::DK;
            const float v = c < a.dk ? attend_query(a, group, query0 + r, head, c) : 0.0f;
            to->q[r][c] = bf16_one(v);
        }
    }
}

// ---- one step along the keys

// Fragments as in gemm.cuh: numbers 0 and 1 of four belong to row lane / 4, 2 and 3 to row
// lane / 4 + 8; columns lane % 4 * 2 and the next. The queries' are of columns 16 c and on.
template <class S>
static __device__ __forceinline__ void take_queries(const typename S::shared *sh, int c,
                                                    uint32_t (*fq)[4])
{
    const int lane = threadIdx.x % 32, row0 = threadIdx.x / 32 * 16 * S::MI;
#pragma unroll
    for (int i = 0; i < S::MI; i++)
        ldmatrix_x4(fq[i], sh->q[row0 + 16 * i + lane % 16] + 16 * c + lane / 16 * 8);
}

template <class S>
static __device__ __forceinline__ void make_scores(typename S::shared *sh, typename S::stage *now,
                                                   uint32_t (*kept)[S::MI][4],
                                                   float (*score)[S::KEYS / 8][4])
{
    const int lane = threadIdx.x % 32;
// All of 256 would need more registers than there are, but for queries that are there already.
#pragma unroll(S::DK > 128 && !S::KEEPS ? 4 : S::STEPS)
    for (int c = 0; c < S::STEPS; c++) {
        uint32_t fq[S::MI][4], fk[4];
        if constexpr (!S::KEEPS)
            take_queries<S>(sh, c, fq);
#pragma unroll
        for (int j = 0; j < S::KEYS / 16; j++) {
            ldmatrix_x4(fk, now->k[16 * j + lane / 16 * 8 + lane % 8] + 16 * c + lane / 8 % 2 * 8);
#pragma unroll
            for (int i = 0; i < S::MI; i++) {
                const uint32_t *q = S::KEEPS ? kept[c][i] : fq[i];
                mma_m16n8k16<__nv_bfloat16>(score[i][2 * j], q, fk);
                mma_m16n8k16<__nv_bfloat16>(score[i][2 * j + 1], q, fk + 2);
            }
        }
    }
}

// No weight to the keys of the last step beyond the `left` that there are.
template <class S>
static __device__ __forceinline__ void hide_beyond(float (*score)[S::KEYS / 8][4], int left)
{
    const int first = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < S::KEYS / 8; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (8 * j + first + e % 2 >= left)
#pragma unroll
                for (int i = 0; i < S::MI; i++)
                    score[i][j][e] = -INFINITY;
}

// The largest of what four neighbouring lanes have: of a row of a fragment.
static __device__ __forceinline__ float row_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

// Scores to weights relative to the largest so far, as BF16 in the first NJ numbers' places: the
// sum is of what is multiplied. 2^(scale score) is a key's weight; scale > 0. What went before
// fades.
template <int NJ, int NO>
static __device__ __forceinline__ void make_weights(float (*score)[4], uint32_t (*weight)[2],
                                                    float (*out)[4], float *top, float *total,
                                                    float scale)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float most = top[h];
#pragma unroll
        for (int j = 0; j < NJ; j++)
            most = fmaxf(most, fmaxf(score[j][2 * h], score[j][2 * h + 1]));
        most = row_max(most);
        const float fade = exp2_flushed((top[h] - most) * scale), zero = most * scale;
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < NJ; j++) {
            weight[j][h] = bf16_two(exp2_flushed(score[j][2 * h] * scale - zero),
                                    exp2_flushed(score[j][2 * h + 1] * scale - zero));
            sum += bf16_low(weight[j][h]) + bf16_high(weight[j][h]);
        }
        top[h] = most;
        total[h] = total[h] * fade + sum;
#pragma unroll
        for (int j = 0; j < NO; j++)
            out[j][2 * h] *= fade, out[j][2 * h + 1] *= fade;
    }
}

template <class S>
static __device__ __forceinline__ void add_values(typename S::stage *now,
                                                  uint32_t (*weight)[S::KEYS / 8][2],
                                                  float (*out)[S::DV / 8][4])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < S::KEYS / 16; k++)
#pragma unroll
        for (int j = 0; j < S::DV / 16; j++) {
            uint32_t fv[4];
            ldmatrix_x4_trans(fv, now->v[16 * k + lane % 16] + 16 * j + lane / 16 * 8);
#pragma unroll
            for (int i = 0; i < S::MI; i++) {
                const uint32_t fw[4] = { weight[i][2 * k][0], weight[i][2 * k][1],
                                         weight[i][2 * k + 1][0], weight[i][2 * k + 1][1] };
                mma_m16n8k16<__nv_bfloat16>(out[i][2 * j], fw, fv);
                mma_m16n8k16<__nv_bfloat16>(out[i][2 * j + 1], fw, fv + 2);
            }
        }
}

// ---- what becomes of the sums

template <class S>
static __device__ __forceinline__ void leave_part(const attend &a, int split, int group, int head,
                                                  int query, const float (*out)[4], int h,
                                                  float top, float total)
{
    if (attend_dst_row(a, group, query) < 0)
        return;
    const size_t part = attend_part(a, split, group, head, query);
    const int first = threadIdx.x % 4 * 2;
    if (first == 0)
        attend_tops(a)[part] = make_float2(top * a.scale, total);
    float *to = a.part + part * a.dv + first;
#pragma unroll
    for (int j = 0; j < S::DV / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            if (8 * j + first + e < a.dv)
                to[8 * j + e] = out[j][2 * h + e];
}

template <class S>
static __device__ __forceinline__ void leave_row(typename S::shared *sh, const attend &a, int group,
                                                 int head, int query0, int r,
                                                 const float (*out)[4], int h, float total)
{
    const int lane = threadIdx.x % 32;
    const float scale = 1.0f / total;
    if (S::READY) {
#pragma unroll
        for (int j = 0; j < S::DV / 8; j++)
            *(uint32_t *) (sh->q[r] + 8 * j + lane % 4 * 2) =
                bf16_two(out[j][2 * h] * scale, out[j][2 * h + 1] * scale);
        return;
    }
    const int row = attend_dst_row(a, group, query0 + r);
    const unsigned first = (unsigned) row * a.dst_step + head * a.dv;
#pragma unroll
    for (int j = 0; j < S::DV / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const int c = 8 * j + lane % 4 * 2 + e;
            if (row >= 0 && c < a.dv)
                store_one(a.dst, first + c, out[j][2 * h + e] * scale);
        }
}

// A warp's rows, which took the place of its queries, to dst 16 bytes at a time.
template <class S>
static __device__ __forceinline__ void store_rows(typename S::shared *sh, const attend &a,
                                                  window_rows known, int group, int head,
                                                  int query0)
{
    const int lane = threadIdx.x % 32, row0 = threadIdx.x / 32 * 16 * S::MI;
    __syncwarp();
#pragma unroll
    for (int r = row0 + lane / 4; r < row0 + 16 * S::MI; r += 8) {
        const int row = dst_row_of(a, known, group, query0 + r);
        __nv_bfloat16 *dst = (__nv_bfloat16 *) a.dst.p + (size_t) row * a.dst_step + head * a.dv;
#pragma unroll
        for (int c = lane % 4 * 8; c < S::DV; c += 32)
            if (row >= 0 && c < a.dv)
                *(uint4 *) (dst + c) = *(const uint4 *) (sh->q[r] + c);
    }
}

template <class S>
static __device__ __forceinline__ void leave(typename S::shared *sh, const attend &a,
                                             window_rows known, int split, int group, int head,
                                             int query0,
                                             const float (*out)[S::DV / 8][4],
                                             const float (*top)[2], float (*total)[2])
{
    const int lane = threadIdx.x % 32, row0 = threadIdx.x / 32 * 16 * S::MI;
    __syncwarp(); // all lanes are done with the queries
#pragma unroll
    for (int i = 0; i < S::MI; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int r = row0 + 16 * i + 8 * h + lane / 4;
            total[i][h] += __shfl_xor_sync(0xffffffffu, total[i][h], 1);
            total[i][h] += __shfl_xor_sync(0xffffffffu, total[i][h], 2);
            if (a.splits > 1)
                leave_part<S>(a, split, group, head, query0 + r, out[i], h, top[i][h],
                              total[i][h]);
            else
                leave_row<S>(sh, a, group, head, query0, r, out[i], h, total[i][h]);
        }
    if (a.splits == 1 && S::READY)
        store_rows<S>(sh, a, known, group, head, query0);
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, 1) attend_kernel(attend a)
{
    await_earlier();
    extern __shared__ __align__(128) unsigned char smem[];
    typename S::shared *sh = reinterpret_cast<typename S::shared *>(smem);
    const int split = blockIdx.x % a.splits, query0 = blockIdx.x / a.splits * S::ROWS;
    const int head = blockIdx.y, group = blockIdx.z;
    const int num_keys = attend_num_keys(a, group), steps = (num_keys + S::KEYS - 1) / S::KEYS;
    const int first = steps * split / a.splits, end = steps * (split + 1) / a.splits;
    const float scale = a.scale * 1.44269504f; // weights are powers of 2

    window_rows known = NULL;
    if constexpr (S::DK <= 128) { // larger ones have no room left, on some devices
        int *rows = reinterpret_cast<int *>(sh + 1);
        if (a.width && a.keys <= MOST_IN_WINDOW) {
            for (int i = threadIdx.x; i < a.keys; i += S::THREADS)
                rows[i] = attend_key_row(a, group, i, 0);
            __syncthreads();
            known = rows;
        }
    }
    load_queries<S>(sh, a, known, group, head, query0);
    if (first < end)
        load_stage<S>(&sh->s[first % 2], a, known, group, head, first * S::KEYS, num_keys);
    cp_async_commit();

    float out[S::MI][S::DV / 8][4] = {}, top[S::MI][2], total[S::MI][2] = {};
#pragma unroll
    for (int i = 0; i < S::MI; i++)
        top[i][0] = top[i][1] = -INFINITY;
    uint32_t kept[S::KEPT][S::MI][4];
    if constexpr (S::KEEPS) {
        cp_async_wait<0>();
        __syncthreads();
#pragma unroll
        for (int c = 0; c < S::KEPT; c++)
            take_queries<S>(sh, c, kept[c]);
    }
    for (int step = first; step < end; step++) {
        cp_async_wait<0>();
        __syncthreads(); // the stage is there for all, and all have left the one before
        if (step + 1 < end)
            load_stage<S>(&sh->s[(step + 1) % 2], a, known, group, head, (step + 1) * S::KEYS,
                          num_keys);
        cp_async_commit();

        typename S::stage *now = &sh->s[step % 2];
        float score[S::MI][S::KEYS / 8][4] = {};
        uint32_t weight[S::MI][S::KEYS / 8][2];
        make_scores<S>(sh, now, kept, score);
        const int left = num_keys - step * S::KEYS;
        if (left < S::KEYS)
            hide_beyond<S>(score, left);
#pragma unroll
        for (int i = 0; i < S::MI; i++)
            make_weights<S::KEYS / 8, S::DV / 8>(score[i], weight[i], out[i], top[i], total[i],
                                                 scale);
        add_values<S>(now, weight, out);
    }
    cp_async_wait_all(); // of a part without keys
    leave<S>(sh, a, known, split, group, head, query0, out, top, total);
}

// ---- parts of the keys

enum { MERGE_THREADS = 128 };

// Shape: a thread makes N numbers of the result.
template <int N, int MOST>
static __global__ void __launch_bounds__(MERGE_THREADS) attend_merge_kernel(attend a)
{
    await_earlier();
    const unsigned i = (blockIdx.x * MERGE_THREADS + threadIdx.x) * N;
    const int query = i / a.dv, c = i % a.dv, head = blockIdx.y, group = blockIdx.z;
    attend_merge_at<N, MOST>(a, group, head, query, c);
}

enum { LEAST_STEPS = 2 }; // steps of a part, lest the merge costs more
enum { MOST_MERGED = 128 << 10 }; // bytes that a block merges in the time of a launch of its own

void sam_cuda_attend_split(struct sam_queue *q, attend *a, int rows, int keys, int side_by_side)
{
    const size_t blocks = (size_t) blocks_for(a->queries, rows) * a->heads * a->groups;
    const size_t bytes = (size_t) a->groups * a->heads * a->queries * (a->dv + 2) * 4;
    const size_t steps = blocks_for(a->keys, keys), fit = (SAM_CUDA_WORKSPACE - a->used) / bytes;
    size_t splits = (size_t) sam_cuda(q)->num_sms * side_by_side / blocks;
    splits = splits < fit ? splits : fit;
    splits = splits < steps / LEAST_STEPS ? splits : steps / LEAST_STEPS;
    splits = splits < ATTEND_MOST_SPLITS ? splits : (size_t) ATTEND_MOST_SPLITS;
    a->splits = splits > 1 ? (int) splits : 1;
    a->part = (float *) ((uint8_t *) sam_cuda(q)->workspace + a->used);
}

template <int N, int MOST> static void launch_merge(struct sam_queue *q, const attend &a)
{
    const dim3 grid(blocks_for((size_t) a.queries * a.dv / N, MERGE_THREADS), a.heads, a.groups);
    SAM_LAUNCH((attend_merge_kernel<N, MOST>), grid, MERGE_THREADS, 0, q, a);
}

// Whether four neighbouring numbers of dst can be written at once.
static bool has_fours(const attend &a)
{
    return a.dv % 4 == 0 && a.dst_step % 4 == 0
        && (uintptr_t) a.dst.p % (a.dst.bf16 ? 8 : 16) == 0;
}

void sam_cuda_attend_merge_within(struct sam_queue *q, attend *a, int rows)
{
    const size_t tiles = (size_t) blocks_for(a->queries, rows) * a->heads * a->groups;
    const size_t bytes = (size_t) rows * a->dv * a->splits * 4;
    if (a->splits > 1 && has_fours(*a) && tiles <= SAM_CUDA_TILES && bytes <= MOST_MERGED)
        a->arrivals = (unsigned *) ((uint8_t *) sam_cuda(q)->workspace + SAM_CUDA_WORKSPACE);
}

void sam_cuda_attend_merge(struct sam_queue *q, const attend &a)
{
    if (a.splits == 1 || a.arrivals)
        return;
    if (!has_fours(a))
        launch_merge<1, ATTEND_MOST_SPLITS>(q, a);
    else if (a.splits > ATTEND_FEW_SPLITS)
        launch_merge<4, ATTEND_MOST_SPLITS>(q, a);
    else
        launch_merge<4, ATTEND_FEW_SPLITS>(q, a);
}

// ---- launch

// side_by_side: blocks that a multiprocessor holds, where a split is to use them all.
template <class S>
static void launch_shape(struct sam_queue *q, attend a, int side_by_side = 1)
{
    const size_t bytes = sizeof(typename S::shared)
                       + (S::DK <= 128 ? MOST_IN_WINDOW * sizeof(int) : 0);
    sam_cuda_attend_split(q, &a, S::ROWS, S::KEYS, side_by_side);
    const dim3 grid(blocks_for(a.queries, S::ROWS) * a.splits, a.heads, a.groups);
    // More than 48 KiB is had for the asking; asking costs nothing the second time.
    if (!sam_cuda_check(q, "attention: shared memory",
                        cudaFuncSetAttribute(attend_kernel<S>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int) bytes)))
        return;
    SAM_LAUNCH(attend_kernel<S>, grid, S::THREADS, bytes, q, a);
    sam_cuda_attend_merge(q, a);
}

template <int DK, int DV, int WARPS, int MI, int KEYS, bool READY = true>
static void launch(struct sam_queue *q, const attend &a, int side_by_side = 1)
{
    launch_shape<attend_shape<DK, DV, WARPS, MI, KEYS, READY>>(q, a, side_by_side);
}

// Of numbers that do not lie ready; d: the channels of a key or a value, whichever has more.
static bool launch_apart(struct sam_queue *q, const attend &a, int d)
{
    if (d <= 64)
        launch<64, 64, 4, 1, 64, false>(q, a);
    else if (d <= 128)
        launch<128, 128, 4, 1, 64, false>(q, a);
    else if (d <= 256)
        launch<256, 256, 4, 1, 32, false>(q, a);
    return d <= 256;
}

// Windows of 4 x 4 have a warp each.
template <int D> static void launch_square(struct sam_queue *q, const attend &a)
{
    constexpr int MANY = D <= 96 ? 2 : 1; // of more channels there are no registers for two
    if (a.keys <= 16)
        launch<D, D, 1, 1, 16>(q, a);
    else if (a.width && a.queries > 64) // half the blocks read keys and values
        launch<D, D, 4, MANY, 64>(q, a);
    else
        launch<D, D, 4, 1, 64>(q, a);
}

bool sam_cuda_attend_tensor(struct sam_queue *q, attend a)
{
    using wide = attend_shape<256, 64, 4, 2, 64>;
    using kept = attend_kept_shape<256, 64, 8, 2, 16>;
    using widest = attend_shape<256, 64, 8, 2, 64>;
    const size_t limit = sam_cuda(q)->shared_limit;
    const int d = a.dk > a.dv ? a.dk : a.dv;
    if (!(a.scale > 0)) { // the largest score would not have the largest weight
        return false;
    } else if (!a.chunks || !a.dst_chunks) {
        return launch_apart(q, a, d);
    } else if (a.dk > 128 && a.dk <= 256 && a.dv <= 64) {
        if (sizeof(widest::shared) <= limit && a.queries > wide::ROWS)
            launch<256, 64, 8, 2, 64>(q, a); // 216 KiB; two warps hide each other's waits
        else if (sizeof(kept::shared) <= limit && a.queries > wide::ROWS)
            launch_shape<kept>(q, a); // 153 KiB, likewise
        else if (sizeof(wide::shared) <= limit)
            launch<256, 64, 4, 2, 64>(q, a); // 150 KiB
        else
            launch<256, 64, 4, 1, 32>(q, a); // 75 KiB
    } else if (d <= 32) {
        launch_square<32>(q, a);
    } else if (d <= 64) {
        launch_square<64>(q, a);
    } else if (d <= 80) {
        launch_square<80>(q, a);
    } else if (d <= 96) {
        launch_square<96>(q, a);
    } else if (d <= 128) {
        launch_square<128>(q, a);
    } else if (d <= 256) {
        launch<256, 256, 4, 1, 32>(q, a, 2); // 99 KiB, all that some devices have
    } else {
        return false;
    }
    return true;
}

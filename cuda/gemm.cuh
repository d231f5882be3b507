// SPDX-License-Identifier: MIT
#pragma once

#include "mma.cuh"
#include "view.cuh"

// Matrix products with whatever stands before and after them: dst = finish(A weight^T), where a row
// of A is a row of an activation, or the window of a convolution (the implicit im2col). BF16
// factors with F32 sums on tensor cores; or, where a contract is exact, all in F32.

// Where rows of A come from.
struct gemm_in {
    view src;
    bool chunks; // eight neighbouring numbers of A are eight of src, 16 bytes aligned if BF16
    int k;       // numbers in a row of A
    int kernel, stride, pad, h, w, c, out_h, out_w; // of a convolution; kernel 0: plain rows
};

// What becomes of a sum: dst = add + act(sum + bias), or act(sum + bias + add) if up_w.
struct gemm_out {
    view dst, add;       // add.p NULL: none
    const float *bias;   // NULL: none
    unsigned period;     // numbers in add: repeated
    enum sam_act act;
    int up_h, up_w, c;   // transposed convolution: the map of src, channels of dst; 0: plain rows
    bool pairs;          // two neighbouring numbers can be stored at once
};

// How the pairs of a row of dst turn, which are stored as such; table NULL: they do not.
struct gemm_turn {
    const float *table;     // cosines and sines: table_rows rows of n
    const int *num_rotated; // of each map; NULL: all rows turn
    int rows, table_rows;   // rows of a map
};

struct gemm {
    gemm_in in;
    gemm_out out;
    const void *weight; // packed: rows of `ld` numbers, BF16 or F32; zeros beyond k
    int m, n, ld;
};

// Products side by side in one launch, one of them per blockIdx.z: the grid is that of the largest,
// and blocks beyond a smaller one leave.
struct gemm_list {
    gemm each[SAM_MAX_LINEARS];
    gemm_turn turn[SAM_MAX_LINEARS];
};

static __device__ __forceinline__ const gemm &gemm_mine(const gemm &one)
{
    return one;
}

static __device__ __forceinline__ const gemm &gemm_mine(const gemm_list &list)
{
    return list.each[blockIdx.z];
}

static __device__ __forceinline__ gemm_turn gemm_turn_mine(const gemm &)
{
    return {};
}

static __device__ __forceinline__ gemm_turn gemm_turn_mine(const gemm_list &list)
{
    return list.turn[blockIdx.z];
}

// What a block of THREADS threads does when its part of a tile of ROWS rows, from (m0, n0) on, is
// there. Nothing; but see behind.cuh.
template <int ROWS, int THREADS>
static __device__ __forceinline__ void gemm_behind(const gemm &, int tile, int m0, int n0)
{
}

template <int ROWS, int THREADS>
static __device__ __forceinline__ void gemm_behind(const gemm_list &, int tile, int m0, int n0)
{
}

// ---- rows of A

// Where number k of the window at row m begins, for k the first of some that lie in one tap.
struct gemm_row {
    int n, y, x; // of a convolution: the corner of the window, which may be outside
    bool valid;
};

static __device__ __forceinline__ gemm_row gemm_row_of(const gemm_in &a, int m, int rows)
{
    gemm_row r = { m, 0, 0, m < rows };
    if (a.kernel) {
        const int per_map = a.out_h * a.out_w;
        r.n = m / per_map;
        r.y = m % per_map / a.out_w * a.stride - a.pad;
        r.x = m % a.out_w * a.stride - a.pad;
    }
    return r;
}

// The position in src of number k of a row; negative: a zero.
static __device__ __forceinline__ int64_t gemm_at(const gemm_in &a, const gemm_row &r, int k)
{
    if (!r.valid || k >= a.k)
        return -1;
    if (!a.kernel)
        return (int64_t) r.n * a.k + k;
    const int tap = k / a.c, y = r.y + tap / a.kernel, x = r.x + tap % a.kernel;
    if (y < 0 || y >= a.h || x < 0 || x >= a.w)
        return -1;
    return (((int64_t) r.n * a.h + y) * a.w + x) * a.c + k % a.c;
}

// Eight numbers of A as BF16 to shared memory: by cp.async where they lie ready.
static __device__ __forceinline__ void gemm_load(__nv_bfloat16 *to, const gemm_in &a,
                                                 const gemm_row &r, int k)
{
    float v[8];
    if (a.chunks) {
        const int64_t at = gemm_at(a, r, k);
        if (a.src.bf16) {
            const __nv_bfloat16 *src = (const __nv_bfloat16 *) a.src.p;
            cp_async_16(to, at < 0 ? src : src + at, at >= 0);
            return;
        }
        const float4 *src = (const float4 *) ((const float *) a.src.p + (at < 0 ? 0 : at));
        const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        const float4 low = at < 0 ? zero : src[0], high = at < 0 ? zero : src[1];
        *(uint4 *) to = make_uint4(bf16_two(low.x, low.y), bf16_two(low.z, low.w),
                                   bf16_two(high.x, high.y), bf16_two(high.z, high.w));
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int64_t at = gemm_at(a, r, k + i);
        v[i] = at < 0 ? 0.0f : load_one(a.src, (unsigned) at);
    }
    *(uint4 *) to = make_uint4(bf16_two(v[0], v[1]), bf16_two(v[2], v[3]),
                               bf16_two(v[4], v[5]), bf16_two(v[6], v[7]));
}

// ---- what becomes of the sums

// The number of dst that the sum at (row, col) of an m x n product belongs to.
static __device__ __forceinline__ unsigned gemm_dst_at(const gemm_out &o, int n, int row, int col)
{
    if (!o.up_w)
        return (unsigned) row * n + col;
    const int tap = col / o.c, map = row / (o.up_h * o.up_w), at = row % (o.up_h * o.up_w);
    const int y = at / o.up_w * 2 + tap / 2, x = at % o.up_w * 2 + tap % 2;
    return (((unsigned) map * 2 * o.up_h + y) * 2 * o.up_w + x) * o.c + col % o.c;
}

static __device__ __forceinline__ float gemm_value(const gemm_out &o, float sum, float add)
{
    return o.up_w ? act_of(o.act, sum + add) : add + act_of(o.act, sum);
}

static __device__ __forceinline__ void gemm_finish(const gemm_out &o, int n, int row, int col,
                                                   float sum)
{
    const unsigned at = gemm_dst_at(o, n, row, col);
    const float bias = o.bias ? o.bias[o.up_w ? col % o.c : col] : 0.0f;
    const float add = o.add.p ? load_one(o.add, at % o.period) : 0.0f;
    store_one(o.dst, at, gemm_value(o, sum + bias, add));
}

// The angles of pairs of a row of an m x n product: one at col, the others 8 columns apart. All are
// under way together. False: the row does not turn.
template <int NI>
static __device__ __forceinline__ bool gemm_angles(float2 (&angle)[NI], const gemm_turn &t, int m,
                                                   int n, int row, int col)
{
    const int r = row % t.rows;
    if (row >= m || (t.num_rotated && r >= t.num_rotated[row / t.rows]))
        return false;
    const float *from = t.table + (size_t) (r % t.table_rows) * n;
#pragma unroll
    for (int j = 0; j < NI; j++)
        if (col + 8 * j < n)
            angle[j] = __ldg((const float2 *) (from + col + 8 * j));
    return true;
}

// The same as gemm_finish() for (row, col) and (row, col + 1), col even; turned: by the angle.
static __device__ __forceinline__ void gemm_finish_pair(const gemm_out &o, int n, int row, int col,
                                                        float s0, float s1, bool turned,
                                                        float2 angle)
{
    if (!o.pairs) {
        gemm_finish(o, n, row, col, s0);
        if (col + 1 < n)
            gemm_finish(o, n, row, col + 1, s1);
        return;
    }
    const unsigned at = gemm_dst_at(o, n, row, col);
    float a0 = 0.0f, a1 = 0.0f;
    if (o.bias) {
        const float2 bias = *(const float2 *) (o.bias + (o.up_w ? col % o.c : col));
        s0 += bias.x, s1 += bias.y;
    }
    if (o.add.p && o.add.bf16) {
        const uint32_t two = *(const uint32_t *) ((const __nv_bfloat16 *) o.add.p + at % o.period);
        a0 = bf16_low(two), a1 = bf16_high(two);
    } else if (o.add.p) {
        const float2 two = *(const float2 *) ((const float *) o.add.p + at % o.period);
        a0 = two.x, a1 = two.y;
    }
    s0 = gemm_value(o, s0, a0), s1 = gemm_value(o, s1, a1);
    if (turned) {
        const float re = s0, im = s1;
        s0 = re * angle.x - im * angle.y;
        s1 = re * angle.y + im * angle.x;
    }
    if (o.dst.bf16)
        *(uint32_t *) ((__nv_bfloat16 *) o.dst.p + at) = bf16_two(s0, s1);
    else
        *(float2 *) ((float *) o.dst.p + at) = make_float2(s0, s1);
}

// ---- tensor cores

// Shape: a block makes TILE_M x TILE_N of the product with WM x WN warps of (16 MI) x (8 NI), and
// walks along k in steps of 32 with three stages of cp.async; tiles in shared memory are swizzled
// so that ldmatrix meets no bank twice.
// Traffic: A once per TILE_N columns, the weight once per TILE_M rows; dst once.
enum { GEMM_STEP = 32, GEMM_STAGES = 3 };

template <int WM, int WN, int MI, int NI> struct gemm_shape {
    enum { M = WM * MI * 16, N = WN * NI * 8, THREADS = 32 * WM * WN };
    struct stage {
        __nv_bfloat16 a[M][GEMM_STEP], w[N][GEMM_STEP];
    };
    enum { SHARED = GEMM_STAGES * sizeof(stage) };
};

// Rows are 64 bytes; the swizzle spreads 8 of them over all banks.
static __device__ __forceinline__ __nv_bfloat16 *gemm_tile_at(__nv_bfloat16 (*tile)[GEMM_STEP],
                                                              int row, int chunk)
{
    return tile[row] + 8 * (chunk ^ (row / 2 % 4));
}

template <class S>
static __device__ __forceinline__ void gemm_load_stage(typename S::stage *to, const gemm &p,
                                                       const gemm_row *rows, int n0, int k0)
{
    constexpr int CHUNKS = GEMM_STEP / 8;
#pragma unroll
    for (int t = 0; t < S::M * CHUNKS / S::THREADS; t++) {
        const int i = threadIdx.x + t * S::THREADS, row = i / CHUNKS, chunk = i % CHUNKS;
        gemm_load(gemm_tile_at(to->a, row, chunk), p.in, rows[t], k0 + 8 * chunk);
    }
#pragma unroll
    for (int t = 0; t < S::N * CHUNKS / S::THREADS; t++) {
        const int i = threadIdx.x + t * S::THREADS, row = i / CHUNKS, chunk = i % CHUNKS;
        const __nv_bfloat16 *weight = (const __nv_bfloat16 *) p.weight;
        const bool valid = n0 + row < p.n && k0 + 8 * chunk < p.ld;
        cp_async_16(gemm_tile_at(to->w, row, chunk),
                    valid ? weight + (size_t) (n0 + row) * p.ld + k0 + 8 * chunk : weight, valid);
    }
}

template <class S, int MI, int NI>
static __device__ __forceinline__ void gemm_multiply(typename S::stage *now, int wm, int wn,
                                                     float (*sum)[NI][4])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int kk = 0; kk < GEMM_STEP / 8; kk += 2) {
        uint32_t fa[MI][4], fw[NI / 2][4];
#pragma unroll
        for (int i = 0; i < MI; i++)
            ldmatrix_x4(fa[i], gemm_tile_at(now->a, wm + 16 * i + lane % 16, kk + lane / 16));
#pragma unroll
        for (int j = 0; j < NI / 2; j++)
            ldmatrix_x4(fw[j], gemm_tile_at(now->w, wn + 16 * j + lane / 16 * 8 + lane % 8,
                                            kk + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < NI; j++)
                mma_m16n8k16<__nv_bfloat16>(sum[i][j], fa[i], &fw[j / 2][j % 2 * 2]);
    }
}

// LIST: gemm, gemm_list, or gemm_normed of behind.cuh.
template <int WM, int WN, int MI, int NI, class LIST>
static __global__ void __launch_bounds__(32 * WM * WN)
    gemm_kernel(const __grid_constant__ LIST list)
{
    await_earlier();
    using S = gemm_shape<WM, WN, MI, NI>;
    const gemm &p = gemm_mine(list);
    extern __shared__ __align__(128) unsigned char smem[];
    typename S::stage *stages = reinterpret_cast<typename S::stage *>(smem);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int m0 = blockIdx.x * S::M, n0 = blockIdx.y * S::N;
    const int wm = warp / WN * MI * 16, wn = warp % WN * NI * 8;
    const int steps = (p.ld + GEMM_STEP - 1) / GEMM_STEP;
    if (sizeof(LIST) > sizeof(gemm) && (m0 >= p.m || n0 >= p.n))
        return; // whole blocks leave

    gemm_row rows[S::M * GEMM_STEP / 8 / S::THREADS];
    for (int t = 0; t < (int) (sizeof(rows) / sizeof(*rows)); t++) {
        const int row = (threadIdx.x + t * S::THREADS) / (GEMM_STEP / 8);
        rows[t] = gemm_row_of(p.in, m0 + row, p.m);
    }
    for (int s = 0; s < GEMM_STAGES - 1; s++) {
        if (s < steps)
            gemm_load_stage<S>(&stages[s], p, rows, n0, s * GEMM_STEP);
        cp_async_commit();
    }

    float sum[MI][NI][4] = {};
    for (int s = 0; s < steps; s++) {
        cp_async_wait<GEMM_STAGES - 2>();
        __syncthreads(); // the stage is there for all, and all have left the one before
        const int next = s + GEMM_STAGES - 1;
        if (next < steps)
            gemm_load_stage<S>(&stages[next % GEMM_STAGES], p, rows, n0, next * GEMM_STEP);
        cp_async_commit();
        gemm_multiply<S, MI, NI>(&stages[s % GEMM_STAGES], wm, wn, sum);
    }

    const gemm_turn turn = gemm_turn_mine(list);
    const int my_row = m0 + wm + lane / 4, my_col = n0 + wn + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < MI; i++) {
        float2 angle[2][NI] = {};
        bool turned[2] = {};
#pragma unroll
        for (int h = 0; h < 2; h++)
            turned[h] = turn.table
                     && gemm_angles(angle[h], turn, p.m, p.n, my_row + 16 * i + 8 * h, my_col);
#pragma unroll
        for (int j = 0; j < NI; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int row = my_row + 16 * i + 8 * h, col = my_col + 8 * j;
                if (row < p.m && col < p.n)
                    gemm_finish_pair(p.out, p.n, row, col, sum[i][j][2 * h], sum[i][j][2 * h + 1],
                                     turned[h], angle[h][j]);
            }
    }
    gemm_behind<S::M, S::THREADS>(list, blockIdx.x, m0, n0);
}

// ---- F32

// Shape: a block of 256 threads makes 64 x 64 of the product, 4 x 4 each, in steps of 16 along k.
// Traffic: as above. For the little that must be exact: no tensor cores.
enum { EXACT_TILE = 64, EXACT_STEP = 16, EXACT_THREADS = 256 };

static __global__ void __launch_bounds__(EXACT_THREADS) gemm_exact_kernel(gemm p)
{
    await_earlier();
    __shared__ float4 ta[EXACT_STEP][EXACT_TILE / 4 + 1], tw[EXACT_STEP][EXACT_TILE / 4 + 1];
    const int m0 = blockIdx.x * EXACT_TILE, n0 = blockIdx.y * EXACT_TILE;
    const int row = threadIdx.x / 16, col = threadIdx.x % 16; // of 4 x 4
    float sum[4][4] = {};
    for (int k0 = 0; k0 < p.ld; k0 += EXACT_STEP) {
        for (int i = threadIdx.x; i < EXACT_TILE * EXACT_STEP; i += EXACT_THREADS) {
            const int r = i / EXACT_STEP, k = i % EXACT_STEP;
            const int64_t at = gemm_at(p.in, gemm_row_of(p.in, m0 + r, p.m), k0 + k);
            const bool valid = n0 + r < p.n && k0 + k < p.ld;
            const float *weight = (const float *) p.weight;
            ((float *) ta[k])[r] = at < 0 ? 0.0f : load_one(p.in.src, (unsigned) at);
            ((float *) tw[k])[r] = valid ? weight[(size_t) (n0 + r) * p.ld + k0 + k] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < EXACT_STEP; k++) {
            const float4 a = ta[k][row], w = tw[k][col];
#define EXACT_ROW(i, v)                                                                        \
    sum[i][0] += v * w.x, sum[i][1] += v * w.y, sum[i][2] += v * w.z, sum[i][3] += v * w.w
            EXACT_ROW(0, a.x);
            EXACT_ROW(1, a.y);
            EXACT_ROW(2, a.z);
            EXACT_ROW(3, a.w);
#undef EXACT_ROW
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (m0 + 4 * row + i < p.m && n0 + 4 * col + j < p.n)
                gemm_finish(p.out, p.n, m0 + 4 * row + i, n0 + 4 * col + j, sum[i][j]);
}

// ---- launch

static inline int round_up(int i, int multiple)
{
    return (i + multiple - 1) / multiple * multiple;
}

// Whether products by this weight are F32; else the packed form is BF16.
static inline bool gemm_is_exact(const struct sam_queue *q, bool exact)
{
    return exact || q->precision == SAM_PRECISION_FP32;
}

static inline int gemm_ld(const struct sam_queue *q, int in, bool exact)
{
    return gemm_is_exact(q, exact) ? in : round_up(in, 8);
}

static inline bool aligned(const struct sam_tensor *t, size_t bytes)
{
    return (uintptr_t) t->data % bytes == 0;
}

// Of `count` products, m x n the largest.
template <int WM, int WN, int MI, int NI, class LIST>
static void gemm_launch(struct sam_queue *q, const LIST &list, int m, int n, int count)
{
    using S = gemm_shape<WM, WN, MI, NI>;
    const dim3 grid(blocks_for(m, S::M), blocks_for(n, S::N), count);
    SAM_LAUNCH((gemm_kernel<WM, WN, MI, NI, LIST>), grid, S::THREADS, S::SHARED, q, list);
}

static inline void gemm_set_weight(const struct sam_queue *q, gemm *p, const struct sam_matrix *w)
{
    p->weight = w->data;
    p->n = w->out;
    p->in.k = w->in;
    p->ld = gemm_ld(q, w->in, w->exact);
}

// A template, so that its kernels are compiled where it is called and nowhere else.
template <class GEMM>
static void gemm_run(struct sam_queue *q, const char *op, const struct sam_matrix *w, GEMM p)
{
    gemm_set_weight(q, &p, w);
    if (gemm_is_exact(q, w->exact))
        SAM_LAUNCH(gemm_exact_kernel,
                   dim3(blocks_for(p.m, EXACT_TILE), blocks_for(p.n, EXACT_TILE)), EXACT_THREADS, 0,
                   q, p);
    else if (blocks_for(p.m, 128) * blocks_for(p.n, 128) >= sam_cuda(q)->num_sms && p.n > 64)
        gemm_launch<2, 4, 4, 4>(q, p, p.m, p.n, 1); // 128 x 128
    else
        gemm_launch<2, 2, 2, 4>(q, p, p.m, p.n, 1); // 64 x 64: a block each sooner
    sam_cuda_launched(q, op);
}

// SPDX-License-Identifier: MIT
#pragma once

#include "gemm_exact.cuh"
#include "mma.cuh"

// Matrix products with whatever stands before and after them: dst = finish(A weight^T), where a row
// of A is a row of an activation, or the window of a convolution (the implicit im2col). BF16
// factors with F32 sums on tensor cores; or, where a contract is exact, all in F32.

// ---- tensor cores

// Shape: a block makes TILE_M x TILE_N of the product with WM x WN warps of (16 MI) x (8 NI), and
// walks along k in steps of 32 with some stages of cp.async; tiles in shared memory are swizzled
// so that ldmatrix meets no bank twice.
// Traffic: A once per TILE_N columns, the weight once per TILE_M rows; dst once.
enum { GEMM_STEP = 32 };

template <int WM, int WN, int MI, int NI> struct gemm_shape {
    enum { M = WM * MI * 16, N = WN * NI * 8, THREADS = 32 * WM * WN, WIDE = WN };
    struct stage {
        __nv_bfloat16 a[M][GEMM_STEP], w[N][GEMM_STEP];
    };
    enum { STAGES = N <= 64 ? 5 : 3, SHARED = STAGES * sizeof(stage) }; // 40 or 48 KiB
};

// Rows are 64 bytes; the swizzle spreads 8 of them over all banks.
static __device__ __forceinline__ __nv_bfloat16 *gemm_tile_at(__nv_bfloat16 (*tile)[GEMM_STEP],
                                                              int row, int chunk)
{
    return tile[row] + 8 * (chunk ^ (row / 2 % 4));
}

enum { GEMM_CHUNKS = GEMM_STEP / 8 };

// A thread's part of a step of A, which is fetched before the products of another step, and put in
// its place behind them.
template <class S> struct gemm_fetched {
    enum { COUNT = S::M * GEMM_CHUNKS / S::THREADS };
    float v[COUNT][8];

    __device__ __forceinline__ void fetch(const gemm_in &a, const gemm_row *rows,
                                          const gemm_along &n)
    {
#pragma unroll
        for (int t = 0; t < COUNT; t++)
            gemm_fetch(v[t], a, rows[t], n);
    }

    __device__ __forceinline__ void put(typename S::stage *to) const
    {
#pragma unroll
        for (int t = 0; t < COUNT; t++) {
            const int i = threadIdx.x + t * S::THREADS;
            gemm_put(gemm_tile_at(to->a, i / GEMM_CHUNKS, i % GEMM_CHUNKS), v[t]);
        }
    }
};

// What of a step lies ready: the weight, and A or not. A thread's numbers are at n in each row.
template <class S, bool READY>
static __device__ __forceinline__ void gemm_copy_stage(typename S::stage *to, const gemm &p,
                                                       const gemm_row *rows, int n0,
                                                       const gemm_along &n)
{
    const int chunk = threadIdx.x % GEMM_CHUNKS;
    if (READY) {
#pragma unroll
        for (int t = 0; t < S::M * GEMM_CHUNKS / S::THREADS; t++)
            gemm_copy(gemm_tile_at(to->a, (threadIdx.x + t * S::THREADS) / GEMM_CHUNKS, chunk),
                      p.in, rows[t], n);
    }
    const __nv_bfloat16 *weight = (const __nv_bfloat16 *) p.weight;
#pragma unroll
    for (int t = 0; t < S::N * GEMM_CHUNKS / S::THREADS; t++) {
        const int row = (threadIdx.x + t * S::THREADS) / GEMM_CHUNKS;
        const bool valid = n0 + row < p.n && n.k < p.ld;
        cp_async_16(gemm_tile_at(to->w, row, chunk),
                    weight + (valid ? (size_t) (n0 + row) * p.ld + n.k : 0), valid);
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

// A block's sums to dst, as many rows of each warp at once as shared memory has room for.
template <class S, int MI, int NI, class LIST>
static __device__ __forceinline__ void gemm_leave(const LIST &list, const gemm &p,
                                                  unsigned char *smem, int m0, int n0,
                                                  const float (&sum)[MI][NI][4])
{
    constexpr int LENGTH = S::N + GEMM_BESIDE;
    constexpr int PARTS = S::M * LENGTH * sizeof(float) <= (size_t) S::SHARED ? 1 : 2;
    constexpr int RUN = 16 * MI / PARTS, ROWS = S::M / PARTS;
    static_assert(ROWS * LENGTH * sizeof(float) <= (size_t) S::SHARED, "a part of a tile fits");
    float *tile = reinterpret_cast<float *>(smem);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int my_row = warp / S::WIDE * RUN + lane / 4, my_col = warp % S::WIDE * NI * 8;
#pragma unroll 1
    for (int part = 0; part < PARTS; part++) {
        __syncthreads(); // all are done with the last step, or with the part before
#pragma unroll
        for (int i = 0; i < MI / PARTS; i++)
#pragma unroll
            for (int j = 0; j < NI; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const float *low = &sum[i][j][2 * h];
                    const float *high = &sum[i + (PARTS - 1) * MI / PARTS][j][2 * h];
                    *(float2 *) (tile + (my_row + 16 * i + 8 * h) * LENGTH + my_col + 8 * j
                                 + lane % 4 * 2) =
                        make_float2(part ? high[0] : low[0], part ? high[1] : low[1]);
                }
        __syncthreads();
        gemm_finish_tile<ROWS, S::N, S::THREADS>(p, gemm_turn_mine(list), tile,
                                                 { m0 + part * RUN, RUN, 16 * MI }, n0);
    }
}

// Blocks that a multiprocessor is to hold: with lists of products whose A is not ready there are no
// registers for more.
template <class LIST, bool READY> static constexpr int gemm_blocks(int threads)
{
    return READY || sizeof(LIST) <= sizeof(gemm) ? 512 / threads : 1;
}

// LIST: gemm, gemm_list, or gemm_normed of behind.cuh. READY: A is of all its products.
template <int WM, int WN, int MI, int NI, bool READY, class LIST>
static __global__ void
    __launch_bounds__(32 * WM * WN, (gemm_blocks<LIST, READY>(32 * WM * WN)))
    gemm_kernel(const __grid_constant__ LIST list)
{
    await_earlier();
    using S = gemm_shape<WM, WN, MI, NI>;
    const gemm &p = gemm_mine(list);
    extern __shared__ __align__(128) unsigned char smem[];
    typename S::stage *stages = reinterpret_cast<typename S::stage *>(smem);
    const int warp = threadIdx.x / 32, m0 = blockIdx.x * S::M, n0 = blockIdx.y * S::N;
    const int wm = warp / WN * MI * 16, wn = warp % WN * NI * 8;
    const int steps = (p.ld + GEMM_STEP - 1) / GEMM_STEP;
    if (sizeof(LIST) > sizeof(gemm) && (m0 >= p.m || n0 >= p.n))
        return; // whole blocks leave

    gemm_row rows[S::M * GEMM_CHUNKS / S::THREADS];
    for (int t = 0; t < (int) (sizeof(rows) / sizeof(*rows)); t++)
        rows[t] = gemm_row_of(p.in, m0 + (threadIdx.x + t * S::THREADS) / GEMM_CHUNKS, p.m);
    gemm_along along(p.in, threadIdx.x % GEMM_CHUNKS * 8);
    gemm_fetched<S> fetched; // nothing, if READY
#pragma unroll 1
    for (int s = 0; s < S::STAGES - 1; s++) {
        if (s < steps) {
            gemm_copy_stage<S, READY>(&stages[s], p, rows, n0, along);
            if (!READY) {
                fetched.fetch(p.in, rows, along);
                fetched.put(&stages[s]);
            }
            along.go_on(p.in, GEMM_STEP);
        }
        cp_async_commit();
    }

    float sum[MI][NI][4] = {};
    int now = 0;
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
        cp_async_wait<S::STAGES - 2>();
        __syncthreads(); // the stage is there for all, and all have left the one before
        const bool goes_on = s + S::STAGES - 1 < steps;
        typename S::stage *next = &stages[now ? now - 1 : S::STAGES - 1];
        if (goes_on)
            gemm_copy_stage<S, READY>(next, p, rows, n0, along);
        cp_async_commit();
        if (!READY && goes_on)
            fetched.fetch(p.in, rows, along);
        gemm_multiply<S, MI, NI>(&stages[now], wm, wn, sum);
        if (!READY && goes_on)
            fetched.put(next);
        if (goes_on)
            along.go_on(p.in, GEMM_STEP);
        now = now + 1 < S::STAGES ? now + 1 : 0;
    }
    cp_async_wait_all();
    gemm_leave<S, MI, NI>(list, p, smem, m0, n0, sum);
    gemm_behind<S::M, S::THREADS>(list, blockIdx.x, m0, n0);
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

static inline bool gemm_all_ready(const gemm &p, int)
{
    return gemm_is_ready(p.in);
}

static inline bool gemm_all_ready(const gemm_list &list, int count)
{
    bool all = true;
    for (int i = 0; i < count; i++)
        all = all && gemm_is_ready(list.each[i].in);
    return all;
}

// Of one with something behind it.
template <class BEHIND> static inline bool gemm_all_ready(const BEHIND &p, int)
{
    return gemm_is_ready(p.one.in);
}

// Of `count` products, m x n the largest.
template <int WM, int WN, int MI, int NI, class LIST>
static void gemm_launch(struct sam_queue *q, const LIST &list, int m, int n, int count)
{
    using S = gemm_shape<WM, WN, MI, NI>;
    const dim3 grid(blocks_for(m, S::M), blocks_for(n, S::N), count);
    if (gemm_all_ready(list, count))
        SAM_LAUNCH((gemm_kernel<WM, WN, MI, NI, true, LIST>), grid, S::THREADS, S::SHARED, q, list);
    else
        SAM_LAUNCH((gemm_kernel<WM, WN, MI, NI, false, LIST>), grid, S::THREADS, S::SHARED, q,
                   list);
}

static inline void gemm_set_weight(const struct sam_queue *q, gemm *p, const struct sam_matrix *w)
{
    p->weight = w->data;
    p->n = w->out;
    p->in.k = w->in;
    p->ld = gemm_ld(q, w->in, w->exact);
}

template <int TILE, int PARTS> static void gemm_launch_exact(struct sam_queue *q, const gemm &p)
{
    SAM_LAUNCH((gemm_exact_kernel<TILE, PARTS>), dim3(blocks_for(p.m, TILE), blocks_for(p.n, TILE)),
               (exact_shape<TILE, PARTS>::THREADS), 0, q, p);
}

// A template, so that its kernels are compiled where it is called and nowhere else.
template <class GEMM>
static void gemm_run(struct sam_queue *q, const char *op, const struct sam_matrix *w, GEMM p)
{
    gemm_set_weight(q, &p, w);
    const bool is_exact = gemm_is_exact(q, w->exact);
    if (is_exact && blocks_for(p.m, 64) * blocks_for(p.n, 64) >= sam_cuda(q)->num_sms)
        gemm_launch_exact<64, 1>(q, p);
    else if (is_exact)
        gemm_launch_exact<32, 4>(q, p);
    else if (blocks_for(p.m, 128) * blocks_for(p.n, 128) >= sam_cuda(q)->num_sms && p.n > 64)
        gemm_launch<2, 4, 4, 4>(q, p, p.m, p.n, 1); // 128 x 128
    else
        gemm_launch<2, 2, 2, 4>(q, p, p.m, p.n, 1); // 64 x 64: a block each sooner
    sam_cuda_launched(q, op);
}

// SPDX-License-Identifier: MIT
// Products with weights, and the product of mask tokens and pixels. See blaslt.c for the large ones
// with a plain epilogue, gemm.cuh for all others: small ones, addends that repeat, F32 factors; but
// a kernel of its own for F32 factors and few rows.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "skinny.cuh"

extern "C" size_t sam_pack_bytes_cuda(const struct sam_queue *q, struct sam_matrix m)
{
    return (size_t) m.out * gemm_ld(q, m.in, m.exact) * (gemm_is_exact(q, m.exact) ? 4 : 2);
}

// BF16, to nearest, ties to even; NaN stays one.
static uint16_t round_to_bf16(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return v != v ? 0x7fff : (uint16_t) ((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Rows padded with zeros to a multiple of eight numbers, so that each is 16 bytes aligned.
extern "C" void sam_pack_cuda(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    const size_t bytes = sam_pack_bytes_cuda(q, dst);
    if (gemm_is_exact(q, dst.exact)) {
        sam_cuda_upload(q, dst.data, weight, bytes);
        return;
    }
    const int ld = gemm_ld(q, dst.in, dst.exact);
    uint16_t *packed = (uint16_t *) calloc(1, bytes);
    if (!packed) {
        sam_queue_fail(q, SAM_ENOMEM, "CUDA: no memory to pack a weight: %zu bytes wanted", bytes);
        return;
    }
    for (int o = 0; o < dst.out; o++)
        for (int i = 0; i < dst.in; i++)
            packed[(size_t) o * ld + i] = round_to_bf16(weight[(size_t) o * dst.in + i]);
    sam_cuda_upload(q, dst.data, packed, bytes);
    free(packed);
}

static void run_skinny(struct sam_queue *q, const struct sam_linear *each, int count)
{
    const int threads = 32 * SKINNY_WARPS;
    int m, n;
    const gemm_list list = list_of(q, each, count, &m, &n);
    const dim3 grid(blocks_for(n, SKINNY_COLS * SKINNY_WARPS), blocks_for(m, SKINNY_ROWS), count);
    if (each->src.type == SAM_BF16)
        SAM_LAUNCH((linear_skinny_kernel<uint2, gemm_list>), grid, threads, 0, q, list);
    else
        SAM_LAUNCH((linear_skinny_kernel<float4, gemm_list>), grid, threads, 0, q, list);
    sam_cuda_launched(q, "linear");
}

// Side by side, by the rule of gemm_run().
static void run_tensor(struct sam_queue *q, const struct sam_linear *each, int count)
{
    int m, n, least = INT_MAX, blocks = 0;
    const gemm_list list = list_of(q, each, count, &m, &n);
    for (int i = 0; i < count; i++) {
        blocks += blocks_for(list.each[i].m, 128) * blocks_for(list.each[i].n, 128);
        least = min(least, list.each[i].n);
    }
    if (blocks >= sam_cuda(q)->num_sms && least > 64)
        gemm_launch<2, 4, 4, 4>(q, list, m, n, count);
    else
        gemm_launch<2, 2, 2, 4>(q, list, m, n, count);
    sam_cuda_launched(q, "linears");
}

// False: the library does not make it.
static bool run_library(struct sam_queue *q, const struct sam_linear *p)
{
    return !gemm_is_exact(q, p->weight.exact) && sam_blaslt_linear(q, p);
}

static void run_one(struct sam_queue *q, const struct sam_linear *p)
{
    if (run_library(q, p))
        return;
    if (is_skinny(q, p))
        run_skinny(q, p, 1);
    else
        gemm_run(q, "linear", &p->weight, gemm_of(q, p));
}

// What a kernel that does not turn has given.
static void turn(struct sam_queue *q, const struct sam_linear *p)
{
    const struct sam_rope r = { p->dst, p->dst, p->table, p->num_rotated };
    if (p->table.data && !q->status)
        sam_rope_cuda(q, &r);
}

// A product that turns is not the library's: to read and write it once more takes longer than what
// the library gains.
extern "C" void sam_linear_cuda(struct sam_queue *q, const struct sam_linear *p)
{
    if (p->table.data && is_tensor(q, p)) {
        run_tensor(q, p, 1);
        return;
    }
    run_one(q, p);
    turn(q, p);
}

// The large ones by the library, one after the other. What it leaves: `rest`, so many.
static int run_large(struct sam_queue *q, const struct sam_linears *p,
                     struct sam_linear (&rest)[SAM_MAX_LINEARS])
{
    int count = 0;
    for (int i = 0; i < p->count && !q->status; i++)
        if (p->each[i].table.data || !run_library(q, &p->each[i]))
            rest[count++] = p->each[i];
    return count;
}

// Those that are not large side by side where one kernel makes all of them.
extern "C" void sam_linears_cuda(struct sam_queue *q, const struct sam_linears *p)
{
    struct sam_linear rest[SAM_MAX_LINEARS];
    const int count = run_large(q, p, rest);
    bool skinny = true, tensor = true;
    if (q->status || !count)
        return;
    for (int i = 0; i < count; i++) {
        skinny = skinny && is_skinny(q, &rest[i]) && rest[i].src.type == rest[0].src.type;
        tensor = tensor && is_tensor(q, &rest[i]);
    }
    if (tensor) {
        run_tensor(q, rest, count);
        return;
    }
    if (skinny)
        run_skinny(q, rest, count);
    for (int i = 0; i < count && !q->status; i++) {
        if (!skinny)
            run_one(q, &rest[i]);
        turn(q, &rest[i]);
    }
}

// Shape: a thread makes MATMUL_ROWS sums, of one row of b with as many rows of a; those lie in
// shared memory, in pieces of MATMUL_STEP channels.
// Traffic: b once per MATMUL_ROWS rows of a (the mask tokens are four), dst once.
enum { MATMUL_ROWS = 4, MATMUL_STEP = 64, MATMUL_THREADS = 128 };

struct few_by_many {
    float *dst;
    view a, b;
    int a_rows, b_rows, c;
    bool four; // rows of b can be read four numbers at a time
};

static __global__ void __launch_bounds__(MATMUL_THREADS) matmul_kernel(few_by_many p)
{
    await_earlier();
    __shared__ float ta[MATMUL_ROWS][MATMUL_STEP];
    const int j = blockIdx.x * MATMUL_THREADS + threadIdx.x;
    const int first = blockIdx.y * MATMUL_ROWS, n = blockIdx.z;
    const bool is_row = j < p.b_rows;
    float sum[MATMUL_ROWS] = {};
    for (int c0 = 0; c0 < p.c; c0 += MATMUL_STEP) {
        __syncthreads(); // all have left the piece before
        for (int i = threadIdx.x; i < MATMUL_ROWS * MATMUL_STEP; i += MATMUL_THREADS) {
            const int row = first + i / MATMUL_STEP, c = c0 + i % MATMUL_STEP;
            const bool valid = row < p.a_rows && c < p.c;
            ta[i / MATMUL_STEP][i % MATMUL_STEP] =
                valid ? load_one(p.a, ((unsigned) n * p.a_rows + row) * p.c + c) : 0.0f;
        }
        __syncthreads();
        const unsigned b = ((unsigned) n * p.b_rows + j) * p.c + c0;
        const int end = is_row ? min((int) MATMUL_STEP, p.c - c0) : 0;
#pragma unroll 2 // with more, sm_100 has too few registers
        for (int c = 0; p.four && c < end; c += 4) {
            float v[4];
            load(v, p.b, b + c);
            for (int k = 0; k < 4; k++)
                for (int i = 0; i < MATMUL_ROWS; i++)
                    sum[i] += ta[i][c + k] * v[k];
        }
        for (int c = p.four ? end : 0; c < end; c++) {
            const float v = load_one(p.b, b + c);
            for (int i = 0; i < MATMUL_ROWS; i++)
                sum[i] += ta[i][c] * v;
        }
    }
    for (int i = 0; i < MATMUL_ROWS; i++)
        if (is_row && first + i < p.a_rows)
            p.dst[((size_t) n * p.a_rows + first + i) * p.b_rows + j] = sum[i];
}

extern "C" void sam_matmul_cuda(struct sam_queue *q, const struct sam_matmul *p)
{
    const few_by_many f = { (float *) p->dst.data, view_of(&p->a), view_of(&p->b), p->dst.w,
                            p->dst.c, p->a.c, by_four(&p->b, p->b.c) };
    const dim3 grid(blocks_for(f.b_rows, MATMUL_THREADS), blocks_for(f.a_rows, MATMUL_ROWS),
                    p->dst.n);
    SAM_LAUNCH(matmul_kernel, grid, MATMUL_THREADS, 0, q, f);
    sam_cuda_launched(q, "matmul");
}

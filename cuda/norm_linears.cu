// SPDX-License-Identifier: MIT
// Products of normed rows, by one kernel where tensor cores make them and a block holds whole rows.
#include <limits.h>

#include "linear.cuh"
#include "norm.cuh"

// Shape: a block norms M rows, which stay in shared memory as BF16, and makes their products with
// all columns, or a share of them, N at a time, with 2 x 4 warps of (16 MI) x 32; the weight comes
// in steps of 32 by three stages of cp.async, which go on from one N to the next. Rows that are not
// normed are copied. POOLS: the cells of a product are pooled, whose rows a block takes in their
// order.
// Traffic: src once per share, the weight once per M rows; dst once.
// Needs: c a multiple of 8 and at most 256 PACKS; all rows of a block in shared memory.
enum { NORM_COLS = 128, NORM_THREADS = 256, NORM_STAGES = 3 };

struct norm_list {
    gemm_list list;
    const float *gamma, *beta;
    float eps;
    bool is_normed[SAM_MAX_LINEARS];
    int pool_w[SAM_MAX_LINEARS]; // of a map whose cells are pooled; 0: they are not
};

// Where row r of a product is: of maps whose cells are pooled the four of a cell come in a row.
static __device__ __forceinline__ int norm_place(int r, int pool_w)
{
    const int cell = r / 4, y = 2 * cell / pool_w, x = 2 * cell % pool_w;
    return (2 * y + r / 2 % 2) * pool_w + x + r % 2;
}

// Rows of A are 16 bytes longer than their numbers, so that ldmatrix meets no bank twice.
static __host__ __device__ __forceinline__ int norm_row_length(int c)
{
    return (c + GEMM_STEP - 1) / GEMM_STEP * GEMM_STEP + 8;
}

// The rows from m0 on to `a`, numbers from c on as zeros. The loads of some are under way together.
template <int PACKS, int M, bool POOLS>
static __device__ __forceinline__ void norm_rows(__nv_bfloat16 *a, const norm_list &n,
                                                 const gemm &p, int m0, int lanes, int pool_w)
{
    const int lane = threadIdx.x % lanes, c = p.in.k, length = norm_row_length(c);
    float gamma[PACKS][8] = {}, beta[PACKS][8] = {};
    load_packs(gamma, { (void *) n.gamma, false }, 0, lane, lanes, c);
    load_packs(beta, { (void *) n.beta, false }, 0, lane, lanes, c);
#pragma unroll(PACKS == 1 ? 4 : 2)
    for (int r = threadIdx.x / lanes; r < M; r += NORM_THREADS / lanes) {
        const int mine = m0 + r < p.m ? c : 0;
        float v[PACKS][8] = {};
        const int place = POOLS && pool_w ? norm_place(m0 + r, pool_w) : m0 + r;
        load_packs(v, p.in.src, (unsigned) place * c, lane, lanes, mine);
        norm_packs(v, lane, lanes, mine, c, n.eps);
#pragma unroll
        for (int k = 0; k < PACKS; k++) {
            const int i = 8 * (lane + lanes * k);
            for (int j = 0; j < 8; j++)
                v[k][j] = v[k][j] * gamma[k][j] + beta[k][j];
            if (i < length - 8)
                *(uint4 *) (a + r * length + i) =
                    make_uint4(bf16_two(v[k][0], v[k][1]), bf16_two(v[k][2], v[k][3]),
                               bf16_two(v[k][4], v[k][5]), bf16_two(v[k][6], v[k][7]));
        }
    }
}

static __device__ __forceinline__ void copy_chunk(__nv_bfloat16 *to, const gemm_in &a,
                                                  const gemm_row &r, const gemm_along &n)
{
    float v[8];
    if (a.src.bf16) {
        gemm_copy(to, a, r, n);
        return;
    }
    gemm_fetch_chunk(v, a, r, n);
    gemm_put(to, v);
}

template <int M>
static __device__ __forceinline__ void copy_rows(__nv_bfloat16 *a, const gemm &p, int m0)
{
    const int length = norm_row_length(p.in.k), chunks = length / 8 - 1;
    for (int i = threadIdx.x; i < M * chunks; i += NORM_THREADS) {
        const int row = i / chunks, chunk = i % chunks;
        copy_chunk(a + row * length + 8 * chunk, p.in, gemm_row_of(p.in, m0 + row, p.m),
                   gemm_along(p.in, 8 * chunk));
    }
}

typedef __nv_bfloat16 weight_stage[NORM_COLS][GEMM_STEP];

// The steps of a block, from one N columns to its next.
struct norm_walk {
    const __nv_bfloat16 *weight;
    int n, ld, n0, k0;

    __device__ __forceinline__ void load_step(weight_stage &to)
    {
#pragma unroll
        for (int t = 0; t < NORM_COLS * GEMM_STEP / 8 / NORM_THREADS; t++) {
            const int i = threadIdx.x + t * NORM_THREADS, row = i / 4, k = k0 + i % 4 * 8;
            const bool valid = n0 + row < n && k < ld;
            cp_async_16(gemm_tile_at(to, row, i % 4),
                        weight + (valid ? (unsigned) (n0 + row) * ld + k : 0), valid);
        }
        cp_async_commit();
        k0 += GEMM_STEP;
        if (k0 >= ld)
            k0 = 0, n0 += gridDim.x * NORM_COLS;
    }
};

template <int MI>
static __device__ __forceinline__ void norm_multiply(const __nv_bfloat16 *a, int length,
                                                     weight_stage &now, int wn,
                                                     float (&sum)[MI][4][4])
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int kk = 0; kk < GEMM_STEP / 8; kk += 2) {
        uint32_t fa[MI][4], fw[2][4];
#pragma unroll
        for (int i = 0; i < MI; i++)
            ldmatrix_x4(fa[i], a + (16 * i + lane % 16) * length + 8 * (kk + lane / 16));
#pragma unroll
        for (int j = 0; j < 2; j++)
            ldmatrix_x4(fw[j], gemm_tile_at(now, wn + 16 * j + lane / 16 * 8 + lane % 8,
                                            kk + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < MI; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                mma_m16n8k16<__nv_bfloat16>(sum[i][j], fa[i], &fw[j / 2][j % 2 * 2]);
    }
}

// GELU as x sigmoid(1.5958 (x + 0.044715 x^3)), which is its tanh form, as blaslt.c's.
static __device__ __forceinline__ float norm_act(enum sam_act act, float x)
{
    if (act == SAM_ACT_GELU)
        return __fdividef(x, 1.0f + exp2_flushed(x * (-2.3022082f - 0.10294324f * x * x)));
    return act == SAM_ACT_RELU && x < 0.0f ? 0.0f : x;
}

// The largest of the four rows of a cell, which four lanes have.
static __device__ __forceinline__ float norm_pooled(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 4));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 8));
}

// What a warp has summed, from (row0, col0) on.
template <int MI>
static __device__ __forceinline__ void norm_store(const gemm &p, const gemm_turn &turn, bool pools,
                                                  int row0, int col0, float (&sum)[MI][4][4])
{
    const int my_row = row0 + threadIdx.x % 32 / 4, my_col = col0 + threadIdx.x % 4 * 2;
    const gemm_out &o = p.out;
    float2 bias[4] = {};
#pragma unroll
    for (int j = 0; j < 4; j++)
        if (o.bias && my_col + 8 * j < p.n)
            bias[j] = __ldg((const float2 *) (o.bias + my_col + 8 * j));
#pragma unroll
    for (int i = 0; i < 2 * MI; i++) {
        const int row = my_row + 8 * i;
        float2 angle[4] = {};
        const bool turned = turn.table && gemm_angles<8>(angle, turn, p.m, p.n, row, my_col);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int col = my_col + 8 * j;
            float v[2] = { norm_act(o.act, sum[i / 2][j][i % 2 * 2] + bias[j].x),
                           norm_act(o.act, sum[i / 2][j][i % 2 * 2 + 1] + bias[j].y) };
            if (turned) {
                const float re = v[0], im = v[1];
                v[0] = re * angle[j].x - im * angle[j].y;
                v[1] = re * angle[j].y + im * angle[j].x;
            }
            if (pools)
                v[0] = norm_pooled(v[0]), v[1] = norm_pooled(v[1]);
            const unsigned at = (unsigned) (pools ? row / 4 : row) * p.n + col;
            if (row >= p.m || col >= p.n || (pools && row % 4))
                continue;
            if (o.dst.bf16)
                *(uint32_t *) ((__nv_bfloat16 *) o.dst.p + at) = bf16_two(v[0], v[1]);
            else
                *(float2 *) ((float *) o.dst.p + at) = make_float2(v[0], v[1]);
        }
    }
}

template <int MI, int PACKS, bool POOLS>
static __global__ void __launch_bounds__(NORM_THREADS, 2)
    norm_gemm_kernel(const __grid_constant__ norm_list n, int lanes)
{
    await_earlier();
    constexpr int M = 32 * MI;
    const gemm &p = gemm_mine(n.list);
    extern __shared__ __align__(128) unsigned char smem[];
    weight_stage *stages = reinterpret_cast<weight_stage *>(smem);
    __nv_bfloat16 *a = reinterpret_cast<__nv_bfloat16 *>(stages + NORM_STAGES);
    const int warp = threadIdx.x / 32, wm = warp / 4 * MI * 16, wn = warp % 4 * 32;
    const int m0 = blockIdx.y * M, length = norm_row_length(p.in.k);
    norm_walk next = { (const __nv_bfloat16 *) p.weight, p.n, p.ld, (int) blockIdx.x * NORM_COLS,
                       0 };
    if (m0 >= p.m || next.n0 >= p.n)
        return; // whole blocks leave

    const bool is_normed = n.is_normed[blockIdx.z];
    const int pool_w = POOLS ? n.pool_w[blockIdx.z] : 0;
    if (!is_normed)
        copy_rows<M>(a, p, m0); // on its way with the first step
    for (int s = 0; s < NORM_STAGES - 1; s++)
        next.load_step(stages[s]);
    if (is_normed)
        norm_rows<PACKS, M, POOLS>(a, n, p, m0, lanes, pool_w);

    int now = 0;
    for (int n0 = blockIdx.x * NORM_COLS; n0 < next.n; n0 += gridDim.x * NORM_COLS) {
        float sum[MI][4][4] = {};
        for (int k0 = 0; k0 < next.ld; k0 += GEMM_STEP) {
            cp_async_wait<NORM_STAGES - 2>();
            __syncthreads(); // the stage is there for all, and all have left the one before
            norm_multiply<MI>(a + wm * length + k0, length, stages[now], wn, sum);
            next.load_step(stages[now ? now - 1 : NORM_STAGES - 1]);
            now = now + 1 < NORM_STAGES ? now + 1 : 0;
        }
        norm_store<MI>(p, gemm_turn_mine(n.list), pool_w, m0 + wm, n0 + wn, sum);
    }
    cp_async_wait_all(); // of steps beyond the last, which hold zeros
}

// ---- launch

static size_t shared_bytes(int rows, int c)
{
    return NORM_STAGES * sizeof(weight_stage) + sizeof(__nv_bfloat16) * rows * norm_row_length(c);
}

// Of longer rows and more columns the library's kernels, which get more of the tensor cores, win
// more than it takes to write the normed rows and read them again; but not of few rows, of which
// they have not enough tiles for all multiprocessors.
enum { NORM_LONGEST = 384, NORM_BROADEST = 2304, NORM_FEW = 1024, NORM_LONGEST_OF_FEW = 768 };

static bool is_few(const struct sam_tensor *rows)
{
    return sam_rows(rows) <= NORM_FEW;
}

// Whether the kernel makes a product: it adds nothing behind. Its GELU is not exact: where there is
// a bias in BF16 it need not be, see struct sam_linear.
static bool takes(const struct sam_queue *q, const struct sam_linear *p)
{
    const bool is_close = p->dst.type == SAM_BF16 && p->bias_bf16.data;
    const bool pairs = p->dst.c % 2 == 0 && aligned(&p->dst, 8) && aligned(&p->bias, 8);
    return is_tensor(q, p) && pairs && gemm_of(q, p).in.chunks && !p->add.data
        && (p->dst.c <= NORM_BROADEST || is_few(&p->src))
        && (p->act == SAM_ACT_NONE || p->act == SAM_ACT_RELU
            || (p->act == SAM_ACT_GELU && is_close));
}

// Whether the kernel pools the cells of the last product: it takes its rows in their order.
static bool can_pool(const struct sam_norm_linears *p)
{
    const struct sam_linear *last = &p->each[p->count - 1];
    const struct sam_maxpool *pool = &p->pool;
    return pool->src.h % 2 == 0 && pool->src.w % 2 == 0 && !last->table.data
        && last->src.data == p->norm.dst.data && aligned(&pool->dst, 8);
}

static bool takes_all(const struct sam_queue *q, const struct sam_norm_linears *p)
{
    const struct sam_layernorm *n = &p->norm;
    const int longest = is_few(&n->src) ? NORM_LONGEST_OF_FEW : NORM_LONGEST;
    bool all = n->src.c <= longest && n->dst.type == SAM_BF16 && by_eight(&n->src, n->src.c)
            && by_eight(&n->gamma, 8) && by_eight(&n->beta, 8);
    for (int i = 0; i < p->count; i++)
        all = all && takes(q, &p->each[i]) && p->each[i].src.c <= n->src.c;
    return all && (!p->pool.dst.data || can_pool(p));
}

// Whether the library makes the first product, which is the largest: on an H200 it and a norm take
// half the time of this kernel, 30 of 47 us for 4096 rows of 384 to 1536.
static bool is_for_library(const struct sam_queue *q, const struct sam_norm_linears *p)
{
    return sam_blaslt_takes(q, &p->each[0]);
}

// How blocks of 32 `high` rows share the columns.
struct norm_shares {
    size_t bytes; // of shared memory
    int tiles, shares;
    int work; // of the multiprocessor with most; INT_MAX: they do not fit
};

// The shares that leave a multiprocessor the least to do. To norm 32 rows takes four sevenths of
// what their product with N columns does: 64 bytes a cycle of L2, and 110 cycles for a step of 32.
static norm_shares shares_of(const struct sam_queue *q, const struct sam_norm_linears *p, int m,
                             int n, int high)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    norm_shares s = { shared_bytes(32 * high, p->norm.src.c), blocks_for(m, 32 * high), 1,
                      INT_MAX };
    const int columns = blocks_for(n, NORM_COLS);
    for (int shares = 1; shares <= columns && s.bytes <= cuda->shared_limit; shares++) {
        const int blocks = blocks_for((size_t) shares * s.tiles * p->count, cuda->num_sms);
        const int work = blocks * high * (7 * blocks_for(columns, shares) + 4);
        if (work < s.work)
            s.work = work, s.shares = shares;
    }
    return s;
}

template <int MI, int PACKS, bool POOLS>
static void launch(struct sam_queue *q, const struct sam_norm_linears *p, const gemm_list &products,
                   const norm_shares &s)
{
    const struct sam_layernorm *norm = &p->norm;
    int lanes = GEMM_STEP / 8;
    norm_list list = { products, (const float *) norm->gamma.data, (const float *) norm->beta.data,
                       norm->eps, {}, {} };
    for (int i = 0; i < p->count; i++) {
        list.is_normed[i] = p->each[i].src.data == norm->dst.data;
        if (list.is_normed[i])
            list.list.each[i].in.src = view_of(&norm->src);
    }
    if (p->pool.dst.data) {
        list.pool_w[p->count - 1] = p->pool.src.w;
        list.list.each[p->count - 1].out.dst = view_of(&p->pool.dst);
    }
    while (lanes < 32 && 8 * lanes * PACKS < norm->src.c)
        lanes *= 2;
    // Always the most that there is: what is recorded needs its own when it is replayed.
    if (!sam_cuda_check(q, "norm_linears: shared memory",
                        cudaFuncSetAttribute(norm_gemm_kernel<MI, PACKS, POOLS>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int) sam_cuda(q)->shared_limit)))
        return;
    SAM_LAUNCH((norm_gemm_kernel<MI, PACKS, POOLS>), dim3(s.shares, s.tiles, p->count),
               NORM_THREADS, s.bytes, q, list, lanes);
    sam_cuda_launched(q, "norm_linears");
}

static void run_apart(struct sam_queue *q, const struct sam_norm_linears *p)
{
    const struct sam_linears products = { p->each, p->count };
    q->ops->layernorm(q, &p->norm);
    if (q->status)
        return;
    if (p->count == 1)
        q->ops->linear(q, p->each);
    else
        q->ops->linears(q, &products);
    if (p->pool.dst.data && !q->status)
        q->ops->maxpool(q, &p->pool);
}

// False: it is for others.
static bool run_together(struct sam_queue *q, const struct sam_norm_linears *p)
{
    int m, n;
    if (!takes_all(q, p) || is_for_library(q, p))
        return false;
    const gemm_list list = list_of(q, p->each, p->count, &m, &n);
    const norm_shares high = shares_of(q, p, m, n, 4), low = shares_of(q, p, m, n, 3);
    if (high.work == INT_MAX && low.work == INT_MAX)
        return false;
    if (p->pool.dst.data) // those of one group a lane would spill
        low.work < high.work ? launch<3, 3, true>(q, p, list, low)
                             : launch<4, 3, true>(q, p, list, high);
    else if (low.work < high.work)
        launch<3, 3, false>(q, p, list, low);
    else if (p->norm.src.c <= 256)
        launch<4, 1, false>(q, p, list, high);
    else
        launch<4, 3, false>(q, p, list, high);
    return true;
}

extern "C" void sam_norm_linears_cuda(struct sam_queue *q, const struct sam_norm_linears *p)
{
    if (!run_together(q, p))
        run_apart(q, p);
}

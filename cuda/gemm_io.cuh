// SPDX-License-Identifier: MIT
#pragma once

#include "view.cuh"

// A matrix product's rows, and what becomes of its sums: what all kernels of gemm.cuh and
// gemm_exact.cuh share.

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
    bool fours;          // four neighbouring numbers can be stored at once
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

// Number k of a row: of which tap of the window, and of which channel there.
struct gemm_along {
    int k, dy, dx, c;

    __device__ __forceinline__ gemm_along(const gemm_in &a, int k) : k(k), dy(0), dx(0), c(k)
    {
        if (a.kernel)
            dy = k / a.c / a.kernel, dx = k / a.c % a.kernel, c = k % a.c;
    }

    // Without a division, which a step along k would spend more time on than on its products.
    __device__ __forceinline__ void go_on(const gemm_in &a, int further)
    {
        k += further, c += further;
        while (a.kernel && c >= a.c) {
            c -= a.c;
            if (++dx == a.kernel)
                dx = 0, dy++;
        }
    }
};

// The position in src of a number of a row; negative: a zero.
static __device__ __forceinline__ int64_t gemm_at(const gemm_in &a, const gemm_row &r,
                                                  const gemm_along &n)
{
    if (!r.valid || n.k >= a.k)
        return -1;
    if (!a.kernel)
        return (int64_t) r.n * a.k + n.k;
    const int y = r.y + n.dy, x = r.x + n.dx;
    if (y < 0 || y >= a.h || x < 0 || x >= a.w)
        return -1;
    return (((int64_t) r.n * a.h + y) * a.w + x) * a.c + n.c;
}

// Eight numbers of a row from n on, which lie apart: those of a tap after each other, and those of
// taps side by side, too. All loads are under way together.
template <bool BF16>
static __device__ __forceinline__ void gemm_fetch_apart(float (&v)[8], const gemm_in &a,
                                                        const gemm_row &r, const gemm_along &n)
{
    int c = n.c, y = r.y + n.dy, x = r.x + n.dx;
    const int beyond = r.x + a.kernel;
    int at = a.kernel ? ((r.n * a.h + y) * a.w + x) * a.c + c : r.n * a.k + n.k;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        bool inside = r.valid && n.k + i < a.k;
        inside = inside && (!a.kernel || (y >= 0 && y < a.h && x >= 0 && x < a.w));
        const view src = { a.src.p, BF16 };
        const float there = load_one(src, inside ? (unsigned) at : 0); // always, without a branch
        v[i] = inside ? there : 0.0f;
        at++, c++;
        if (a.kernel && c == a.c) {
            c = 0, x++;
            if (x == beyond)
                x = r.x, y++, at += (a.w - a.kernel) * a.c;
        }
    }
}

// Eight numbers of a row from n on, which are eight of src.
static __device__ __forceinline__ void gemm_fetch_chunk(float (&v)[8], const gemm_in &a,
                                                        const gemm_row &r, const gemm_along &n)
{
    const int64_t at = gemm_at(a, r, n);
    load(v, a.src, at < 0 ? 0 : (unsigned) at);
#pragma unroll
    for (int i = 0; i < 8; i++)
        v[i] = at < 0 ? 0.0f : v[i];
}

// Eight numbers of a row from n on, also such as cp.async cannot copy as they are.
static __device__ __forceinline__ void gemm_fetch(float (&v)[8], const gemm_in &a,
                                                  const gemm_row &r, const gemm_along &n)
{
    if (a.chunks)
        gemm_fetch_chunk(v, a, r, n);
    else if (a.src.bf16)
        gemm_fetch_apart<true>(v, a, r, n);
    else
        gemm_fetch_apart<false>(v, a, r, n);
}

static __device__ __forceinline__ void gemm_put(__nv_bfloat16 *to, const float (&v)[8])
{
    *(uint4 *) to = make_uint4(bf16_two(v[0], v[1]), bf16_two(v[2], v[3]), bf16_two(v[4], v[5]),
                               bf16_two(v[6], v[7]));
}

// Whether eight numbers of A lie ready for cp.async.
static __host__ __device__ __forceinline__ bool gemm_is_ready(const gemm_in &a)
{
    return a.chunks && a.src.bf16;
}

static __device__ __forceinline__ void gemm_copy(__nv_bfloat16 *to, const gemm_in &a,
                                                 const gemm_row &r, const gemm_along &n)
{
    const int64_t at = gemm_at(a, r, n);
    const __nv_bfloat16 *src = (const __nv_bfloat16 *) a.src.p;
    cp_async_16(to, at < 0 ? src : src + at, at >= 0);
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

// The angles of pairs of a row of an m x n product: one at col, the others APART columns on. All
// are under way together. False: the row does not turn.
template <int APART = 2, int NI>
static __device__ __forceinline__ bool gemm_angles(float2 (&angle)[NI], const gemm_turn &t, int m,
                                                   int n, int row, int col)
{
    const int r = row % t.rows;
    if (row >= m || (t.num_rotated && r >= t.num_rotated[row / t.rows]))
        return false;
    const float *from = t.table + (size_t) (r % t.table_rows) * n;
#pragma unroll
    for (int j = 0; j < NI; j++)
        if (col + APART * j < n)
            angle[j] = __ldg((const float2 *) (from + col + APART * j));
    return true;
}

template <enum sam_act ACT> static __device__ __forceinline__ void act_four(float (&v)[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = act_of(ACT, v[k]);
}

// act_of() of four, by one branch.
static __device__ __forceinline__ void act_four_of(enum sam_act act, float (&v)[4])
{
    switch (act) {
    case SAM_ACT_RELU:    act_four<SAM_ACT_RELU>(v); break;
    case SAM_ACT_GELU:    act_four<SAM_ACT_GELU>(v); break;
    case SAM_ACT_SIGMOID: act_four<SAM_ACT_SIGMOID>(v); break;
    case SAM_ACT_SILU:    act_four<SAM_ACT_SILU>(v); break;
    case SAM_ACT_RELU6:   act_four<SAM_ACT_RELU6>(v); break;
    case SAM_ACT_NONE:
    case SAM_NUM_ACTS:    break;
    }
}

// The same as gemm_finish() for (row, col) and the three behind it; turned where the row turns.
static __device__ __forceinline__ void gemm_finish_four(const gemm &p, const gemm_turn &turn,
                                                        int row, int col, float (&v)[4],
                                                        unsigned at, const float (&add)[4])
{
    const gemm_out &o = p.out;
    if (o.bias) {
        const float4 bias = *(const float4 *) (o.bias + (o.up_w ? col % o.c : col));
        v[0] += bias.x, v[1] += bias.y, v[2] += bias.z, v[3] += bias.w;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] += o.up_w ? add[k] : 0.0f;
    act_four_of(o.act, v);
#pragma unroll
    for (int k = 0; k < 4; k++)
        v[k] = o.up_w ? v[k] : add[k] + v[k];
    float2 angle[2];
    if (turn.table && gemm_angles(angle, turn, p.m, p.n, row, col)) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const float re = v[2 * k], im = v[2 * k + 1];
            v[2 * k] = re * angle[k].x - im * angle[k].y;
            v[2 * k + 1] = re * angle[k].y + im * angle[k].x;
        }
    }
    store(o.dst, at, v);
}

// Sums of a tile pass through shared memory, in rows of COLS and some more, so that ones that
// are written in pairs meet no bank twice. So a thread has four neighbours of a row, and the code
// that finishes them is there once: inlined for each of a thread's sums it was 800 KiB, and to
// fetch it took many times as long as the products of small launches.
enum { GEMM_BESIDE = 8 };

// Where row r of such a tile is in the product.
struct gemm_rows_of {
    int m0, run, step; // `run` rows that follow each other begin every `step` rows

    __device__ __forceinline__ int at(int r) const
    {
        return m0 + r / run * step + r % run;
    }
};

// What a thread adds to four numbers; loads of the next four are under way with these.
struct gemm_addend {
    unsigned at;
    float v[4];
};

static __device__ __forceinline__ void gemm_take_addend(gemm_addend &a, const gemm &p, int row,
                                                        int col)
{
    if (row >= p.m || col >= p.n)
        return;
    a.at = gemm_dst_at(p.out, p.n, row, col);
    if (p.out.add.p)
        load(a.v, p.out.add, a.at % p.out.period);
}

template <int ROWS, int COLS, int THREADS>
static __device__ __forceinline__ void gemm_finish_tile(const gemm &p, const gemm_turn &turn,
                                                        const float *tile, gemm_rows_of rows,
                                                        int n0)
{
    constexpr int FOURS = COLS / 4, LENGTH = COLS + GEMM_BESIDE, DOWN = THREADS / FOURS;
    static_assert(THREADS % FOURS == 0 && ROWS % DOWN == 0, "all threads have as many");
    const int col = n0 + threadIdx.x % FOURS * 4;
    if (!p.out.fours) {
#pragma unroll 1
        for (int i = threadIdx.x; i < ROWS * COLS; i += THREADS) {
            const int row = rows.at(i / COLS), c = n0 + i % COLS;
            if (row < p.m && c < p.n)
                gemm_finish(p.out, p.n, row, c, tile[i / COLS * LENGTH + i % COLS]);
        }
        return;
    }
    gemm_addend next = {};
    gemm_take_addend(next, p, rows.at(threadIdx.x / FOURS), col);
#pragma unroll 1
    for (int r = threadIdx.x / FOURS; r < ROWS; r += DOWN) {
        const gemm_addend now = next;
        const int row = rows.at(r);
        if (r + DOWN < ROWS)
            gemm_take_addend(next, p, rows.at(r + DOWN), col);
        float v[4];
        load_shared_16(v, tile + r * LENGTH + (col - n0));
        if (row < p.m && col < p.n)
            gemm_finish_four(p, turn, row, col, v, now.at, now.v);
    }
}

// SPDX-License-Identifier: MIT
#include "kernels.h"
#include "mma.cuh"

// Flash attention. Shape: a block takes 64 rows of q of one head, 16 per warp,
// and walks over the keys 64 at a time; k and v come in two stages of cp.async.
// The softmax is kept running: a new maximum rescales what was summed so far.
enum { DIM = 64, ROWS = 64, KEYS = 64, THREADS = 128 };

using bf16 = __nv_bfloat16;
struct tile {
    bf16 v[64][DIM];
};

// Rows are 128 bytes; the swizzle spreads 8 of them over all banks.
static __device__ bf16 *at(tile *t, int row, int chunk)
{
    return t->v[row] + 8 * (chunk ^ (row % 8));
}

static __device__ void load_tile(tile *t, const bf16 *src, int row0, int rows)
{
    for (int i = threadIdx.x; i < 64 * DIM / 8; i += THREADS) {
        const int row = i / 8, chunk = i % 8;
        const bool valid = row0 + row < rows;
        cp_async_16(at(t, row, chunk), valid ? src + (size_t) (row0 + row) * DIM + 8 * chunk : src,
                    valid);
    }
}

static __device__ uint32_t pack(float lo, float hi)
{
    const __nv_bfloat162 v = __floats2bfloat162_rn(lo, hi);
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return bits;
}

static __device__ float quad_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

static __device__ float quad_sum(float v)
{
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

static __global__ void __launch_bounds__(THREADS)
    attention_kernel(bf16 *dst, const bf16 *q, const bf16 *k, const bf16 *v, int rows, int keys,
                     float scale)
{
    extern __shared__ __align__(128) unsigned char smem[];
    tile *tq = reinterpret_cast<tile *>(smem), *tk = tq + 1, *tv = tq + 3; // two stages of k and v
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = blockIdx.x * ROWS;
    q   += (size_t) blockIdx.y * rows * DIM;
    dst += (size_t) blockIdx.y * rows * DIM;
    k   += (size_t) blockIdx.y * keys * DIM;
    v   += (size_t) blockIdx.y * keys * DIM;

    load_tile(tq, q, row0, rows);
    load_tile(tk, k, 0, keys);
    load_tile(tv, v, 0, keys);
    cp_async_commit();

    uint32_t fq[4][4];
    float out[8][4] = {}, top[2] = { -INFINITY, -INFINITY }, sum[2] = {};
    scale *= 1.44269504f; // so that exp2f serves
    for (int k0 = 0, stage = 0; k0 < keys; k0 += KEYS, stage ^= 1) {
        cp_async_wait<0>();
        __syncthreads(); // this stage is there for all, and all have left the other
        if (k0 + KEYS < keys) {
            load_tile(&tk[stage ^ 1], k, k0 + KEYS, keys);
            load_tile(&tv[stage ^ 1], v, k0 + KEYS, keys);
            cp_async_commit();
        }
        if (k0 == 0)
            for (int c = 0; c < 4; c++)
                ldmatrix_x4(fq[c], at(tq, 16 * warp + lane % 16, 2 * c + lane / 16));

        float s[8][4] = {};
        for (int c = 0; c < 4; c++)
            for (int j = 0; j < 8; j += 2) {
                uint32_t fk[4];
                ldmatrix_x4(fk,
                            at(&tk[stage], 8 * j + lane / 16 * 8 + lane % 8, 2 * c + lane / 8 % 2));
                mma_m16n8k16<bf16>(s[j], fq[c], fk);
                mma_m16n8k16<bf16>(s[j + 1], fq[c], fk + 2);
            }

        for (int h = 0; h < 2; h++) { // the lane's two rows
            float m = top[h];
            for (int j = 0; j < 8; j++)
                for (int i = 2 * h; i < 2 * h + 2; i++) {
                    const bool valid = k0 + 8 * j + lane % 4 * 2 + i % 2 < keys;
                    s[j][i] = valid ? s[j][i] * scale : -INFINITY;
                    m = fmaxf(m, s[j][i]);
                }
            m = quad_max(m);
            const float fade = exp2f(top[h] - m);
            top[h] = m;
            sum[h] *= fade;
            for (int j = 0; j < 8; j++)
                for (int i = 2 * h; i < 2 * h + 2; i++) {
                    s[j][i] = exp2f(s[j][i] - m);
                    sum[h] += s[j][i];
                    out[j][i] *= fade;
                }
        }

        for (int c = 0; c < 4;
             c++) { // 16 keys; the two score tiles over them are the a fragment as they stand
            const uint32_t fp[4] = { pack(s[2 * c][0], s[2 * c][1]), pack(s[2 * c][2], s[2 * c][3]),
                                     pack(s[2 * c + 1][0], s[2 * c + 1][1]),
                                     pack(s[2 * c + 1][2], s[2 * c + 1][3]) };
            for (int j = 0; j < 8; j += 2) {
                uint32_t fv[4];
                ldmatrix_x4_trans(fv, at(&tv[stage], 16 * c + lane % 16, j + lane / 16));
                mma_m16n8k16<bf16>(out[j], fp, fv);
                mma_m16n8k16<bf16>(out[j + 1], fp, fv + 2);
            }
        }
    }

    for (int h = 0; h < 2; h++) {
        const float inverse = 1.0f / quad_sum(sum[h]);
        const int row = row0 + 16 * warp + 8 * h + lane / 4;
        if (row < rows)
            for (int j = 0; j < 8; j++)
                *reinterpret_cast<__nv_bfloat162 *>(dst + (size_t) row * DIM + 8 * j +
                                                    lane % 4 * 2) =
                    __floats2bfloat162_rn(out[j][2 * h] * inverse, out[j][2 * h + 1] * inverse);
    }
}

void attention_bf16(bf16 *dst, const bf16 *q, const bf16 *k, const bf16 *v, int heads, int rows,
                    int keys, float scale, cudaStream_t stream)
{
    const dim3 grid((rows + ROWS - 1) / ROWS, heads);
    EMU_LAUNCH(attention_kernel, grid, THREADS, 5 * sizeof(tile), stream, dst, q, k, v, rows, keys,
               scale);
}

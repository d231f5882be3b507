// SPDX-License-Identifier: MIT
// Products of f32, one per level.

#include "ops/cpu/gemm_tile.h"

typedef float number;

// AVX2: the weights of a chunk take 24 KiB of the first-level cache.
enum { PAIR = 1, CHUNK = VL == 8 ? 384 : 0 };
enum { FETCHED = FETCHES ? 16 : 1 << 30 }; // inputs of a row in a cache line

// gcc would load all of a tile's inputs before it multiplies, and spill sums for them.
#if defined(__AVX2__) && !defined(__AVX512F__)
#define NOW(v) __asm__("" : "+x"(v))
#else
#define NOW(v)
#endif

// rows and vectors are constants where this is inlined, so the sums stay in registers: 12 x 2 of
// AVX-512's 32, 6 x 2 of AVX2's 16.
SAM_INLINE void multiply(int rows, int vectors, const float *a, size_t lda, const float *b,
                         struct inputs in, float *sums)
{
    vf sum[MR][2];
    for (int r = 0; r < rows; r++) {
        sum[r][0] = in.more ? vf_load(sums + r * NR) : (vf) { 0 };
        sum[r][1] = in.more && vectors > 1 ? vf_load(sums + r * NR + VL) : (vf) { 0 };
    }
    for (int run = 0; run < in.runs; run++, a += in.step)
        for (int from = 0; from < in.count; from += FETCHED) {
            if (FETCHES) // the next tile's: rows are too short to be seen as streams
                for (int r = 0; r < rows; r++)
                    __builtin_prefetch(a + (rows + r) * lda + from);
            const int to = in.count - from < FETCHED ? in.count : from + FETCHED;
            for (int i = from; i < to; i++) {
                const vf b0 = vf_load(b), b1 = vectors > 1 ? vf_load(b + VL) : b0;
                b += SAM_PANEL;
                for (int r = 0; r < rows; r++) {
                    vf x = vf_set(a[r * lda + i]);
                    NOW(x);
                    sum[r][0] += x * b0;
                    if (vectors > 1)
                        sum[r][1] += x * b1;
                    NOW(sum[r][0]);
                    NOW(sum[r][1]);
                }
            }
        }
    for (int r = 0; r < rows; r++) {
        vf_store(sums + r * NR, sum[r][0]);
        if (vectors > 1)
            vf_store(sums + r * NR + VL, sum[r][1]);
    }
}

#include "ops/cpu/gemm_loop.h"

static void gemm(const struct sam_gemm *g)
{
    multiply_block(g);
}

const struct sam_gemm_kernels SAM_LEVEL(sam_gemm_kernels) = {
    .run = gemm, .tile_rows = MR, .chunk = CHUNK
};

// SPDX-License-Identifier: MIT
// Products of f32 by NEON; compiled with BF16, products of bf16 with sums of f32.

#include "ops/cpu/gemm_neon.h"

#include "ops/cpu/gemm_tile.h"

enum { CHUNK = 0 };

// See gemm_f32.c.
SAM_INLINE void multiply(int rows, int vectors, const number *a, size_t lda, const number *b,
                         struct inputs in, float *sums)
{
    vf sum[MR][2];
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (vf){ 0 };
    for (int run = 0; run < in.runs; run++, a += in.step)
        b = add_words(rows, vectors, a, lda, b, (size_t) in.count, sum);
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

const struct sam_gemm_kernels SAM_LEVEL(sam_gemm_kernels) = { .run = gemm,
                                                              .tile_rows = MR,
                                                              .bf16 = PAIR == 2 };

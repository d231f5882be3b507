// SPDX-License-Identifier: MIT
// Products of bf16 with sums of f32, by AVX512_BF16: each lane adds two neighbouring inputs at a
// time.

#include <immintrin.h>

#include "ops/cpu/gemm_tile.h"

typedef uint16_t number;

enum { PAIR = 2, CHUNK = 0 };

SAM_INLINE __m512bh load_pairs(const uint16_t *p)
{
    return (__m512bh) _mm512_loadu_si512(p);
}

// See gemm_f32.c.
SAM_INLINE void multiply(int rows, int vectors, const uint16_t *a, size_t lda, const uint16_t *b,
                         struct inputs in, float *sums)
{
    __m512 sum[MR][2];
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    for (int run = 0; run < in.runs; run++, a += in.step)
        for (int i = 0; i < in.count; i += 2) {
            const __m512bh b0 = load_pairs(b), b1 = vectors > 1 ? load_pairs(b + 2 * VL) : b0;
            b += 2 * SAM_PANEL;
            for (int r = 0; r < rows; r++) {
                int32_t pair;
                memcpy(&pair, a + r * lda + i, sizeof(pair));
                const __m512bh x = (__m512bh) _mm512_set1_epi32(pair);
                sum[r][0] = _mm512_dpbf16_ps(sum[r][0], x, b0);
                if (vectors > 1)
                    sum[r][1] = _mm512_dpbf16_ps(sum[r][1], x, b1);
            }
        }
    for (int r = 0; r < rows; r++) {
        _mm512_storeu_ps(sums + r * NR, sum[r][0]);
        if (vectors > 1)
            _mm512_storeu_ps(sums + r * NR + VL, sum[r][1]);
    }
}

#include "ops/cpu/gemm_loop.h"

static void gemm(const struct sam_gemm *g)
{
    multiply_block(g);
}

const struct sam_gemm_kernels sam_gemm_kernels_bf16 = {
    .run = gemm, .tile_rows = MR, .bf16 = true
};

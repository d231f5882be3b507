// SPDX-License-Identifier: MIT
// Products in int8 by SMMLA of arm64 (I8MM): of eight bytes of two rows and eight of two outputs,
// which stand beside each other in a panel, it adds up all four products. Sums of a tile are blocks
// of 2 x 2.

#include "ops/cpu/gemm_tile.h"

typedef int8_t number;

enum { GROUP = 8, PAIRS = VL, MOST = MR / 2 }; // pairs of a tile's outputs and of its rows

// Eight bytes of each of two rows, of which there may be one alone.
SAM_INLINE int8x16_t load_two(const int8_t *a, size_t lda, bool both)
{
    return vcombine_s8(vld1_s8(a), both ? vld1_s8(a + lda) : vdup_n_s8(0));
}

// sum[p][o]: of rows 2 p and 2 p + 1 with outputs 2 o and 2 o + 1. inputs: whole groups.
SAM_INLINE void add_groups(int rows, int pairs, const int8_t *a, size_t lda, const int8_t *b,
                           size_t inputs, int32x4_t sum[MOST][PAIRS])
{
    for (size_t i = 0; i < inputs; i += GROUP, b += GROUP * SAM_PANEL) {
        int8x16_t w[PAIRS];
        for (int o = 0; o < pairs; o++)
            w[o] = vld1q_s8(b + o * 2 * GROUP);
        for (int p = 0; 2 * p < rows; p++) {
            const int8x16_t x = load_two(a + 2 * p * lda + i, lda, 2 * p + 1 < rows);
            for (int o = 0; o < pairs; o++)
                sum[p][o] = vmmlaq_s32(sum[p][o], x, w[o]);
        }
    }
}

// See gemm_f32.c.
SAM_INLINE void multiply(int rows, int vectors, const number *a, size_t lda, struct weights w,
                         size_t inputs, float *sums)
{
    int32x4_t sum[MOST][PAIRS];
    for (int p = 0; 2 * p < rows; p++)
        for (int o = 0; o < 2 * vectors; o++)
            sum[p][o] = vdupq_n_s32(0);
    add_groups(rows, 2 * vectors, a, lda, w.numbers, inputs, sum);
    for (int r = 0; r < rows; r++) {
        float step;
        memcpy(&step, a + r * lda + inputs, sizeof(step));
        for (int v = 0; v < vectors; v++) {
            const int64x2_t one = (int64x2_t) sum[r / 2][2 * v];
            const int64x2_t two = (int64x2_t) sum[r / 2][2 * v + 1];
            const vi of_row = (vi) (r % 2 ? vzip2q_s64(one, two) : vzip1q_s64(one, two));
            vf_store(sums + r * NR + v * VL,
                     __builtin_convertvector(of_row, vf) * (vf_load(w.step + v * VL) * step));
        }
    }
}

#include "ops/cpu/gemm_int8_loop.h"

const struct sam_gemm_kernels sam_gemm_int8_i8mm = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .prepare = sam_quantize_eights_neon
};

// SPDX-License-Identifier: MIT
// Products in int8 by SDOT of arm64: a lane adds four products of signed bytes at a time.

#define SAM_NEON_INT8
#include "ops/cpu/gemm_neon.h"

#include "ops/cpu/gemm_tile.h"

enum { GROUP = PAIR };

// See gemm_f32.c. inputs: whole groups.
SAM_INLINE void multiply(int rows, int vectors, const number *a, size_t lda, struct weights w,
                         size_t inputs, float *sums)
{
    vi sum[MR][2];
    for (int r = 0; r < rows; r++)
        sum[r][0] = sum[r][1] = (vi){ 0 };
    add_words(rows, vectors, a, lda, w.numbers, inputs, sum);
    for (int r = 0; r < rows; r++) {
        float step;
        memcpy(&step, a + r * lda + inputs, sizeof(step));
        for (int v = 0; v < vectors; v++)
            vf_store(sums + r * NR + v * VL,
                     __builtin_convertvector(sum[r][v], vf) * (vf_load(w.step + v * VL) * step));
    }
}

#include "ops/cpu/gemm_int8_loop.h"

const struct sam_gemm_kernels sam_gemm_int8_dotprod = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .prepare = sam_quantize_fours_neon
};

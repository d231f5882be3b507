// Products of f32, one per level.

#include "ops/cpu/gemm_tile.h"

typedef float number;

// rows and vectors are constants where this is inlined, so the sums stay in registers: 12 x 2 of
// AVX-512's 32, 4 x 2 of AVX2's 16 (at 6 x 2 gcc spills, and takes twice the time).
SAM_INLINE void multiply(int rows, int vectors, const float *a, size_t lda, const float *b, int k,
                         float *sums)
{
    vf sum[MR][2] = { 0 };
    for (int i = 0; i < k; i++) {
        const vf b0 = vf_load(b), b1 = vectors > 1 ? vf_load(b + VL) : b0;
        b += SAM_PANEL;
        for (int r = 0; r < rows; r++) {
            const vf x = vf_set(a[r * lda + i]);
            sum[r][0] += x * b0;
            if (vectors > 1)
                sum[r][1] += x * b1;
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
    multiply_block(g, 1);
}

const struct sam_gemm_kernels SAM_LEVEL(sam_gemm_kernels) = { .run = gemm, .tile_rows = MR };

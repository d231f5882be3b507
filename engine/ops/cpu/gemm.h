// SPDX-License-Identifier: MIT
// The product of a block of rows with a packed weight: private to ops/cpu, and all that knows
// the packed form.
//
// A packed weight (out x in) is panels of SAM_PANEL outputs; the last is filled up with zeros.
// A panel is, for each input, SAM_PANEL numbers side by side: one or two vector loads. With
// bf16 products two neighbouring inputs of an output stand together, as the processors' dot
// product wants them; an odd last input is filled up with a zero.
#ifndef SAM_GEMM_H
#define SAM_GEMM_H

#include <stddef.h>

#include "ops/cpu/cpu.h"

enum { SAM_PANEL = 32 };

// c[r][j] = add[(add_row + r) mod add_rows][j] + act(a[r] . weight[j] + bias[j]) for r in [0, m)
// and j in [first, last). a is F32, or BF16 for bf16 products; then, where k is odd, one more
// number follows each row of a, and is finite.
struct sam_gemm {
    const void *a, *b;
    int m, k, first, last; // first is a multiple of SAM_PANEL
    size_t lda;            // in numbers, as all strides here
    // A row of a may be `runs` (0: 1) runs of k / runs numbers, run_step from one to the next: the
    // window of a convolution in a map. With bf16 products a run is a multiple of 2.
    int runs;
    size_t run_step;
    const float *bias;     // by output; NULL: none
    enum sam_act act;
    const void *add; // NULL: none
    enum sam_type add_type;
    size_t add_row, add_rows, ld_add;
    void *c;
    enum sam_type c_type;
    size_t ldc;
};

struct sam_gemm_kernels {
    void (*run)(const struct sam_gemm *g);
    int tile_rows; // that it takes at once: blocks are best multiples of it
    int chunk;     // inputs that it takes at once for all rows; 0: all
    bool bf16;     // type of a and of the packed weight
};

// gemm_f32.c per level, and gemm_bf16.c.
extern const struct sam_gemm_kernels sam_gemm_kernels_generic, sam_gemm_kernels_avx2,
    sam_gemm_kernels_avx512, sam_gemm_kernels_bf16;

static inline size_t sam_panel_bytes(int k, bool bf16)
{
    return bf16 ? (size_t) ((k + 1) & ~1) * SAM_PANEL * 2 : (size_t) k * SAM_PANEL * 4;
}

#endif // SAM_GEMM_H

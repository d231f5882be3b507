// SPDX-License-Identifier: MIT
// The product of a block of rows with a packed weight: private to ops/cpu, and all that knows
// the packed form.
//
// A packed weight (out x in) is panels of SAM_PANEL outputs; the last is filled up with zeros.
// A panel is, for each input, SAM_PANEL numbers side by side: one or two vector loads. With
// bf16 products two neighbouring inputs of an output stand together, as the processors' dot
// product wants them; an odd last input is filled up with a zero.
//
// In int8 (see sam_matrix) a panel has pairs of numbers of 16 bits, or, for dot products of bytes,
// fours or eights of signed ones; behind them stand, for each output, the step of its row (F32) and
// what its sum begins with (I32). A row of a has likewise numbers of 16 bits, or bytes: of q where
// the instruction takes signed ones, of q + 128 where it wants one factor unsigned: sums then begin
// with -128 times those of the output's weights. At 0 from the last group on stands the row's step.
//
// For tiles (AMX) a panel is filled up with zeros to whole tiles of inputs; rows of a are not.
#ifndef SAM_GEMM_H
#define SAM_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "ops/cpu/rows.h"

enum { SAM_PANEL = 32 };

// c[r][j] = add[(add_row + r) mod add_rows][j] + act(a[r] . weight[j] + bias[j]) for r in [0, m)
// and j in [first, last). a is F32, or BF16 for bf16 products; then, where k is odd, one more
// number follows each row of a, and is finite. In int8 prepare() has made its rows.
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

// Make a row of a in int8: `count` numbers, zeros up to a whole group, the step. May write up to
// the next multiple of 32 numbers. quantize.c has them per level, for both forms.
typedef void sam_quantize(void *dst, struct sam_span src, size_t count);
extern sam_quantize sam_quantize_pairs_generic, sam_quantize_pairs_avx2,
    sam_quantize_pairs_avx512, sam_quantize_fours_avx2, sam_quantize_fours_avx512,
    sam_quantize_pairs_neon, sam_quantize_fours_neon, sam_quantize_eights_neon;

struct sam_gemm_kernels {
    void (*run)(const struct sam_gemm *g);
    int tile_rows; // that it takes at once: blocks are best multiples of it
    int chunk;     // inputs that it takes at once for all rows; 0: all
    bool bf16;     // type of a and of the packed weight
    int group;     // of int8: neighbouring inputs that stand together, 2, 4 or 8; else 0
    int offset;    // of int8 in bytes: a row has q + offset; 0 or 128
    int deep;      // a panel's inputs and those of a run are multiples of it; 0: of a group
    sam_quantize *prepare; // NULL: not in int8
};

// gemm_f32.c and gemm_int8.c per level, gemm_bf16.c, gemm_amx.c, gemm_neon.c, gemm_dotprod.c and
// gemm_i8mm.c.
extern const struct sam_gemm_kernels sam_gemm_kernels_generic, sam_gemm_kernels_avx2,
    sam_gemm_kernels_avx512, sam_gemm_kernels_bf16, sam_gemm_int8_generic, sam_gemm_int8_avx2,
    sam_gemm_int8_avx_vnni, sam_gemm_int8_avx512, sam_gemm_int8_vnni, sam_gemm_kernels_amx,
    sam_gemm_int8_amx, sam_gemm_kernels_neon, sam_gemm_kernels_neon_bf16, sam_gemm_int8_neon,
    sam_gemm_int8_dotprod, sam_gemm_int8_i8mm;

// Bytes of a number in a and in the packed weight.
static inline size_t sam_gemm_number(const struct sam_gemm_kernels *g)
{
    return g->group > 2 ? 1 : g->group || g->bf16 ? 2 : 4;
}

// Inputs of whole groups.
static inline size_t sam_gemm_inputs(const struct sam_gemm_kernels *g, int k)
{
    const int group = g->group ? g->group : g->bf16 ? 2 : 1;
    return ((size_t) k + group - 1) / group * group;
}

// Inputs of a panel, its zeros included.
static inline size_t sam_panel_inputs(const struct sam_gemm_kernels *g, int k)
{
    return g->deep ? ((size_t) k + g->deep - 1) / g->deep * g->deep : sam_gemm_inputs(g, k);
}

static inline size_t sam_panel_bytes(const struct sam_gemm_kernels *g, int k)
{
    const size_t behind = g->group ? SAM_PANEL * (sizeof(float) + sizeof(int32_t)) : 0;
    return sam_panel_inputs(g, k) * SAM_PANEL * sam_gemm_number(g) + behind;
}

#endif // SAM_GEMM_H

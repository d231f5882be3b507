// What the gemm kernels of both number types share: they multiply a tile of SAM_TILE_ROWS rows by
// two vectors of outputs in registers; from there on it is all the same.
#ifndef SAM_GEMM_TILE_H
#define SAM_GEMM_TILE_H

#include "ops/cpu/gemm.h"
#include "ops/cpu/vec.h"

enum { MR = SAM_TILE_ROWS, NR = 2 * VL };

struct tile {
    int rows, row, column; // of the block
    _Alignas(64) float sums[MR * NR]; // rows x NR
};

// From sums to the output, one vector at a time.
SAM_INLINE void store_vector(const struct sam_gemm *g, vf sum, int r, size_t add_row, int j,
                             enum sam_act act)
{
    const int count = g->last - j < VL ? g->last - j : VL;
    if (g->bias)
        sum += vf_get(g->bias, SAM_F32, j, count);
    sum = vf_act(sum, act);
    if (g->add)
        sum += vf_get(g->add, g->add_type, add_row * g->ld_add + j, count);
    vf_put(g->c, g->c_type, r * g->ldc + j, sum, count);
}

SAM_INLINE void store_tile_as(const struct sam_gemm *g, const struct tile *t, enum sam_act act)
{
    size_t add_row = g->add ? (g->add_row + t->row) % g->add_rows : 0;
    for (int r = 0; r < t->rows; r++) {
        for (int v = 0; v < 2 && t->column + v * VL < g->last; v++)
            store_vector(g, vf_load(t->sums + r * NR + v * VL), t->row + r, add_row,
                         t->column + v * VL, act);
        if (++add_row == g->add_rows)
            add_row = 0;
    }
}

static void store_tile(const struct sam_gemm *g, const struct tile *t)
{
    switch (g->act) {
    case SAM_ACT_NONE:    store_tile_as(g, t, SAM_ACT_NONE); break;
    case SAM_ACT_RELU:    store_tile_as(g, t, SAM_ACT_RELU); break;
    case SAM_ACT_GELU:    store_tile_as(g, t, SAM_ACT_GELU); break;
    case SAM_ACT_SIGMOID: store_tile_as(g, t, SAM_ACT_SIGMOID); break;
    }
}

#endif // SAM_GEMM_TILE_H

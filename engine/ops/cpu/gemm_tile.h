// SPDX-License-Identifier: MIT
// What the gemm kernels of both number types share: they multiply a tile of SAM_TILE_ROWS rows by
// two vectors of outputs in registers; from there on it is all the same.
#ifndef SAM_GEMM_TILE_H
#define SAM_GEMM_TILE_H

#include "ops/cpu/gemm.h"
#include "ops/cpu/vec.h"

// FETCHES: what comes next is fetched ahead; measured with AVX2 only, where it is worth a tenth.
enum { MR = SAM_TILE_ROWS, NR = 2 * VL, FETCHES = VL == 8 };

// The statement for the number of rows of a tile, which is the constant n in it.
#define ROWS_CASE(number, ...)                                                                     \
    case number: {                                                                                 \
        enum { n = number <= MR ? number : 1 };                                                    \
        if (number <= MR)                                                                          \
            __VA_ARGS__;                                                                           \
        break;                                                                                     \
    }
#define FOR_ROWS(rows, ...)                                                                        \
    switch (rows) {                                                                                \
        ROWS_CASE(1, __VA_ARGS__)                                                                  \
        ROWS_CASE(2, __VA_ARGS__)                                                                  \
        ROWS_CASE(3, __VA_ARGS__)                                                                  \
        ROWS_CASE(4, __VA_ARGS__)                                                                  \
        ROWS_CASE(5, __VA_ARGS__)                                                                  \
        ROWS_CASE(6, __VA_ARGS__)                                                                  \
        ROWS_CASE(7, __VA_ARGS__)                                                                  \
        ROWS_CASE(8, __VA_ARGS__)                                                                  \
        ROWS_CASE(9, __VA_ARGS__)                                                                  \
        ROWS_CASE(10, __VA_ARGS__)                                                                 \
        ROWS_CASE(11, __VA_ARGS__)                                                                 \
        ROWS_CASE(12, __VA_ARGS__)                                                                 \
    }

struct tile {
    int rows, row, column; // of the block
    _Alignas(64) float sums[MR * NR]; // rows x NR
};

SAM_INLINE void begin_tile(const struct sam_gemm *g, struct tile *t, int row, int column)
{
    t->row = row, t->column = column, t->rows = g->m - row < MR ? g->m - row : MR;
}

// The output's lines, which are written when the products are done.
SAM_INLINE void fetch_output(const struct sam_gemm *g, const struct tile *t)
{
    const size_t size = g->c_type == SAM_F32 ? 4 : 2;
    for (int i = 0; FETCHES && i < t->rows; i++)
        __builtin_prefetch((char *) g->c + ((t->row + i) * g->ldc + t->column) * size, 1);
}

// Inputs of a row: `runs` runs of `count` numbers, `step` from one to the next. more: they are
// added to the tile's sums, which begin with them otherwise.
struct inputs {
    int runs, count;
    size_t step;
    bool more;
};

// Of int8: what of a panel belongs to a tile's outputs.
struct weights {
    const void *numbers;
    const float *step;
    const int32_t *start;
};

// What is constant where store_tile_as() is inlined.
struct store {
    enum sam_act act;
    enum sam_type type;
    bool has_add;
};

// From sums to the output, one vector at a time. count: lanes of it that are wanted.
SAM_INLINE void store_vector(const struct sam_gemm *g, struct store s, vf sum, size_t r,
                             size_t add_row, int j, int count)
{
    sum = vf_act(sum, s.act);
    if (s.has_add)
        sum += vf_get(g->add, g->add_type, add_row * g->ld_add + j, count);
    vf_put(g->c, s.type, r * g->ldc + j, sum, count);
}

SAM_INLINE int lanes_left(const struct sam_gemm *g, int j)
{
    return g->last - j < VL ? g->last - j : VL;
}

SAM_INLINE vf bias_at(const struct sam_gemm *g, int j)
{
    return g->bias && j < g->last ? vf_get(g->bias, SAM_F32, j, lanes_left(g, j)) : (vf) { 0 };
}

SAM_INLINE void store_tile_as(const struct sam_gemm *g, const struct tile *t, struct store s)
{
    const int j0 = t->column, j1 = j0 + VL, count = lanes_left(g, j1);
    const vf bias0 = bias_at(g, j0), bias1 = bias_at(g, j1);
    size_t add_row = s.has_add ? (g->add_row + t->row) % g->add_rows : 0;
    for (int i = 0; i < t->rows; i++) {
        const vf s0 = vf_load(t->sums + i * NR) + bias0;
        const size_t r = (size_t) t->row + i;
        if (count == VL) {
            const vf s1 = vf_load(t->sums + i * NR + VL) + bias1;
            store_vector(g, s, s0, r, add_row, j0, VL);
            store_vector(g, s, s1, r, add_row, j1, VL);
        } else {
            store_vector(g, s, s0, r, add_row, j0, lanes_left(g, j0));
            if (count > 0)
                store_vector(g, s, vf_load(t->sums + i * NR + VL) + bias1, r, add_row, j1, count);
        }
        if (s.has_add && ++add_row == g->add_rows)
            add_row = 0;
    }
}

SAM_INLINE void store_tile_act(const struct sam_gemm *g, const struct tile *t, enum sam_act act)
{
    if (g->add)
        store_tile_as(g, t, (struct store) { act, g->c_type, true });
    else if (g->c_type == SAM_F32)
        store_tile_as(g, t, (struct store) { act, SAM_F32, false });
    else
        store_tile_as(g, t, (struct store) { act, SAM_BF16, false });
}

static void store_tile(const struct sam_gemm *g, const struct tile *t)
{
    switch (g->act) {
    case SAM_ACT_NONE:    store_tile_act(g, t, SAM_ACT_NONE); break;
    case SAM_ACT_RELU:    store_tile_act(g, t, SAM_ACT_RELU); break;
    case SAM_ACT_GELU:    store_tile_act(g, t, SAM_ACT_GELU); break;
    case SAM_ACT_SIGMOID: store_tile_act(g, t, SAM_ACT_SIGMOID); break;
    case SAM_ACT_SILU:    store_tile_act(g, t, SAM_ACT_SILU); break;
    case SAM_ACT_RELU6:   store_tile_act(g, t, SAM_ACT_RELU6); break;
    case SAM_NUM_ACTS:    break;
    }
}

#endif // SAM_GEMM_TILE_H

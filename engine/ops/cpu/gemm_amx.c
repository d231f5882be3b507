// SPDX-License-Identifier: MIT
// Products by the tiles of AMX: of bf16 with sums of F32, and of int8 with sums of I32. A panel is
// already what the instructions want as their second factor: a row of a tile is a group of inputs
// of 16 outputs. Two tiles of rows meet two of outputs, so that four loads feed four products.

#include "ops/cpu/gemm_tile.h"
#include "ops/cpu/tiles.h"

enum {
    SIDE = SAM_TILE_SIDE,
    STEP = SAM_TILE_ROW_BYTES, // bytes of a row of a that a tile takes at once
    PANEL_ROW = SAM_PANEL * 4, // bytes of a group of inputs in a panel
};
_Static_assert(MR == 2 * SIDE && NR == 2 * SIDE, "sums are two tiles by two");

// What is constant where it is inlined. low: there are more than SIDE rows, right: more than SIDE
// outputs.
struct shape {
    bool int8, low, right;
};

// Rows of a in bytes: `runs` of `steps` whole steps, and what is left of each row, with zeros, in a
// place of its own.
struct rows {
    const char *first;
    size_t pitch, run_pitch;
    int runs, steps, rest; // rest: bytes
    _Alignas(64) char left[MR * STEP];
};

SAM_INLINE void add_step(struct shape s, const char *a, size_t pitch, const char *b)
{
    sam_tile_load(4, a, pitch);
    sam_tile_load(6, b, PANEL_ROW);
    if (s.low)
        sam_tile_load(5, a + SIDE * pitch, pitch);
    if (s.right)
        sam_tile_load(7, b + PANEL_ROW / 2, PANEL_ROW);
    if (s.int8) {
        sam_tile_add_int8(0, 4, 6);
        if (s.right)
            sam_tile_add_int8(1, 4, 7);
        if (s.low)
            sam_tile_add_int8(2, 5, 6);
        if (s.low && s.right)
            sam_tile_add_int8(3, 5, 7);
        return;
    }
    sam_tile_add_bf16(0, 4, 6);
    if (s.right)
        sam_tile_add_bf16(1, 4, 7);
    if (s.low)
        sam_tile_add_bf16(2, 5, 6);
    if (s.low && s.right)
        sam_tile_add_bf16(3, 5, 7);
}

SAM_INLINE void multiply(struct shape s, const struct rows *a, const char *b, float *sums)
{
    sam_tile_zero(0);
    if (s.right)
        sam_tile_zero(1);
    if (s.low)
        sam_tile_zero(2);
    if (s.low && s.right)
        sam_tile_zero(3);
    for (int run = 0; run < a->runs; run++)
        for (int i = 0; i < a->steps; i++, b += SIDE * PANEL_ROW)
            add_step(s, a->first + run * a->run_pitch + (size_t) i * STEP, a->pitch, b);
    if (a->rest)
        add_step(s, a->left, STEP, b);
    sam_tile_store(0, sums, NR * 4);
    if (s.right)
        sam_tile_store(1, sums + SIDE, NR * 4);
    if (s.low)
        sam_tile_store(2, sums + SIDE * NR, NR * 4);
    if (s.low && s.right)
        sam_tile_store(3, sums + SIDE * NR + SIDE, NR * 4);
}

SAM_INLINE void multiply_tile(bool int8, bool low, bool right, const struct rows *a, const char *b,
                              float *sums)
{
    if (low && right)
        multiply((struct shape){ int8, true, true }, a, b, sums);
    else if (low)
        multiply((struct shape){ int8, true, false }, a, b, sums);
    else if (right)
        multiply((struct shape){ int8, false, true }, a, b, sums);
    else
        multiply((struct shape){ int8, false, false }, a, b, sums);
}

// Rows [row, row + count) of a.
SAM_INLINE void begin_rows(const struct sam_gemm *g, int size, int row, int count, struct rows *a)
{
    a->runs = g->runs > 1 ? g->runs : 1;
    const int bytes = g->k / a->runs * size;
    a->first = (const char *) g->a + row * g->lda * size;
    a->pitch = g->lda * size, a->run_pitch = g->run_step * size;
    a->steps = bytes / STEP, a->rest = bytes % STEP; // runs are whole steps
    for (int r = 0; r < count && a->rest; r++) {
        memset(a->left + r * STEP, 0, STEP);
        memcpy(a->left + r * STEP, a->first + r * a->pitch + (size_t) a->steps * STEP, a->rest);
    }
}

// Behind the numbers of a panel in int8.
struct steps {
    const float *step;
    const int32_t *start;
};

// I32 to F32 in place: what gemm_int8.c does. step: of each row, in bytes from one to the next.
static void scale_sums(const struct tile *t, struct steps w, int vectors, const char *step,
                       size_t pitch, float *sums)
{
    for (int r = 0; r < t->rows; r++) {
        float of_row;
        memcpy(&of_row, step + r * pitch, sizeof(of_row));
        for (int v = 0; v < vectors; v++) {
            vi sum, start;
            memcpy(&sum, sums + r * NR + v * VL, sizeof(sum));
            memcpy(&start, w.start + v * VL, sizeof(start));
            vf_store(sums + r * NR + v * VL, __builtin_convertvector(sum + start, vf) *
                                                 (vf_load(w.step + v * VL) * of_row));
        }
    }
}

SAM_INLINE void multiply_rows(const struct sam_gemm *g, bool int8, int row, int count)
{
    const int size = int8 ? 1 : 2, deep = STEP / size;
    const size_t numbers = ((size_t) g->k + deep - 1) / deep * deep * SAM_PANEL * size;
    const size_t panel_bytes = numbers + (int8 ? SAM_PANEL * 8 : 0);
    struct rows a;
    begin_rows(g, size, row, count, &a);
    for (int column = g->first; column < g->last; column += NR) {
        const char *panel = (const char *) g->b + column / SAM_PANEL * panel_bytes;
        const bool right = g->last - column > VL;
        struct tile t;
        begin_tile(g, &t, row, column);
        multiply_tile(int8, count > SIDE, right, &a, panel, t.sums);
        if (int8) {
            const float *step = (const float *) (panel + numbers);
            scale_sums(&t, (struct steps){ step, (const int32_t *) (step + SAM_PANEL) },
                       right ? 2 : 1, a.first + ((size_t) g->k + 3) / 4 * 4, a.pitch, t.sums);
        }
        store_tile(g, &t);
    }
}

// Tiles for `rows` rows of a.
static void configure(int rows)
{
    const int high = rows < SIDE ? rows : SIDE, low = rows - high;
    const struct sam_tile_config c =
        sam_tile_config((const int[SAM_TILES]){ high, high, low, low, high, low, SIDE, SIDE });
    sam_tiles_begin(&c);
}

SAM_INLINE void multiply_block(const struct sam_gemm *g, bool int8)
{
    const int whole = g->m / MR * MR;
    if (whole > 0)
        configure(MR);
    for (int row = 0; row < whole; row += MR)
        multiply_rows(g, int8, row, MR);
    if (whole < g->m) {
        configure(g->m - whole);
        multiply_rows(g, int8, whole, g->m - whole);
    }
    sam_tiles_end();
}

static void gemm_bf16(const struct sam_gemm *g)
{
    multiply_block(g, false);
}

static void gemm_int8(const struct sam_gemm *g)
{
    multiply_block(g, true);
}

const struct sam_gemm_kernels sam_gemm_kernels_amx = {
    .run = gemm_bf16, .tile_rows = MR, .bf16 = true, .deep = STEP / 2
};
const struct sam_gemm_kernels sam_gemm_int8_amx = { .run = gemm_int8,
                                                    .tile_rows = MR,
                                                    .group = 4,
                                                    .offset = 128,
                                                    .deep = STEP,
                                                    .prepare = sam_quantize_fours_avx512 };

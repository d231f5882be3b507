// SPDX-License-Identifier: MIT
// The tiles of AMX in C, as Intel's manual describes the instructions: for processors without them.
// Its loops are functions of their own: in each place that uses a tile they would take long to
// compile.
// What a program may not do (a tile that is not configured) ends it.
#ifndef EMULATED_TILES_H
#define EMULATED_TILES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TILE_LOOP static __attribute__((noinline, unused)) void

static struct {
    struct sam_tile_config config;
    uint8_t data[SAM_TILES][SAM_TILE_SIDE][SAM_TILE_ROW_BYTES];
} tiles;

static inline void sam_tiles_begin(const struct sam_tile_config *config)
{
    memset(&tiles, 0, sizeof(tiles));
    tiles.config = *config;
}

static inline void sam_tiles_end(void)
{
    memset(&tiles, 0, sizeof(tiles));
}

static inline int tile_rows(int t)
{
    if (tiles.config.palette != 1 || !tiles.config.rows[t])
        fprintf(stderr, "tile %d is used, and not configured\n", t), abort();
    return tiles.config.rows[t];
}

static inline void sam_tile_zero(int t)
{
    memset(tiles.data[t], 0, (size_t) tile_rows(t) * SAM_TILE_ROW_BYTES);
}

TILE_LOOP sam_tile_load(int t, const void *from, size_t pitch)
{
    memset(tiles.data[t], 0, sizeof(tiles.data[t]));
    for (int r = 0; r < tile_rows(t); r++)
        memcpy(tiles.data[t][r], (const char *) from + r * pitch, tiles.config.row_bytes[t]);
}

TILE_LOOP sam_tile_store(int t, void *to, size_t pitch)
{
    for (int r = 0; r < tile_rows(t); r++)
        memcpy((char *) to + r * pitch, tiles.data[t][r], tiles.config.row_bytes[t]);
}

// Numbers below the smallest normal one are zeros, before and after.
static inline float flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static inline float bf16_at(const uint8_t *row, int i)
{
    uint32_t bits = (uint32_t) (row[2 * i] | row[2 * i + 1] << 8) << 16;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return flush(x);
}

static inline void check_shapes(int t, int a, int b)
{
    if (tile_rows(t) != tile_rows(a) || tiles.config.row_bytes[a] != 4 * tile_rows(b))
        fprintf(stderr, "tiles %d, %d and %d do not fit each other\n", t, a, b), abort();
}

// Even and odd terms are summed apart, and then added to what was there.
TILE_LOOP sam_tile_add_bf16(int t, int a, int b)
{
    check_shapes(t, a, b);
    for (int r = 0; r < tile_rows(t); r++)
        for (int c = 0; c < SAM_TILE_SIDE; c++) {
            float sums[2] = { 0, 0 }, sum;
            for (int k = 0; k < tile_rows(b); k++)
                for (int i = 0; i < 2; i++)
                    sums[i] = flush(fmaf(bf16_at(tiles.data[a][r], 2 * k + i),
                                         bf16_at(tiles.data[b][k], 2 * c + i), sums[i]));
            memcpy(&sum, tiles.data[t][r] + 4 * c, sizeof(sum));
            sum = flush(flush(sum) + flush(sums[0] + sums[1]));
            memcpy(tiles.data[t][r] + 4 * c, &sum, sizeof(sum));
        }
}

TILE_LOOP sam_tile_add_int8(int t, int a, int b)
{
    check_shapes(t, a, b);
    for (int r = 0; r < tile_rows(t); r++)
        for (int c = 0; c < SAM_TILE_SIDE; c++) {
            int32_t sum;
            memcpy(&sum, tiles.data[t][r] + 4 * c, sizeof(sum));
            for (int k = 0; k < tile_rows(b); k++)
                for (int i = 0; i < 4; i++)
                    sum += tiles.data[a][r][4 * k + i] * (int8_t) tiles.data[b][k][4 * c + i];
            memcpy(tiles.data[t][r] + 4 * c, &sum, sizeof(sum));
        }
}

#endif // EMULATED_TILES_H

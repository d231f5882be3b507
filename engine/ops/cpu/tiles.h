// SPDX-License-Identifier: MIT
// The tiles of AMX: eight registers of up to 16 rows of 64 bytes. Macros, as the instructions take
// the number of a tile as a literal. Private to ops/cpu.
#ifndef SAM_TILES_H
#define SAM_TILES_H

#include <stdint.h>
#include <string.h>

enum { SAM_TILE_SIDE = 16, SAM_TILE_ROW_BYTES = 64, SAM_TILES = 8 };

// What LDTILECFG reads.
struct sam_tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

// All tiles with whole rows; 0 rows: the tile is not used.
static inline struct sam_tile_config sam_tile_config(const int rows[SAM_TILES])
{
    struct sam_tile_config c = { .palette = 1 };
    for (int t = 0; t < SAM_TILES; t++) {
        c.rows[t] = (uint8_t) rows[t];
        c.row_bytes[t] = rows[t] ? SAM_TILE_ROW_BYTES : 0;
    }
    return c;
}

#ifdef SAM_EMULATED_TILES
#include SAM_EMULATED_TILES // a header of tests, for processors without them
#else
#include <immintrin.h>

// GCC's own do not tell the compiler that they read memory, or all that they read: numbers that
// are written right before would not be there yet, or never.
#define SAM_WRITTEN(then)                                                                          \
    do {                                                                                           \
        __asm__ volatile("" : : : "memory");                                                       \
        then;                                                                                      \
    } while (0)
#define sam_tiles_begin(config)       SAM_WRITTEN(_tile_loadconfig(config))
#define sam_tiles_end()               _tile_release()
#define sam_tile_zero(t)              _tile_zero(t)
#define sam_tile_load(t, from, pitch) SAM_WRITTEN(_tile_loadd(t, from, pitch))
#define sam_tile_store(t, to, pitch)  _tile_stored(t, to, pitch)
// Tile t += a * b: pairs of bf16 with sums of F32, or fours of bytes with sums of I32, a's without
// a sign.
#define sam_tile_add_bf16(t, a, b)    _tile_dpbf16ps(t, a, b)
#define sam_tile_add_int8(t, a, b)    _tile_dpbusd(t, a, b)
#endif

#endif // SAM_TILES_H

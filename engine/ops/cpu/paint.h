// SPDX-License-Identifier: MIT
// A band of rows that is painted: private to paint.c, labels.c and lines.c.
#ifndef SAM_CPU_PAINT_H
#define SAM_CPU_PAINT_H

#include <stddef.h>
#include <string.h>

#include "ops/cpu/blend.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/outline.h"

enum {
    SAM_REACH      = 2,  // px, of a line's window
    SAM_CACHE_LINE = 64, // bytes
};

// Where a pixel is between two cells of the label map.
struct sam_place {
    uint16_t cell;
    uint8_t weight; // of the next one, of 256
};

struct sam_painting {
    struct sam_cpu *cpu;
    const struct sam_frame *frame;
    const struct sam_overlay *o;
    const struct sam_place *column; // of the area; NULL: pixels are cells
    int pitch, margin;              // of the maps; labels around a row that its colours depend on
    int words;                      // of a row of bits
    int band;                       // rows
    int bare;                       // the first bare label; 256: none
    uint8_t same[256];              // the first bare label for those that are bare
};

struct sam_mixed {
    uint32_t key; // 0: none
    uint32_t colour;
};

// Rows of the area, and maps of a byte per pixel, with SAM_REACH more pixels around.
struct sam_band {
    const struct sam_painting *p;
    int top, end;     // rows that are painted
    int first, last;  // rows whose labels are known
    int next, next_near; // rows of them, and of what is near, that have not been made yet
    uint8_t *labels;  // from row `first` - SAM_REACH on
    uint8_t *inside;  // from row `top` - SAM_REACH on. 0: another label is within a line's width
    uint64_t *near;   // of the same rows: where `inside` is 0
    uint64_t *along;  // from row `first` on, where labels change; a word on either side is 0
    uint64_t *across; // of the same rows, where that above has other ones
    struct sam_line_window *window;
    int num_windows, num_mixed; // all, and those that are no pair
    uint32_t (*pair)[SAM_PAIR];    // of a label that meets the bare one, where has_pair
    uint32_t (*shade)[SAM_SHADES]; // of a label where nothing is beyond it, by shares,
    bool has_pair[256], has_shades[256]; // where has_shades
    uint16_t *runs;   // of a row without lines
    uint32_t *colour; // of a row; those with alpha 0 are 0
    int num_patches;
    uint16_t patch[SAM_MAX_PATCHES]; // those that touch the band
    struct sam_mixed mixed[256];     // by hash
    struct sam_blend blend;
};

static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }

static inline uint64_t load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

// Where in memory the first byte is that has a bit.
static inline int first_byte(uint64_t word)
{
    const bool is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return (is_big ? __builtin_clzll(word) : __builtin_ctzll(word)) / 8;
}

// labels.c: where the area's columns are in the label map; the labels of a row of the area, which
// are put into `room` if they are nowhere yet.
void sam_paint_places(const struct sam_painting *p, struct sam_place *column);
const uint8_t *sam_paint_labels(const struct sam_painting *p, int y, uint8_t *room);

// lines.c. Of the bytes that its maps take, those a row takes, and those that it does not matter
// how many rows there are for.
size_t sam_lines_row_bytes(const struct sam_painting *p);
size_t sam_lines_bytes(const struct sam_painting *p);
void sam_lines_begin(struct sam_band *b, uint8_t *room);
// The colours of a row. Rows come in order.
void sam_lines_colour(struct sam_band *b, int y);

#endif // SAM_CPU_PAINT_H

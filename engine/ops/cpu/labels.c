// SPDX-License-Identifier: MIT
// The labels of a frame's rows, as they are or by a vote of the cells around. Rows have few labels
// in long runs: votes are held only where these change.

#include "ops/cpu/paint.h"

enum { AHEAD = 16 }; // rows of labels that are fetched before they are read

// Whether 32 bytes differ in one.
static bool differ(const uint8_t *a, const uint8_t *b)
{
    uint64_t bits = 0;
    for (int i = 0; i < 32; i += 8)
        bits |= load_word(a + i) ^ load_word(b + i);
    return bits;
}

// The first byte from i on that differs, or n.
static int find_difference(const uint8_t *a, const uint8_t *b, int i, int n)
{
    while (i + 32 <= n && !differ(a + i, b + i))
        i += 32;
    for (; i + 8 <= n; i += 8) {
        const uint64_t bits = load_word(a + i) ^ load_word(b + i);
        if (bits)
            return i + first_byte(bits);
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

// How many of n bytes are as the first.
static int count_same(const uint8_t *at, int n)
{
    return 1 + find_difference(at, at + 1, 0, n - 1);
}

static struct sam_place place_of(int i, int size, int cells)
{
    const int64_t t = (2 * (int64_t) i + 1) * cells * 128 / size - 128;
    if (t < 0)
        return (struct sam_place) { 0 };
    return (struct sam_place) { (uint16_t) (t >> 8), (uint8_t) t };
}

// The first pixel after x that lies in cell `cell` or later, or n.
static int find_cell(const struct sam_place *column, int x, int n, int cell)
{
    while (x + 1 < n) {
        const int middle = (x + n) / 2;
        if (column[middle].cell < cell)
            x = middle;
        else
            n = middle;
    }
    return n;
}

// Pixels between the same four cells, with a row's weight of the lower two, of 256. The heaviest
// label wins, the first of equal ones.
static void vote(const uint8_t cell[4], int lower, const struct sam_place *at, int n, uint8_t *out)
{
    const int weight[4] = { 256 - lower, 256 - lower, lower, lower };
    int left[4] = { 0 }, right[4] = { 0 };
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            (k & 1 ? right : left)[i] += cell[k] == cell[i] ? weight[k] : 0;
    for (int x = 0; x < n; x++) {
        int best = 0;
        for (int i = 0; i < 4; i++) {
            const int sum = left[i] * (256 - at[x].weight) + right[i] * at[x].weight;
            if (sum > best) {
                best = sum;
                out[x] = cell[i];
            }
        }
    }
}

static void stretch_row(const struct sam_painting *p, int y, uint8_t *out)
{
    const struct sam_labels *l = &p->o->labels;
    const int width = p->o->width;
    const struct sam_place v = place_of(p->o->y + y, p->frame->height, l->height);
    const uint8_t *upper = l->data + (size_t) v.cell * l->stride;
    const uint8_t *lower = v.cell + 1 < l->height ? upper + l->stride : upper;
    for (int x = 0, end; x < width; x = end) {
        const int left = p->column[x].cell, right = min_int(left + 1, l->width - 1);
        const uint8_t cell[4] = { upper[left], upper[right], lower[left], lower[right] };
        if (cell[0] == cell[1] && cell[0] == cell[2] && cell[0] == cell[3]) {
            const int n = min_int(count_same(upper + left, l->width - left),
                                  count_same(lower + left, l->width - left));
            end = left + n < l->width ? find_cell(p->column, x, width, left + n - 1) : width;
            memset(out + x, cell[0], (size_t) (end - x));
        } else {
            for (end = x + 1; end < width && p->column[end].cell == left;)
                end++;
            vote(cell, v.weight, p->column + x, end - x, out + x);
        }
    }
}

// Pieces of rows are too short for a processor to see that those of the next rows will be read.
const uint8_t *sam_paint_labels(const struct sam_painting *p, int y, uint8_t *room)
{
    const struct sam_labels *l = &p->o->labels;
    const int width = p->o->width, later = min_int(y + AHEAD, p->o->height - 1);
    const uint8_t *row = l->data + (size_t) (p->o->y + y) * l->stride + p->o->x;
    if (p->column) {
        stretch_row(p, y, room);
        return room;
    }
    for (int x = 0; x < width; x += SAM_CACHE_LINE)
        __builtin_prefetch(row + (size_t) (later - y) * l->stride + x);
    return row;
}

void sam_paint_places(const struct sam_painting *p, struct sam_place *column)
{
    const struct sam_overlay *o = p->o;
    for (int x = 0; x < o->width; x++)
        column[x] = place_of(o->x + x, p->frame->width, o->labels.width);
}

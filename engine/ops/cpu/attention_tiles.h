// SPDX-License-Identifier: MIT
// The products of attention_kernel.h and attention_rope.h by the tiles of AMX. Words of queries, of
// weights and of terms lie as the instructions want their second factor, pairs side by side for 16
// queries; rows of keys and of V^T are the first. Tiles are as deep and as high as what they take,
// so that nothing is read behind it.
#ifndef SAM_ATTENTION_TILES_H
#define SAM_ATTENTION_TILES_H

#include "ops/cpu/tiles.h"

enum { SIDE = SAM_TILE_SIDE, DEEP = SAM_TILE_ROW_BYTES / 4 };
_Static_assert(SAM_ROWS == SAM_TILE_SIDE && SAM_VL == SAM_TILE_SIDE, "sums are three tiles");

// Tiles 0 to 2 are sums of `rows` rows, a column each. 3 and 5 are the factors where the sum over
// `depth` words goes on for a whole tile, 4 and 6 where less is left.
static void begin_products(struct sam_attend *a, int rows, int depth)
{
    if (a->tile_rows == rows && a->tile_depth == depth)
        return;
    const int rest = depth % DEEP;
    struct sam_tile_config c = sam_tile_config(
        (const int[SAM_TILES]){ rows, rows, rows, rows, rest ? rows : 0, SIDE, rest, 0 });
    c.row_bytes[4] = (uint16_t) (rest * 4);
    sam_tiles_begin(&c);
    a->tile_rows = rows, a->tile_depth = depth;
}

static void end_products(struct sam_attend *a)
{
    a->tile_rows = a->tile_depth = 0;
    sam_tiles_end();
}

SAM_INLINE void zero_sums(int columns)
{
    sam_tile_zero(0);
    if (columns > 1)
        sam_tile_zero(1);
    if (columns > 2)
        sam_tile_zero(2);
}

SAM_INLINE void load_sums(const float *from, size_t pitch, int columns)
{
    sam_tile_load(0, from, pitch);
    if (columns > 1)
        sam_tile_load(1, from + VL, pitch);
    if (columns > 2)
        sam_tile_load(2, from + 2 * VL, pitch);
}

SAM_INLINE void store_sums(float *to, int columns)
{
    const size_t pitch = columns * VL * sizeof(float);
    sam_tile_store(0, to, pitch);
    if (columns > 1)
        sam_tile_store(1, to + VL, pitch);
    if (columns > 2)
        sam_tile_store(2, to + 2 * VL, pitch);
}

// To the sums: rows of words, `pitch` bytes apart, by the words of a panel.
SAM_INLINE void add_product(const void *rows, size_t pitch, const float *words, int depth,
                            int columns)
{
    const size_t row = columns * VL * sizeof(float);
    const char *at = rows;
    for (; depth >= DEEP; depth -= DEEP, at += 4 * DEEP, words += DEEP * columns * VL) {
        sam_tile_load(3, at, pitch);
        sam_tile_load(5, words, row);
        sam_tile_add_bf16(0, 3, 5);
        if (columns > 1) {
            sam_tile_load(5, words + VL, row);
            sam_tile_add_bf16(1, 3, 5);
        }
        if (columns > 2) {
            sam_tile_load(5, words + 2 * VL, row);
            sam_tile_add_bf16(2, 3, 5);
        }
    }
    if (depth == 0)
        return;
    sam_tile_load(4, at, pitch);
    sam_tile_load(6, words, row);
    sam_tile_add_bf16(0, 4, 6);
    if (columns > 1) {
        sam_tile_load(6, words + VL, row);
        sam_tile_add_bf16(1, 4, 6);
    }
    if (columns > 2) {
        sam_tile_load(6, words + 2 * VL, row);
        sam_tile_add_bf16(2, 4, 6);
    }
}

// Bytes from each key to the next; 0: that varies.
static size_t key_pitch(const void *const *keys, int num)
{
    const uintptr_t pitch = num > 1 ? (uintptr_t) keys[1] - (uintptr_t) keys[0] : 0;
    for (int j = 2; j < num; j++)
        if ((uintptr_t) keys[j] - (uintptr_t) keys[j - 1] != pitch)
            return 0;
    return pitch;
}

// Whole tiles of keys at a constant pitch are read from where they lie; others are copied.
static const void *const *place_keys(struct sam_attend *a, const void *const *keys, int num)
{
    const size_t bytes = (size_t) a->depth * 4;
    a->key_pitch = num % SIDE == 0 ? key_pitch(keys, num) : 0;
    if (a->key_pitch)
        return keys;
    char *dst = (char *) a->key;
    for (int j = 0; j < (num + SIDE - 1) / SIDE * SIDE; j++, dst += bytes) {
        if (j < num)
            memcpy(dst, keys[j], bytes);
        else
            memset(dst, 0, bytes);
        a->key_rows[j] = dst;
    }
    a->key_pitch = bytes;
    return a->key_rows;
}

// S^T of SIDE keys with a panel of queries.
SAM_INLINE void multiply_keys(struct sam_attend *a, float *dst, const void *const *keys,
                              const float *query, int columns)
{
    begin_products(a, SIDE, a->depth);
    zero_sums(columns);
    add_product(keys[0], a->key_pitch, query, a->depth, columns);
    store_sums(dst, columns);
}

// V^T: channels, up to a whole tile of them with zeros, by pairs of keys.
static void pack_values(struct sam_attend *a, const void *const *rows, int num)
{
    const int depth = (num + 1) / 2;
    for (int c = 0; c < a->dv; c += SIDE) {
        const int some = a->dv - c < SIDE ? a->dv - c : SIDE;
        const __mmask16 mask = (__mmask16) ((1u << some) - 1);
        for (int d = 0; d < depth; d += VL) {
            vf v[VL];
            for (int i = 0; i < VL; i++) {
                const int j = 2 * (d + i);
                vu even = { 0 }, odd = { 0 };
                if (j < num)
                    even = (vu) _mm512_cvtepu16_epi32(
                        _mm256_maskz_loadu_epi16(mask, (const sam_bf16 *) rows[j] + c));
                if (j + 1 < num)
                    odd = (vu) _mm512_cvtepu16_epi32(
                        _mm256_maskz_loadu_epi16(mask, (const sam_bf16 *) rows[j + 1] + c));
                v[i] = (vf) (even | odd << 16);
            }
            vf_transpose(v);
            for (int i = 0; i < SIDE; i++)
                vf_put(a->value + (size_t) (c + i) * depth, SAM_F32, d, v[i],
                       depth - d < VL ? depth - d : VL);
        }
    }
}

// Rows of O^T by what each query's shrink: mostly by nothing, as maxima come early.
SAM_INLINE void shrink(float *out, const float *scale, int rows, int columns)
{
    for (int c = 0; c < columns; c++) {
        const vf by = vf_load(scale + c * VL);
        if (_mm512_cmpneq_ps_mask((__m512) by, _mm512_set1_ps(1.0f)) == 0)
            continue;
        for (int v = 0; v < rows; v++) {
            float *at = out + ((size_t) v * columns + c) * VL;
            vf_store(at, vf_load(at) * by);
        }
    }
}

// O^T = scale * O^T + V^T P^T.
SAM_INLINE void multiply_values(struct sam_attend *a, float *out, const float *scale,
                                const uint32_t *value, int depth, int columns)
{
    const int width = columns * VL;
    shrink(out, scale, a->values, columns);
    begin_products(a, SIDE, depth);
    for (int v = 0; v < a->values; v += SIDE, out += SIDE * width) {
        load_sums(out, width * sizeof(float), columns);
        add_product(value + (size_t) v * depth, (size_t) depth * 4, a->score, depth, columns);
        store_sums(out, columns);
    }
}

// ---- of rope_attention

// Rows of a panel's terms at a step: words of those of the m numbers of a key, and the bias.
static int term_rows(const struct sam_rope_attend *r)
{
    return r->m / 2 + 1;
}

// Terms of rows d and d + 1 of the weight (of d alone where it is the bias, the last) at the step.
SAM_INLINE void put_terms(const struct sam_rope_attend *r, float *dst, int d, const vf *term, int c,
                          int width)
{
    if (d < r->m)
        store_pair(dst + c * VL, d, width, term[0], term[1]);
    else
        vf_store(dst + (size_t) (d / 2) * width + c * VL, term[0]);
}

// SIDE steps of an axis.
SAM_INLINE void multiply_waves(struct sam_rope_attend *r, float *dst, const void *const *waves,
                               const float *part, int columns)
{
    begin_products(&r->attend, SIDE, r->wave_depth);
    zero_sums(columns);
    add_product(waves[0], (uintptr_t) waves[1] - (uintptr_t) waves[0], part, r->wave_depth,
                columns);
    store_sums(dst, columns);
}

// S^T of `rows` keys at one place with a panel of queries, from the terms of its x and y: a key is
// multiplied with both, which takes less than to add them.
SAM_INLINE void multiply_place(struct sam_rope_attend *r, float *dst, const uint32_t *keys,
                               const float *x, const float *y, int columns, int rows)
{
    const int width = columns * VL, depth = r->m / 2;
    const size_t pitch = (size_t) depth * 4, last = (size_t) depth * width;
    _Alignas(64) float bias[COLUMNS * VL];
    for (int c = 0; c < width; c += VL)
        vf_store(bias + c, vf_load(x + last + c) + vf_load(y + last + c));
    begin_products(&r->attend, rows, depth);
    load_sums(bias, 0, columns);
    add_product(keys, pitch, x, depth, columns);
    add_product(keys, pitch, y, depth, columns);
    store_sums(dst, columns);
}

#endif // SAM_ATTENTION_TILES_H

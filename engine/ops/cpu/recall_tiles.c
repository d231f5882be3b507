// SPDX-License-Identifier: MIT
// See recall.h, by the tiles of AMX. They multiply in bf16, which says for each cell what groups of
// keys cannot have the largest product: it would have to be further from its rounded one than
// rounding takes it. The others, mostly one or two, are multiplied again in F32, as recall_match.c
// does it: so the answer is the same to the bit.

#include <math.h>

#include "ops/cpu/pairs.h"
#include "ops/cpu/recall.h"
#include "ops/cpu/tiles.h"
#include "ops/ops.h"

enum {
    SIDE = SAM_TILE_SIDE,
    GROUP = 2 * SIDE, // keys, a row of a tile each
    MANY = 12,        // cells whose F32 sums are held in registers
    FEW = 4,
    MOST_SUMS = 1 << 19, // groups x cells of a call: 2 MiB
};

// What one call has in its room.
struct places {
    char *keys;       // [GROUP][words], of the group at hand
    uint32_t *cells;  // [cells / SIDE][words][SIDE]
    float *sums;      // [GROUP][2 SIDE], those of the tiles
    float *largest;   // [groups][cells]: of each group's products in bf16
    float *least;     // [cells]: groups whose largest is below it are out
    int *which;       // [cells]: those for which a group must be multiplied again
    int words, width; // words of a row, whole tiles of them; cells, whole pairs of tiles
    int groups;
};

static struct places lay_out(const struct sam_recall *r)
{
    const int words = (r->c + 2 * SIDE - 1) / (2 * SIDE) * SIDE;
    const int width = (r->cells + 2 * SIDE - 1) / (2 * SIDE) * (2 * SIDE);
    struct places p = { .words = words, .width = width };
    p.groups = (r->num_keys + GROUP - 1) / GROUP;
    p.sums = r->room;
    p.keys = (char *) (p.sums + GROUP * 2 * SIDE);
    p.cells = (uint32_t *) (p.keys + GROUP * words * 4);
    p.least = (float *) (p.cells + (size_t) width * words);
    p.which = (int *) (p.least + width);
    p.largest = (float *) (p.which + width);
    return p;
}

// Words of SIDE cells as rows of a tile's second factor; of the cells behind the last: zeros.
static void pack_cells(const struct sam_recall *r, const struct places *p)
{
    for (int i = 0; i < p->width; i += SIDE)
        for (int d = 0; d < p->words; d += SIDE) {
            vf v[VL];
            for (int j = 0; j < SIDE; j++)
                v[j] = i + j < r->cells ? load_words(r->x + (size_t) (i + j) * r->c, SAM_F32, 2 * d,
                                                     r->c - 2 * d)
                                        : vf_set(0);
            vf_transpose(v);
            for (int j = 0; j < SIDE; j++)
                vf_store((float *) p->cells + ((size_t) i * p->words + (d + j) * SIDE), v[j]);
        }
}

// SIDE keys from the first on, `count` of them there, as rows of words. Their squares are added.
static vf pack_keys(const struct sam_recall *r, const struct places *p, int first, int count,
                    char *dst)
{
    vf square = vf_set(0);
    for (int d = 0; d < p->words; d += SIDE) {
        vf v[VL];
        for (int j = 0; j < SIDE; j++) {
            vf number[2] = { vf_set(0), vf_set(0) };
            for (int i = 0; i < 2 && 2 * (d + j) + i < r->c; i++)
                number[i] = vf_get(r->keys, SAM_F32,
                                   (size_t) (2 * (d + j) + i) * r->num_keys + first, count);
            square += number[0] * number[0] + number[1] * number[1];
            v[j] = (vf) pair_up(number[0], number[1]);
        }
        vf_transpose(v);
        for (int j = 0; j < SIDE; j++)
            vf_store((float *) (dst + ((size_t) j * p->words + d) * 4), v[j]);
    }
    return square;
}

// A group's keys; behind the last one there is that one again. Returns the largest square.
static float pack_group(const struct sam_recall *r, const struct places *p, int first)
{
    const int left = r->num_keys - first, count = left < GROUP ? left : GROUP;
    const size_t row = (size_t) p->words * 4;
    vf square = pack_keys(r, p, first, count < SIDE ? count : SIDE, p->keys);
    if (count > SIDE)
        square = vf_max(square, pack_keys(r, p, first + SIDE, count - SIDE, p->keys + SIDE * row));
    for (int i = count; i < GROUP; i++)
        memcpy(p->keys + i * row, p->keys + (count - 1) * row, row);
    float most = 0;
    for (int i = 0; i < VL; i++)
        most = square[i] > most ? square[i] : most;
    return most;
}

// Products of a group with 2 SIDE cells.
static void multiply_group(const struct places *p, const uint32_t *cells)
{
    const size_t row = (size_t) p->words * 4, next = (size_t) SIDE * p->words;
    sam_tile_zero(0);
    sam_tile_zero(1);
    sam_tile_zero(2);
    sam_tile_zero(3);
    for (int d = 0; d < p->words; d += SIDE) {
        sam_tile_load(4, p->keys + d * 4, row);
        sam_tile_load(5, p->keys + SIDE * row + d * 4, row);
        sam_tile_load(6, cells + d * SIDE, SAM_TILE_ROW_BYTES);
        sam_tile_load(7, cells + next + d * SIDE, SAM_TILE_ROW_BYTES);
        sam_tile_add_bf16(0, 4, 6);
        sam_tile_add_bf16(1, 4, 7);
        sam_tile_add_bf16(2, 5, 6);
        sam_tile_add_bf16(3, 5, 7);
    }
    sam_tile_store(0, p->sums, GROUP * 4);
    sam_tile_store(1, p->sums + SIDE, GROUP * 4);
    sam_tile_store(2, p->sums + SIDE * GROUP, GROUP * 4);
    sam_tile_store(3, p->sums + SIDE * GROUP + SIDE, GROUP * 4);
}

// Of SIDE cells, over the group. What is no number does not count, nor would it in F32.
static vf largest_of(const float *sums)
{
    vf top[4];
    for (int i = 0; i < 4; i++)
        top[i] = vf_set(-INFINITY);
    for (int k = 0; k < GROUP; k += 4)
        for (int i = 0; i < 4; i++)
            top[i] = vf_max(vf_load(sums + (k + i) * GROUP), top[i]);
    return vf_max(vf_max(top[0], top[1]), vf_max(top[2], top[3]));
}

// All groups' largest products, and the largest of all in p->least. Returns the keys' length.
static float multiply_all(const struct sam_recall *r, const struct places *p)
{
    const struct sam_tile_config config =
        sam_tile_config((const int[SAM_TILES]){ SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE });
    float longest = 0;
    for (int i = 0; i < p->width; i += SIDE)
        vf_store(p->least + i, vf_set(-INFINITY));
    sam_tiles_begin(&config);
    for (int g = 0; g < p->groups; g++) {
        const float square = pack_group(r, p, g * GROUP);
        longest = square > longest ? square : longest;
        for (int i = 0; i < p->width; i += 2 * SIDE) {
            float *to = p->largest + (size_t) g * p->width + i;
            multiply_group(p, p->cells + (size_t) i * p->words);
            for (int j = 0; j < 2 * SIDE; j += SIDE) {
                const vf most = largest_of(p->sums + j);
                vf_store(to + j, most);
                vf_store(p->least + i + j, vf_max(most, vf_load(p->least + i + j)));
            }
        }
    }
    sam_tiles_end();
    return sqrtf(longest);
}

// A number rounded to bf16 is off by 2^-8 of itself, so a product of two by less than 2^-7 + 2^-15,
// a sum of them by that part of both lengths' product; some more, as sums are rounded. Two of these
// apart, two sums may be in the other order. Tiles take the smallest numbers for zeros.
static void set_least(const struct sam_recall *r, const struct places *p, float length)
{
    for (int i = 0; i < r->cells; i++) {
        const float *x = r->x + (size_t) i * r->c;
        vf square = vf_set(0);
        for (int j = 0; j < r->c; j += VL) {
            const vf part = vf_get(x, SAM_F32, j, r->c - j < VL ? r->c - j : VL);
            square += part * part;
        }
        const float own = sqrtf(vf_sum(square));
        p->least[i] -= 2 * 0x1.1p-7f * (own + 0x1p-100f) * (length + 0x1p-100f) + 0x1p-110f;
    }
}

// The cells for which a group may have the largest product. Where something is no number, it may.
static int find_cells(const struct sam_recall *r, const struct places *p, int g)
{
    const float *largest = p->largest + (size_t) g * p->width;
    int count = 0;
    for (int i = 0; i < r->cells; i += SIDE) {
        const __mmask16 there = r->cells - i < SIDE ? (1u << (r->cells - i)) - 1 : 0xffff;
        const __mmask16 out = _mm512_cmp_ps_mask((__m512) vf_load(largest + i),
                                                 (__m512) vf_load(p->least + i), _CMP_LT_OQ);
        for (unsigned in = there & ~out; in; in &= in - 1)
            p->which[count++] = i + __builtin_ctz(in);
    }
    return count;
}

static void keep_larger(const struct sam_recall *r, int cell, vf sum, int key, __mmask16 there)
{
    const __m512 x = (__m512) sum;
    const __mmask16 larger =
        _mm512_mask_cmp_ps_mask(there, x, _mm512_set1_ps(r->most[cell]), _CMP_GT_OQ);
    if (!larger)
        return;
    const float most = _mm512_mask_reduce_max_ps(larger, x);
    const unsigned equal = _mm512_mask_cmp_ps_mask(larger, x, _mm512_set1_ps(most), _CMP_EQ_OQ);
    r->most[cell] = most;
    r->best[cell] = key + __builtin_ctz(equal);
}

// A group's vectors: whole, or with as many keys as are left. What recall_match.c does not fuse is
// not fused here.
struct part {
    __mmask16 there;
    bool fused;
};

static struct part part_of(int left)
{
    return left >= VL ? (struct part){ 0xffff, true }
                      : (struct part){ left > 0 ? (1u << left) - 1 : 0, false };
}

// The group's products with `count` cells in F32. What `low` and `high` say of fusing, and count,
// are constant where this is inlined.
SAM_INLINE void match_group(const struct sam_recall *r, const int *which, int count, int first,
                            struct part low, struct part high)
{
    vf sum[MANY][2];
    const float *x[MANY];
    for (int i = 0; i < count; i++) {
        sum[i][0] = sum[i][1] = vf_set(0);
        x[i] = r->x + (size_t) which[i] * r->c;
    }
    for (int j = 0; j < r->c; j++) {
        const float *key = r->keys + (size_t) j * r->num_keys + first;
        const vf a = (vf) _mm512_maskz_loadu_ps(low.there, key);
        const vf b = (vf) _mm512_maskz_loadu_ps(high.there, key + VL);
        for (int i = 0; i < count; i++) {
            sum[i][0] += low.fused ? x[i][j] * a : vf_rounded(x[i][j] * a);
            sum[i][1] += high.fused ? x[i][j] * b : vf_rounded(x[i][j] * b);
        }
    }
    for (int i = 0; i < count; i++) {
        keep_larger(r, which[i], sum[i][0], first, low.there);
        keep_larger(r, which[i], sum[i][1], first + VL, high.there);
    }
}

static void match_few(const struct sam_recall *r, const int *which, int first)
{
    struct part low = part_of(r->num_keys - first), high = part_of(r->num_keys - first - VL);
    if (low.fused && high.fused) {
        low.fused = high.fused = true; // now constants
        match_group(r, which, FEW, first, low, high);
    } else if (low.fused) {
        low.fused = true, high.fused = false;
        match_group(r, which, FEW, first, low, high);
    } else {
        low.fused = high.fused = false;
        match_group(r, which, FEW, first, low, high);
    }
}

static void match_cells(const struct sam_recall *r, int *which, int count, int first)
{
    const struct part whole = { 0xffff, true };
    int i = 0;
    for (; i + MANY <= count && first + GROUP <= r->num_keys; i += MANY)
        match_group(r, which + i, MANY, first, whole, whole);
    for (; i < count; i += FEW) {
        for (int j = count; j < i + FEW; j++)
            which[j] = which[count - 1]; // again, which changes nothing
        match_few(r, which + i, first);
    }
}

void sam_recall_match_amx(const struct sam_recall *r)
{
    struct places p = lay_out(r);
    if ((int64_t) p.groups * p.width > MOST_SUMS) {
        sam_recall_match_avx512(r); // far more than any model's
        return;
    }
    pack_cells(r, &p);
    set_least(r, &p, multiply_all(r, &p));
    for (int i = 0; i < r->cells; i++)
        r->most[i] = -1e30f, r->best[i] = -1;
    for (int g = 0; g < p.groups; g++)
        match_cells(r, p.which, find_cells(r, &p, g), g * GROUP);
}

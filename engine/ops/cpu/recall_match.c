// SPDX-License-Identifier: MIT
// See recall.h. A tile is some cells by two vectors of keys, or one.

#include "ops/cpu/recall.h"
#include "ops/cpu/vec.h"

enum { CELLS = SAM_TILE_ROWS };

// Of each lane: the largest product so far, and the key's number, exact below 2^24.
struct found {
    vf most[CELLS], at[CELLS];
};

SAM_INLINE void multiply(vf sum[CELLS][2], const float *x, const float *keys, size_t num_keys,
                         int c, int vectors)
{
    for (int i = 0; i < CELLS; i++)
        for (int v = 0; v < vectors; v++)
            sum[i][v] = vf_set(0);
    for (int j = 0; j < c; j++, keys += num_keys)
        for (int v = 0; v < vectors; v++) {
            const vf key = vf_load(keys + v * VL);
            for (int i = 0; i < CELLS; i++)
                sum[i][v] += x[i * c + j] * key;
        }
}

SAM_INLINE void keep_larger(struct found *f, vf sum[CELLS][2], vf at, int vectors)
{
    for (int v = 0; v < vectors; v++, at += (float) VL)
        for (int i = 0; i < CELLS; i++) {
            const vi larger = sum[i][v] > f->most[i];
            f->most[i] = vf_select(larger, sum[i][v], f->most[i]);
            f->at[i] = vf_select(larger, at, f->at[i]);
        }
}

// Whole tiles: x has CELLS cells.
static int match_vectors(struct found *f, const float *x, const float *keys, int num_keys, int c)
{
    vf sum[CELLS][2], lane = vf_set(0);
    int k = 0;
    for (int i = 0; i < VL; i++)
        lane[i] = (float) i;
    for (; k + 2 * VL <= num_keys; k += 2 * VL) {
        multiply(sum, x, keys + k, (size_t) num_keys, c, 2);
        keep_larger(f, sum, lane + (float) k, 2);
    }
    for (; k + VL <= num_keys; k += VL) {
        multiply(sum, x, keys + k, (size_t) num_keys, c, 1);
        keep_larger(f, sum, lane + (float) k, 1);
    }
    return k;
}

// Products with the keys behind the vectors.
static vf match_rest(const float *x, const float *keys, size_t num_keys, int c, int count)
{
    vf sum = vf_set(0);
    for (int j = 0; j < c; j++)
        sum += vf_rounded(x[j] * vf_get(keys, SAM_F32, j * num_keys, count));
    return sum;
}

// The largest of all lanes and of the keys behind the vectors.
static void end_cell(vf most, vf at, const float *x, const float *keys, int from, int num_keys,
                     int c, float *largest, int *best)
{
    *largest = -1e30f;
    *best = -1;
    for (int l = 0; l < VL; l++)
        if (at[l] >= 0 && (most[l] > *largest || (most[l] == *largest && at[l] < (float) *best))) {
            *largest = most[l];
            *best = (int) at[l];
        }
    if (from == num_keys)
        return;
    const vf rest = match_rest(x, keys + from, (size_t) num_keys, c, num_keys - from);
    for (int l = 0; l < num_keys - from; l++)
        if (rest[l] > *largest)
            *largest = rest[l], *best = from + l;
}

void SAM_LEVEL(sam_recall_match)(const struct sam_recall *r)
{
    const int c = r->c;
    float rest[CELLS * SAM_MAX_RIDGE];
    for (int begin = 0; begin < r->cells; begin += CELLS) {
        const int count = r->cells - begin < CELLS ? r->cells - begin : CELLS;
        const float *own = r->x + (size_t) begin * c;
        struct found f;
        if (count < CELLS) {
            memset(rest, 0, (size_t) CELLS * c * sizeof(*rest));
            memcpy(rest, own, (size_t) count * c * sizeof(*rest));
            own = rest;
        }
        for (int i = 0; i < CELLS; i++)
            f.most[i] = vf_set(-1e30f), f.at[i] = vf_set(-1);
        const int from = match_vectors(&f, own, r->keys, r->num_keys, c);
        for (int i = 0; i < count; i++)
            end_cell(f.most[i], f.at[i], own + i * c, r->keys, from, r->num_keys, c,
                     &r->most[begin + i], &r->best[begin + i]);
    }
}

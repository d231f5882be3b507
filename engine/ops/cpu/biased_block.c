// SPDX-License-Identifier: MIT
// See biased.h. Both products of attention keep a tile of eight rows by a vector in registers.

#include "ops/cpu/biased.h"
#include "ops/cpu/vec.h"

#pragma GCC diagnostic ignored "-Wpsabi"

enum { ROWS = SAM_BIASED_ROWS };

// total[i] += sum over k of a[i][k] b[k], for a vector b[k] of each k.
SAM_INLINE void multiply(vf total[ROWS], const float *a, size_t a_pitch, const float *b,
                         size_t b_pitch, int depth)
{
    vf sum[ROWS];
    for (int i = 0; i < ROWS; i++)
        sum[i] = total[i];
    for (int k = 0; k < depth; k++) {
        const vf right = vf_load(b + (size_t) k * b_pitch);
        for (int i = 0; i < ROWS; i++)
            sum[i] += vf_set(a[i * a_pitch + k]) * right;
    }
    for (int i = 0; i < ROWS; i++)
        total[i] = sum[i];
}

// out += or = the product, for `columns` of them.
static void multiply_rows(float *out, size_t out_pitch, const float *a, size_t a_pitch,
                          const float *b, size_t b_pitch, int columns, int depth)
{
    for (int c = 0; c < columns; c += VL) {
        vf total[ROWS];
        for (int i = 0; i < ROWS; i++)
            total[i] = vf_load(out + i * out_pitch + c);
        multiply(total, a, a_pitch, b + c, b_pitch, depth);
        for (int i = 0; i < ROWS; i++)
            vf_store(out + i * out_pitch + c, total[i]);
    }
}

// The row's scores become weights, and what was summed up before fades.
static void weigh_row(const struct sam_biased *b, int row)
{
    float *score = b->score + (size_t) row * b->pitch, *out = b->out + (size_t) row * b->wide;
    vf most = vf_set(b->largest[row]), sum = { 0 };

    for (int j = 0; j < b->pitch; j += VL)
        most = vf_max(most, vf_load(score + j));
    float largest = most[0];
    for (int i = 1; i < VL; i++)
        largest = most[i] > largest ? most[i] : largest;
    for (int j = 0; j < b->pitch; j += VL) {
        const vf weight = vf_exp(vf_load(score + j) - largest);
        sum += weight;
        vf_store(score + j, weight);
    }
    const vf fade = vf_exp(vf_set(b->largest[row] - largest));
    for (int c = 0; c < b->wide; c += VL)
        vf_store(out + c, vf_load(out + c) * fade);
    b->sum[row] = b->sum[row] * fade[0] + vf_sum(sum);
    b->largest[row] = largest;
}

void SAM_LEVEL(sam_biased_block)(const struct sam_biased *b)
{
    for (int row = 0; row < b->rows; row += ROWS) {
        float *score = b->score + (size_t) row * b->pitch;
        multiply_rows(score, b->pitch, b->query + (size_t) row * b->dim, b->dim, b->key, b->pitch,
                      b->pitch, b->dim);
        for (int i = 0; i < ROWS; i++)
            weigh_row(b, row + i);
        multiply_rows(b->out + (size_t) row * b->wide, b->wide, score, b->pitch, b->value, b->wide,
                      b->wide, b->keys);
    }
}

// SPDX-License-Identifier: MIT
// See mask_norm.h. A lane is a position, so that the norm of a position's few channels needs no
// other lane, and no part of a vector is left empty.

#include "ops/cpu/mask_norm.h"

#include "ops/cpu/pairs.h"

enum { CHANNELS = SAM_MASK_CHANNELS };

// The numbers of each word as floats: that of the even column, or of the odd one.
SAM_INLINE vf even_of(vu words)
{
    return (vf) (words << 16);
}

SAM_INLINE vf odd_of(vu words)
{
    return (vf) (words & 0xffff0000u);
}

// Every second number from `at` on.
SAM_INLINE vf load_columns(const float *row, long at)
{
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return (vf) _mm512_permutex2var_ps((__m512) vf_load(row + at), even,
                                       (__m512) vf_load(row + at + VL));
}

SAM_INLINE void convolve(const struct sam_mask_norm *m, int x, vf sum[CHANNELS])
{
    for (int o = 0; o < CHANNELS; o++)
        sum[o] = vf_set(0);
    for (int ky = 0; ky < 3; ky++)
        for (int kx = 0; kx < 3; kx++) {
            const vf column = load_columns(m->rows[ky], 2L * x - 1 + kx);
            for (int o = 0; o < CHANNELS; o++)
                sum[o] += column * m->weight[o][ky * 3 + kx];
        }
    for (int o = 0; o < CHANNELS; o++)
        sum[o] += m->bias[o];
}

// As it is where the map in between is stored.
SAM_INLINE void round_pair(vf *a, vf *b)
{
    const vu pairs = (vu) pair_up(*a, *b);
    *a = even_of(pairs), *b = odd_of(pairs);
}

SAM_INLINE void normalize(const struct sam_mask_norm *m, vf x[CHANNELS])
{
    vf mean = vf_set(0), square = vf_set(0);
    for (int o = 0; o < CHANNELS; o++)
        mean += x[o];
    mean *= 1.0f / CHANNELS;
    for (int o = 0; o < CHANNELS; o++) {
        x[o] -= mean;
        square += x[o] * x[o];
    }
    const vf scale = 1.0f / (vf) _mm512_sqrt_ps((__m512) (square * (1.0f / CHANNELS) + m->eps));
    for (int o = 0; o < CHANNELS; o++)
        x[o] = x[o] * scale * m->gamma[o] + m->beta[o];
}

// Words of channels 0 and 1, and of 2 and 3, in the order of memory.
SAM_INLINE void store(uint16_t *dst, __m512i low, __m512i high, int count)
{
    const __m512i first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    const uint32_t some = count < VL ? (1u << 2 * count) - 1 : 0xffffffffu;
    _mm512_mask_storeu_epi32(dst, (__mmask16) some, _mm512_permutex2var_epi32(low, first, high));
    _mm512_mask_storeu_epi32(dst + 2 * VL, (__mmask16) (some >> 16),
                             _mm512_permutex2var_epi32(low, second, high));
}

SAM_INLINE void make_row(const struct sam_mask_norm *m, enum sam_act act)
{
    for (int x = 0; x < m->width; x += VL) {
        vf sum[CHANNELS];
        convolve(m, x, sum);
        round_pair(&sum[0], &sum[1]);
        round_pair(&sum[2], &sum[3]);
        normalize(m, sum);
        for (int o = 0; o < CHANNELS; o++)
            sum[o] = vf_act(sum[o], act);
        store(m->dst + (size_t) x * CHANNELS, pair_up(sum[0], sum[1]), pair_up(sum[2], sum[3]),
              m->width - x);
    }
}

void sam_mask_norm_bf16(const struct sam_mask_norm *m)
{
    switch (m->act) {
    case SAM_ACT_GELU: make_row(m, SAM_ACT_GELU); break;
    case SAM_ACT_SILU: make_row(m, SAM_ACT_SILU); break;
    default: make_row(m, SAM_ACT_NONE); break;
    }
}

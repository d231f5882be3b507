// SPDX-License-Identifier: MIT
// The words of attention's kernels in bf16: pairs of numbers that are multiplied two at a time into
// sums of floats. Included by a kernel, before attention_kernel.h.
#ifndef SAM_ATTENTION_PAIRS_H
#define SAM_ATTENTION_PAIRS_H

#include "ops/cpu/attention.h"
#include "ops/cpu/pairs.h"

enum { PAIRS = 1 };

static inline vf vf_mac(vf sum, const void *word, vf b)
{
    int pair;
    memcpy(&pair, word, sizeof(pair));
    return (vf) _mm512_dpbf16_ps((__m512) sum, (__m512bh) _mm512_set1_epi32(pair), (__m512bh) b);
}

static inline vf negate_words(vf v)
{
    return (vf) ((vu) v ^ 0x80008000u);
}

static void convert(uint32_t *dst, const void *row, enum sam_type type, int n)
{
    for (int i = 0; i < n; i += 2 * VL) {
        const int words = (n - i + 1) / 2 < VL ? (n - i + 1) / 2 : VL;
        vf_put(dst, SAM_F32, i / 2, load_words(row, type, i, n - i), words);
    }
}

// 2^x to 7.5e-5, well inside the 2e-3 of a bf16; far below zero it is 0.
static inline vf rough_exp2(vf x)
{
    const vf n = vf_round(x), r = x - n;
    vf y = vf_set(0x1.c3f760p-5f);
    y = y * r + 0x1.f0de1ap-3f;
    y = y * r + 0x1.62f31ap-1f;
    y = y * r + 0x1.fff692p-1f;
    return vf_scale(y, n);
}

// Channels d and d + 1 of a column as words: rows of words are `width` apart.
static inline void store_pair(float *dst, int d, int width, vf even, vf odd)
{
    vf_store(dst + (size_t) (d / 2) * width, (vf) pair_up(even, odd));
}

// Channels d and d + 1 of a column where sums are to become words: so that narrowing alone pairs
// them, they lie side by side, the lower half of the queries first.
static inline void store_terms(float *dst, int d, int width, vf even, vf odd)
{
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    dst += (size_t) d * width;
    vf_store(dst, (vf) _mm512_permutex2var_ps((__m512) even, low, (__m512) odd));
    vf_store(dst + VL, (vf) _mm512_permutex2var_ps((__m512) even, high, (__m512) odd));
}

// The sum of two terms as a word.
static inline vf add_terms(const float *a, const float *b)
{
    return (vf) narrow(vf_load(a) + vf_load(b), vf_load(a + VL) + vf_load(b + VL));
}

// One column of scores, width apart, to weights in place, two keys to a word. The sum is that
// of the rounded weights (by the same instruction that will use them): so they are an exact
// partition of one, and what all values share passes unharmed.
static inline vf weigh(float *score, int width, int num, vf exponent, vf max)
{
    const __m512bh ones = (__m512bh) _mm512_set1_epi32(0x3f803f80);
    const vf shift = 0.0f - max;
    vf sum = vf_set(0.0f);
    float *dst = score;
    for (int j = 0; j < num; j += 2, score += 2 * width, dst += width) {
        const vf even = rough_exp2(vf_load(score) * exponent + shift);
        const vf odd =
            j + 1 < num ? rough_exp2(vf_load(score + width) * exponent + shift) : vf_set(0.0f);
        const __m512i pairs = pair_up(even, odd);
        sum = (vf) _mm512_dpbf16_ps((__m512) sum, (__m512bh) pairs, ones);
        vf_store(dst, (vf) pairs);
    }
    return sum;
}

#endif // SAM_ATTENTION_PAIRS_H

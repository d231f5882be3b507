// SPDX-License-Identifier: MIT
// The kernel of attention whose words are floats; compiled once per level.
#include "ops/cpu/attention.h"
#include "ops/cpu/vec.h"

enum { PAIRS = 0 };

static inline vf vf_mac(vf sum, const void *word, vf b)
{
    return vf_set(*(const float *) word) * b + sum;
}

static inline vf load_words(const void *row, enum sam_type type, int at, int n)
{
    return vf_get(row, type, at, n < VL ? n : VL);
}

static inline vf negate_words(vf v)
{
    return 0.0f - v;
}

static void convert(uint32_t *dst, const void *row, enum sam_type type, int n)
{
    for (int i = 0; i < n; i += VL) {
        const int some = n - i < VL ? n - i : VL;
        vf_put(dst, SAM_F32, i, vf_get(row, type, i, some), some);
    }
}

// Values by groups of SAM_ROWS channels, as the rows of the product P V stand beside each other.
static void pack_values(struct sam_attend *a, const void *const *rows, int num)
{
    for (int c = 0; c < a->dv; c += SAM_ROWS) {
        float *dst = (float *) a->value + (size_t) c * num;
        const int some = a->dv - c < SAM_ROWS ? a->dv - c : SAM_ROWS;
        for (int j = 0; j < num; j++, dst += SAM_ROWS) {
            const float *src = (const float *) rows[j] + c;
            if (some == SAM_ROWS) {
                memcpy(dst, src, SAM_ROWS * sizeof(float));
            } else {
                for (int i = 0; i < SAM_ROWS; i++)
                    dst[i] = i < some ? src[i] : 0.0f;
            }
        }
    }
}

// One column of scores, width apart, to weights in place: p = 2^(exponent s - max).
// Returns the sum over the keys.
static inline vf weigh(float *score, int width, int num, vf exponent, vf max)
{
    const vf shift = 0.0f - max;
    vf sum = vf_set(0.0f);
    for (int j = 0; j < num; j++, score += width) {
        const vf p = vf_exp2(vf_load(score) * exponent + shift);
        vf_store(score, p);
        sum = sum + p;
    }
    return sum;
}

// Channels d and d + 1 of a column, `width` apart, as words.
static inline void store_pair(float *dst, int d, int width, vf even, vf odd)
{
    vf_store(dst + (size_t) d * width, even);
    vf_store(dst + (size_t) (d + 1) * width, odd);
}

// Channels d and d + 1 of a column where sums are to become words: vector i of them.
static inline void store_terms(float *dst, int d, int width, vf even, vf odd)
{
    store_pair(dst, d, width, even, odd);
}

// The sum of two terms as a word.
static inline vf add_terms(const float *a, const float *b)
{
    return vf_load(a) + vf_load(b);
}

#include "ops/cpu/attention_kernel.h"

const struct sam_attention_kernel SAM_LEVEL(sam_attention) = SAM_ATTENTION_KERNEL;

// The words of a kernel are floats. After a vec header, before attention_kernel.h.
#ifndef SAM_ATTENTION_FLOAT_H
#define SAM_ATTENTION_FLOAT_H

#include "ops/cpu/attention.h"

enum { PAIRS = 0 };

static inline vec vec_mac(vec sum, const void *word, vec b)
{
    return vec_fma(vec_set1(*(const float *) word), b, sum);
}

static inline vec load_words(const void *row, enum sam_type type, int at, int n)
{
    return vec_load_some(row, type, at, n < LANES ? n : LANES);
}

static inline vec negate_words(vec v)
{
    return vec_sub(vec_set1(0.0f), v);
}

static void convert(uint32_t *dst, const void *row, enum sam_type type, int n)
{
    for (int i = 0; i < n; i += LANES) {
        const int some = n - i < LANES ? n - i : LANES;
        vec_store_some(dst, SAM_F32, i, some, vec_load_some(row, type, i, some));
    }
}

// Values by groups of ROWS channels, as the rows of the product P V stand beside each other.
static void pack_values(struct sam_attend *a, const void *const *rows, int num)
{
    for (int c = 0; c < a->dv; c += ROWS) {
        float *dst = (float *) a->value + (size_t) c * num;
        const int some = a->dv - c < ROWS ? a->dv - c : ROWS;
        for (int j = 0; j < num; j++, dst += ROWS) {
            const float *src = (const float *) rows[j] + c;
            if (some == ROWS) {
                memcpy(dst, src, ROWS * sizeof(float));
            } else {
                for (int i = 0; i < ROWS; i++)
                    dst[i] = i < some ? src[i] : 0.0f;
            }
        }
    }
}

// One column of scores, width apart, to weights in place: p = 2^(exponent s - max).
// Returns the sum over the keys.
static inline vec weigh(float *score, int width, int num, vec exponent, vec max)
{
    const vec shift = vec_sub(vec_set1(0.0f), max);
    vec sum = vec_set1(0.0f);
    for (int j = 0; j < num; j++, score += width) {
        const vec p = vec_exp2(vec_fma(vec_load(score), exponent, shift));
        vec_store(score, p);
        sum = vec_add(sum, p);
    }
    return sum;
}

// Channels d and d + 1 of a column, `width` apart, as words.
static inline void store_pair(float *dst, int d, int width, vec even, vec odd)
{
    vec_store(dst + (size_t) d * width, even);
    vec_store(dst + (size_t) (d + 1) * width, odd);
}

// Channels d and d + 1 of a column where sums are to become words: vector i of them.
static inline void store_terms(float *dst, int d, int width, vec even, vec odd)
{
    store_pair(dst, d, width, even, odd);
}

// The sum of two terms as a word.
static inline vec add_terms(const float *a, const float *b)
{
    return vec_add(vec_load(a), vec_load(b));
}

#endif // SAM_ATTENTION_FLOAT_H

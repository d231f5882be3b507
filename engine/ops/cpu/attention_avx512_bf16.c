// Words are pairs of bf16, multiplied two at a time into sums of floats (VDPBF16PS).
#include "ops/cpu/attention_vec_avx512.h"

enum { PAIRS = 1 };

#include "ops/cpu/attention.h"

static inline __m512bh as_pairs(vec v)
{
    return (__m512bh) v;
}

static inline vec vec_mac(vec sum, const void *word, vec b)
{
    int pair;
    memcpy(&pair, word, sizeof(pair));
    return _mm512_dpbf16_ps(sum, (__m512bh) _mm512_set1_epi32(pair), as_pairs(b));
}

// Two vectors of floats as one of bf16, a first.
static inline __m512i narrow(vec a, vec b)
{
    return (__m512i) _mm512_cvtne2ps_pbh(b, a);
}

static inline vec load_words(const void *row, enum sam_type type, int at, int n)
{
    n = n < 2 * LANES ? n : 2 * LANES;
    if (type == SAM_BF16) {
        const __mmask32 some = (__mmask32) ((1ull << n) - 1);
        return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(some, (const sam_bf16 *) row + at));
    }
    const int low = n < LANES ? n : LANES;
    return _mm512_castsi512_ps(narrow(vec_load_some(row, type, at, low),
                                      vec_load_some(row, type, at + low, n - low)));
}

static inline vec negate_words(vec v)
{
    return _mm512_castsi512_ps(
        _mm512_xor_si512(_mm512_castps_si512(v), _mm512_set1_epi32((int) 0x80008000)));
}

static void convert(uint32_t *dst, const void *row, enum sam_type type, int n)
{
    for (int i = 0; i < n; i += 2 * LANES) {
        const int words = (n - i + 1) / 2 < LANES ? (n - i + 1) / 2 : LANES;
        _mm512_mask_storeu_ps(dst + i / 2, (__mmask16) ((1u << words) - 1),
                              load_words(row, type, i, n - i));
    }
}

// Values by groups of ROWS channels, two keys to a word; zeros beside an odd last key.
static void pack_values(struct sam_attend *a, const void *const *rows, int num)
{
    const int depth = (num + 1) / 2;
    for (int c = 0; c < a->dv; c += ROWS) {
        uint32_t *dst = a->value + (size_t) c * depth;
        const int some = a->dv - c < ROWS ? a->dv - c : ROWS;
        const __mmask8 mask = (__mmask8) ((1u << some) - 1);
        for (int j = 0; j < num; j += 2, dst += ROWS) {
            const __m128i even = _mm_maskz_loadu_epi16(mask, (const sam_bf16 *) rows[j] + c);
            const __m128i odd = j + 1 < num
                ? _mm_maskz_loadu_epi16(mask, (const sam_bf16 *) rows[j + 1] + c)
                : _mm_setzero_si128();
            _mm_storeu_si128((__m128i *) dst, _mm_unpacklo_epi16(even, odd));
            _mm_storeu_si128((__m128i *) dst + 1, _mm_unpackhi_epi16(even, odd));
        }
    }
}

// 2^x to 7.5e-5, well inside the 2e-3 of a bf16; far below zero it is 0.
static inline vec rough_exp2(vec x)
{
    const vec n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const vec r = vec_sub(x, n);
    vec y = vec_set1(0x1.c3f760p-5f);
    y = vec_fma(y, r, vec_set1(0x1.f0de1ap-3f));
    y = vec_fma(y, r, vec_set1(0x1.62f31ap-1f));
    y = vec_fma(y, r, vec_set1(0x1.fff692p-1f));
    return _mm512_scalef_ps(y, n);
}

// Lane i of the result: a[i], b[i].
static inline __m512i pair_up(vec a, vec b)
{
    const __m512i pick = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9,
                                          24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
                                          16, 0);
    return _mm512_permutexvar_epi16(pick, narrow(a, b));
}

// Channels d and d + 1 of a column as words: rows of words are `width` apart.
static inline void store_pair(float *dst, int d, int width, vec even, vec odd)
{
    vec_store(dst + (size_t) (d / 2) * width, _mm512_castsi512_ps(pair_up(even, odd)));
}

// Channels d and d + 1 of a column where sums are to become words: so that narrowing alone pairs
// them, they lie side by side, the lower half of the queries first.
static inline void store_terms(float *dst, int d, int width, vec even, vec odd)
{
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    dst += (size_t) d * width;
    vec_store(dst, _mm512_permutex2var_ps(even, low, odd));
    vec_store(dst + LANES, _mm512_permutex2var_ps(even, high, odd));
}

// The sum of two terms as a word.
static inline vec add_terms(const float *a, const float *b)
{
    return _mm512_castsi512_ps(narrow(vec_add(vec_load(a), vec_load(b)),
                                      vec_add(vec_load(a + LANES), vec_load(b + LANES))));
}

// One column of scores, width apart, to weights in place, two keys to a word. The sum is that
// of the rounded weights (by the same instruction that will use them): so they are an exact
// partition of one, and what all values share passes unharmed.
static inline vec weigh(float *score, int width, int num, vec exponent, vec max)
{
    const __m512bh ones = (__m512bh) _mm512_set1_epi32(0x3f803f80);
    const vec shift = vec_sub(vec_set1(0.0f), max);
    vec sum = vec_set1(0.0f);
    float *dst = score;
    for (int j = 0; j < num; j += 2, score += 2 * width, dst += width) {
        const vec even = rough_exp2(vec_fma(vec_load(score), exponent, shift));
        const vec odd = j + 1 < num
            ? rough_exp2(vec_fma(vec_load(score + width), exponent, shift))
            : vec_set1(0.0f);
        const __m512i pairs = pair_up(even, odd);
        sum = _mm512_dpbf16_ps(sum, (__m512bh) pairs, ones);
        vec_store(dst, _mm512_castsi512_ps(pairs));
    }
    return sum;
}

#include "ops/cpu/attention_kernel.h"

const struct sam_attention_kernel sam_attention_avx512_bf16 = SAM_ATTENTION_KERNEL;

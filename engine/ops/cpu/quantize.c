// SPDX-License-Identifier: MIT
// Rows of numbers rounded for products in int8: see sam_matrix and gemm.h. Compiled so that no
// product and sum become one instruction: every level rounds alike. Fours are for VNNI.

#include <math.h>

#include "ops/cpu/gemm.h"
#include "ops/cpu/vec.h"

SAM_INLINE vi larger(vi a, vi b)
{
#if defined(__AVX512F__)
    return (vi) _mm512_max_epi32((__m512i) a, (__m512i) b);
#elif defined(__AVX2__)
    return (vi) _mm256_max_epi32((__m256i) a, (__m256i) b);
#else
    const vi mask = a > b;
    return (mask & a) | (~mask & b);
#endif
}

// To the nearest integer, ties to even; |x| < 2^22.
SAM_INLINE vi to_integer(vf x)
{
#if defined(__AVX512F__)
    return (vi) _mm512_cvtps_epi32((__m512) x);
#elif defined(__AVX2__)
    return (vi) _mm256_cvtps_epi32((__m256) x);
#else
    return (vi) (x + 12582912.0f) - 0x4b400000; // 1.5 * 2^23: as in vf_exp()
#endif
}

// Magnitudes are compared as integers: so a NaN is larger than infinity.
SAM_INLINE int32_t largest_lane(vi v)
{
#if defined(__AVX512F__)
    return _mm512_reduce_max_epi32((__m512i) v);
#else
    int32_t largest = v[0];
    for (int l = 1; l < VL; l++)
        largest = v[l] > largest ? v[l] : largest;
    return largest;
#endif
}

SAM_INLINE float find_largest(struct sam_span src, size_t count)
{
    const vi magnitude = (vi) { 0 } + 0x7fffffff;
    const size_t whole = count / VL * VL;
    vi most = { 0 };
    for (size_t i = 0; i < whole; i += VL)
        most = larger(most, (vi) vf_get(src.data, src.type, i, VL) & magnitude);
    if (whole < count)
        most = larger(most, (vi) vf_get(src.data, src.type, whole, (int) (count - whole)) &
                                magnitude);
    const int32_t largest = largest_lane(most);
    float x;
    memcpy(&x, &largest, sizeof(x));
    return x;
}

// gcc would convert vectors number by number.
SAM_INLINE void put(void *dst, int group, size_t i, vi q)
{
#if defined(__AVX512F__)
    if (group == 4)
        _mm_storeu_si128((__m128i *) ((uint8_t *) dst + i),
                         _mm512_cvtepi32_epi8((__m512i) (q + 128)));
    else
        _mm256_storeu_si256((__m256i *) ((int16_t *) dst + i), _mm512_cvtepi32_epi16((__m512i) q));
#elif defined(__AVX2__)
    const __m256i words = (__m256i) (group == 4 ? q + 128 : q);
    const __m256i both = _mm256_packs_epi32(words, words);
    const __m128i halves = _mm256_castsi256_si128(_mm256_permute4x64_epi64(both, 0x08));
    if (group == 4)
        _mm_storel_epi64((__m128i *) ((uint8_t *) dst + i), _mm_packus_epi16(halves, halves));
    else
        _mm_storeu_si128((__m128i *) ((int16_t *) dst + i), halves);
#else
    for (int l = 0; l < VL; l++)
        ((int16_t *) dst)[i + l] = (int16_t) q[l];
#endif
}

SAM_INLINE void quantize_as(void *dst, enum sam_type type, const void *src, int group, size_t count)
{
    const size_t groups = (count + group - 1) / group * group, whole = count / VL * VL;
    const float largest = find_largest((struct sam_span) { (void *) src, type }, count);
    float step = 0, inverse = 0;
    if (largest >= 0x1p-100f && largest < INFINITY)
        step = largest / 127, inverse = 127 / largest;
    if (!(largest < INFINITY)) { // no number of it is looked at
        step = NAN;
        memset(dst, 0, groups * (4 / group));
    } else {
        for (size_t i = 0; i < whole; i += VL)
            put(dst, group, i, to_integer(vf_get(src, type, i, VL) * inverse));
        if (whole < count)
            put(dst, group, whole,
                to_integer(vf_get(src, type, whole, (int) (count - whole)) * inverse));
    }
    memcpy((char *) dst + groups * (4 / group), &step, sizeof(step));
}

void SAM_LEVEL(sam_quantize_pairs)(void *dst, struct sam_span src, size_t count)
{
    if (src.type == SAM_F32)
        quantize_as(dst, SAM_F32, src.data, 2, count);
    else
        quantize_as(dst, SAM_BF16, src.data, 2, count);
}

#ifdef __AVX2__
void SAM_LEVEL(sam_quantize_fours)(void *dst, struct sam_span src, size_t count)
{
    if (src.type == SAM_F32)
        quantize_as(dst, SAM_F32, src.data, 4, count);
    else
        quantize_as(dst, SAM_BF16, src.data, 4, count);
}
#endif

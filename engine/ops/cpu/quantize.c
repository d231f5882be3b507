// SPDX-License-Identifier: MIT
// Rows of numbers rounded for products in int8: see sam_matrix and gemm.h. Compiled so that no
// product and sum become one instruction: every level rounds alike. Fours are for VNNI; for arm64
// they have a sign, as eights do.

#include <math.h>

#include "ops/cpu/gemm.h"
#include "ops/cpu/vec.h"

SAM_INLINE vi larger(vi a, vi b)
{
#if defined(__AVX512F__)
    return (vi) _mm512_max_epi32((__m512i) a, (__m512i) b);
#elif defined(__AVX2__)
    return (vi) _mm256_max_epi32((__m256i) a, (__m256i) b);
#elif defined(SAM_NEON)
    return (vi) vmaxq_s32((int32x4_t) a, (int32x4_t) b);
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
#elif defined(SAM_NEON)
    return (vi) vcvtnq_s32_f32((float32x4_t) x);
#else
    return (vi) (x + 12582912.0f) - 0x4b400000; // 1.5 * 2^23: as in vf_exp()
#endif
}

// Magnitudes are compared as integers: so a NaN is larger than infinity.
SAM_INLINE int32_t largest_lane(vi v)
{
#if defined(__AVX512F__)
    return _mm512_reduce_max_epi32((__m512i) v);
#elif defined(SAM_NEON)
    return vmaxvq_s32((int32x4_t) v);
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
#elif defined(SAM_NEON)
    const int16x4_t halves = vmovn_s32((int32x4_t) q);
    if (group == 2)
        vst1_s16((int16_t *) dst + i, halves);
    else
        vst1_lane_s32((int32_t *) ((int8_t *) dst + i),
                      (int32x2_t) vmovn_s16(vcombine_s16(halves, halves)), 0);
#else
    for (int l = 0; l < VL; l++)
        ((int16_t *) dst)[i + l] = (int16_t) q[l];
#endif
}

SAM_INLINE void quantize_as(void *dst, enum sam_type type, const void *src, int group, size_t count)
{
    const size_t groups = (count + group - 1) / group * group, whole = count / VL * VL;
    const size_t bytes = groups * (group > 2 ? 1 : 2);
    const float largest = find_largest((struct sam_span) { (void *) src, type }, count);
    float step = 0, inverse = 0;
    if (largest >= 0x1p-100f && largest < INFINITY)
        step = largest / 127, inverse = 127 / largest;
    if (!(largest < INFINITY)) { // no number of it is looked at
        step = NAN;
        memset(dst, 0, bytes);
    } else {
        if (group > VL)
            memset((char *) dst + bytes - group, 0, group);
        for (size_t i = 0; i < whole; i += VL)
            put(dst, group, i, to_integer(vf_get(src, type, i, VL) * inverse));
        if (whole < count)
            put(dst, group, whole,
                to_integer(vf_get(src, type, whole, (int) (count - whole)) * inverse));
    }
    memcpy((char *) dst + bytes, &step, sizeof(step));
}

#define QUANTIZE(name, group)                                                                      \
    void SAM_LEVEL(name)(void *dst, struct sam_span src, size_t count)                             \
    {                                                                                              \
        if (src.type == SAM_F32)                                                                   \
            quantize_as(dst, SAM_F32, src.data, group, count);                                     \
        else                                                                                       \
            quantize_as(dst, SAM_BF16, src.data, group, count);                                    \
    }
QUANTIZE(sam_quantize_pairs, 2)
#if defined(__AVX2__) || defined(SAM_NEON)
QUANTIZE(sam_quantize_fours, 4)
#endif
#ifdef SAM_NEON
QUANTIZE(sam_quantize_eights, 8)
#endif

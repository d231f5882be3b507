// SPDX-License-Identifier: MIT
// Vectors for the kernel files: GNU C vectors as wide as the level's registers, and the few
// functions on them. A kernel file is compiled once per level with
//   SAM_VL           floats in a vector: 4, 8 or 16
//   SAM_LEVEL(name)  name with the level appended, for the one table that the file exports
//   SAM_NEON         at the levels of arm64 above generic: its intrinsics may be used
#ifndef SAM_VEC_H
#define SAM_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ops/ops.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#elif defined(SAM_NEON)
#include <arm_neon.h>
#endif

enum { VL = SAM_VL };

typedef float vf __attribute__((vector_size(SAM_VL * 4)));
typedef float v4 __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(SAM_VL * 4)));
typedef uint32_t vu __attribute__((vector_size(SAM_VL * 4)));
typedef uint64_t vl __attribute__((vector_size(SAM_VL * 4)));
typedef uint16_t vh __attribute__((vector_size(SAM_VL * 2)));

#define SAM_INLINE static inline __attribute__((always_inline))

SAM_INLINE vf vf_set(float x)
{
    return x - (vf) { 0 }; // every lane; x - 0 is x, also for -0 and NaN
}

SAM_INLINE vf vf_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof(v));
    return v;
}

SAM_INLINE void vf_store(float *p, vf v)
{
    memcpy(p, &v, sizeof(v));
}

SAM_INLINE vf vf_load_bf16(const uint16_t *p)
{
    vh h;
    memcpy(&h, p, sizeof(h));
    return (vf) (__builtin_convertvector(h, vu) << 16);
}

// x as it is in memory: a product that is not fused with the sum that it goes to.
SAM_INLINE vf vf_rounded(vf x)
{
#if defined(__x86_64__)
    __asm__("" : "+v"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#endif
    return x;
}

SAM_INLINE vf vf_select(vi mask, vf yes, vf no)
{
#ifdef SAM_NEON
    return (vf) vbslq_f32((uint32x4_t) mask, (float32x4_t) yes, (float32x4_t) no);
#else
    return (vf) ((mask & (vi) yes) | (~mask & (vi) no));
#endif
}

// Pairs of lanes (2i, 2i + 1): swapped, or both as the first, or both as the second. Pairs are
// 64-bit numbers whose lower half comes first.
#ifdef SAM_NEON

SAM_INLINE vf vf_swap_pairs(vf v)
{
    return (vf) vrev64q_f32((float32x4_t) v);
}

SAM_INLINE vf vf_first_of_pairs(vf v)
{
    return (vf) vtrn1q_f32((float32x4_t) v, (float32x4_t) v);
}

SAM_INLINE vf vf_second_of_pairs(vf v)
{
    return (vf) vtrn2q_f32((float32x4_t) v, (float32x4_t) v);
}

#else

SAM_INLINE vf vf_swap_pairs(vf v)
{
    return (vf) ((vl) v >> 32 | (vl) v << 32);
}

SAM_INLINE vf vf_first_of_pairs(vf v)
{
    const vl first = (vl) v & 0xffffffff;
    return (vf) (first | first << 32);
}

SAM_INLINE vf vf_second_of_pairs(vf v)
{
    const vl second = (vl) v >> 32;
    return (vf) (second | second << 32);
}

#endif

#if defined(__AVX512BF16__) // the level has an instruction for it

SAM_INLINE vh vf_to_bf16(vf v)
{
    return (vh) _mm512_cvtneps_pbh((__m512) v);
}

#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)

SAM_INLINE vh vf_to_bf16(vf v)
{
    return (vh) vcvt_bf16_f32((float32x4_t) v);
}

#else

// To nearest, ties to even; a NaN stays one. See half.h.
SAM_INLINE vh vf_to_bf16(vf v)
{
    const vu bits = (vu) v;
    const vu rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const vu nan = (vu) (v != v);
    return __builtin_convertvector((~nan & rounded) | (nan & (bits >> 16 | 0x40)), vh);
}

#endif

SAM_INLINE void vf_store_bf16(uint16_t *p, vf v)
{
    const vh h = vf_to_bf16(v);
    memcpy(p, &h, sizeof(h));
}

// The first count < VL lanes; the others read as 0 and are not written.
#ifdef __AVX512F__

SAM_INLINE vf vf_load_some(const float *p, int count)
{
    return (vf) _mm512_maskz_loadu_ps((__mmask16) ((1u << count) - 1), p);
}

SAM_INLINE vf vf_load_bf16_some(const uint16_t *p, int count)
{
    const vh h = (vh) _mm256_maskz_loadu_epi16((__mmask16) ((1u << count) - 1), p);
    return (vf) (__builtin_convertvector(h, vu) << 16);
}

SAM_INLINE void vf_store_some(float *p, vf v, int count)
{
    _mm512_mask_storeu_ps(p, (__mmask16) ((1u << count) - 1), (__m512) v);
}

SAM_INLINE void vf_store_bf16_some(uint16_t *p, vf v, int count)
{
    _mm256_mask_storeu_epi16(p, (__mmask16) ((1u << count) - 1), (__m256i) vf_to_bf16(v));
}

#elif defined(SAM_NEON) // count is 1, 2 or 3

SAM_INLINE vf vf_load_some(const float *p, int count)
{
    const float32x2_t two = count > 1 ? vld1_f32(p) : vld1_lane_f32(p, vdup_n_f32(0), 0);
    const float32x2_t none = vdup_n_f32(0);
    return (vf) vcombine_f32(two, count > 2 ? vld1_lane_f32(p + 2, none, 0) : none);
}

SAM_INLINE vf vf_load_bf16_some(const uint16_t *p, int count)
{
    uint16x4_t some = vld1_lane_u16(p, vdup_n_u16(0), 0);
    some = count > 1 ? vld1_lane_u16(p + 1, some, 1) : some;
    some = count > 2 ? vld1_lane_u16(p + 2, some, 2) : some;
    return (vf) vshll_n_u16(some, 16);
}

SAM_INLINE void vf_store_some(float *p, vf v, int count)
{
    if (count > 1)
        vst1_f32(p, vget_low_f32((float32x4_t) v));
    if (count == 1)
        vst1q_lane_f32(p, (float32x4_t) v, 0);
    if (count == 3)
        vst1q_lane_f32(p + 2, (float32x4_t) v, 2);
}

SAM_INLINE void vf_store_bf16_some(uint16_t *p, vf v, int count)
{
    const vh h = vf_to_bf16(v);
    for (int i = 0; i < count; i++)
        p[i] = h[i];
}

#else

SAM_INLINE vf vf_load_some(const float *p, int count)
{
    float lane[SAM_VL] = { 0 };
    for (int i = 0; i < count; i++)
        lane[i] = p[i];
    return vf_load(lane);
}

SAM_INLINE vf vf_load_bf16_some(const uint16_t *p, int count)
{
    uint16_t lane[SAM_VL] = { 0 };
    for (int i = 0; i < count; i++)
        lane[i] = p[i];
    return vf_load_bf16(lane);
}

SAM_INLINE void vf_store_some(float *p, vf v, int count)
{
    float lane[SAM_VL];
    vf_store(lane, v);
    for (int i = 0; i < count; i++)
        p[i] = lane[i];
}

SAM_INLINE void vf_store_bf16_some(uint16_t *p, vf v, int count)
{
    uint16_t lane[SAM_VL];
    vf_store_bf16(lane, v);
    for (int i = 0; i < count; i++)
        p[i] = lane[i];
}

#endif

// Element i of a tensor's data, F32 or BF16; count < VL: the first count lanes only.
SAM_INLINE vf vf_get(const void *data, enum sam_type type, size_t i, int count)
{
    if (type == SAM_F32)
        return count < VL ? vf_load_some((const float *) data + i, count)
                          : vf_load((const float *) data + i);
    return count < VL ? vf_load_bf16_some((const uint16_t *) data + i, count)
                      : vf_load_bf16((const uint16_t *) data + i);
}

SAM_INLINE void vf_put(void *data, enum sam_type type, size_t i, vf v, int count)
{
    if (type == SAM_F32) {
        if (count < VL)
            vf_store_some((float *) data + i, v, count);
        else
            vf_store((float *) data + i, v);
    } else if (count < VL) {
        vf_store_bf16_some((uint16_t *) data + i, v, count);
    } else {
        vf_store_bf16((uint16_t *) data + i, v);
    }
}

// A NaN passes through both: the comparison is false, the instructions of x86 give their second
// operand, and those of arm64 a NaN if either is one.
#ifdef __AVX512F__

SAM_INLINE vf vf_at_least(vf x, float least)
{
    return (vf) _mm512_max_ps((__m512) vf_set(least), (__m512) x);
}

SAM_INLINE vf vf_at_most(vf x, float most)
{
    return (vf) _mm512_min_ps((__m512) vf_set(most), (__m512) x);
}

#elif defined(SAM_NEON)

SAM_INLINE vf vf_at_least(vf x, float least)
{
    return (vf) vmaxq_f32((float32x4_t) x, vdupq_n_f32(least));
}

SAM_INLINE vf vf_at_most(vf x, float most)
{
    return (vf) vminq_f32((float32x4_t) x, vdupq_n_f32(most));
}

#else

SAM_INLINE vf vf_at_least(vf x, float least)
{
    return vf_select(x < least, vf_set(least), x);
}

SAM_INLINE vf vf_at_most(vf x, float most)
{
    return vf_select(x > most, vf_set(most), x);
}

#endif

// The larger of each lane; b where either is a NaN.
SAM_INLINE vf vf_max(vf a, vf b)
{
#if defined(__AVX512F__)
    return (vf) _mm512_max_ps((__m512) a, (__m512) b);
#elif defined(__AVX2__)
    return (vf) _mm256_max_ps((__m256) a, (__m256) b);
#else
    return vf_select(a > b, a, b);
#endif
}

SAM_INLINE float vf_sum(vf v)
{
    v4 part[SAM_VL / 4], sum = { 0 };
    memcpy(part, &v, sizeof(v));
    for (int i = 0; i < SAM_VL / 4; i++)
        sum += part[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// e^x to 2 units in the last place; 0 below -87.3, and 3e38 above 88.3.
SAM_INLINE vf vf_exp(vf x)
{
    x = vf_at_most(vf_at_least(x, -87.33f), 88.37f);
    // x = k ln 2 + r, |r| <= ln 2 / 2. Adding 1.5 * 2^23 rounds k to an integer in the low bits.
    const vf shifted = x * 1.44269504f + 12582912.0f;
    const vf k = shifted - 12582912.0f;
    const vf r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    // Taylor's series is within 1e-7 at this |r| from degree 7 on.
    vf p = vf_set(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return p * (vf) (((vi) shifted << 23) + 0x3f800000);
}

#ifdef __AVX512F__

SAM_INLINE vf vf_round(vf x) // to the nearest integer
{
    return (vf) _mm512_roundscale_ps((__m512) x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SAM_INLINE vf vf_scale(vf x, vf n) // x 2^n, n an integer
{
    return (vf) _mm512_scalef_ps((__m512) x, (__m512) n);
}

#endif

// 2^x for x <= 10; far below zero it is 0, or 2^-125 at levels without an instruction for it.
SAM_INLINE vf vf_exp2(vf x)
{
#ifdef __AVX512F__
    const vf n = vf_round(x), r = x - n;
#else
    x = vf_max(x, vf_set(-125.0f));
    const vf shifted = x + 0x1.8p23f, r = x - (shifted - 0x1.8p23f); // as in vf_exp()
#endif
    // Minimax on [-1/2, 1/2], relative error 7.5e-8.
    vf y = vf_set(0x1.5c08e6p-10f);
    y = y * r + 0x1.3d0c52p-7f;
    y = y * r + 0x1.c6b6e4p-5f;
    y = y * r + 0x1.ebf918p-3f;
    y = y * r + 0x1.62e428p-1f;
    y = y * r + 0x1.000002p+0f;
#ifdef __AVX512F__
    return vf_scale(y, n);
#else
    return (vf) ((vi) y + ((vi) shifted << 23));
#endif
}

// Rows become columns. The lanes may be any words of 32 bits.
#if defined(__AVX512F__)

SAM_INLINE void vf_transpose(vf v[VL])
{
    __m512 a[VL], b[VL];
    for (int i = 0; i < VL; i += 2) {
        a[i] = _mm512_unpacklo_ps((__m512) v[i], (__m512) v[i + 1]);
        a[i + 1] = _mm512_unpackhi_ps((__m512) v[i], (__m512) v[i + 1]);
    }
    for (int i = 0; i < VL; i += 4) {
        b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    // b[4 g + k] holds column k (and 4 + k, 8 + k, 12 + k) of the rows 4 g .. 4 g + 3.
    for (int k = 0; k < 4; k++) {
        a[k] = _mm512_shuffle_f32x4(b[k], b[4 + k], 0x88);
        a[4 + k] = _mm512_shuffle_f32x4(b[k], b[4 + k], 0xdd);
        a[8 + k] = _mm512_shuffle_f32x4(b[8 + k], b[12 + k], 0x88);
        a[12 + k] = _mm512_shuffle_f32x4(b[8 + k], b[12 + k], 0xdd);
    }
    for (int k = 0; k < 4; k++) {
        v[k] = (vf) _mm512_shuffle_f32x4(a[k], a[8 + k], 0x88);
        v[8 + k] = (vf) _mm512_shuffle_f32x4(a[k], a[8 + k], 0xdd);
        v[4 + k] = (vf) _mm512_shuffle_f32x4(a[4 + k], a[12 + k], 0x88);
        v[12 + k] = (vf) _mm512_shuffle_f32x4(a[4 + k], a[12 + k], 0xdd);
    }
}

#elif defined(__AVX2__)

SAM_INLINE void vf_transpose(vf v[VL])
{
    __m256 a[VL], b[VL];
    for (int i = 0; i < VL; i += 2) {
        a[i] = _mm256_unpacklo_ps((__m256) v[i], (__m256) v[i + 1]);
        a[i + 1] = _mm256_unpackhi_ps((__m256) v[i], (__m256) v[i + 1]);
    }
    for (int i = 0; i < VL; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < VL / 2; i++) {
        v[i] = (vf) _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        v[i + 4] = (vf) _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

#elif defined(SAM_NEON)

SAM_INLINE void vf_transpose(vf v[VL])
{
    const float32x4_t a = (float32x4_t) v[0], b = (float32x4_t) v[1];
    const float32x4_t c = (float32x4_t) v[2], d = (float32x4_t) v[3];
    const float64x2_t even_ab = (float64x2_t) vtrn1q_f32(a, b);
    const float64x2_t odd_ab = (float64x2_t) vtrn2q_f32(a, b);
    const float64x2_t even_cd = (float64x2_t) vtrn1q_f32(c, d);
    const float64x2_t odd_cd = (float64x2_t) vtrn2q_f32(c, d);
    v[0] = (vf) vtrn1q_f64(even_ab, even_cd);
    v[1] = (vf) vtrn1q_f64(odd_ab, odd_cd);
    v[2] = (vf) vtrn2q_f64(even_ab, even_cd);
    v[3] = (vf) vtrn2q_f64(odd_ab, odd_cd);
}

#else

SAM_INLINE void vf_transpose(vf v[VL])
{
    for (int i = 0; i < VL; i++) {
        for (int j = i + 1; j < VL; j++) {
            const float t = v[i][j];
            v[i][j] = v[j][i];
            v[j][i] = t;
        }
    }
}

#endif

// 1 / x to 2 units in the last place, for 2^-100 <= x <= 2^100. A division takes twice as long.
SAM_INLINE vf vf_reciprocal(vf x)
{
#ifdef __AVX512F__
    const vf y = (vf) _mm512_rcp14_ps((__m512) x); // to 2^-14, doubled by a step of Newton's
    return y * (2.0f - x * y);
#else
    return 1.0f / x;
#endif
}

// erf(x) to 1.3e-7: a quotient of polynomials in x^2, fitted for the least largest error on
// [-4, 4]; beyond, erf is 1 to 2e-8.
SAM_INLINE vf vf_erf(vf x)
{
    x = vf_at_most(vf_at_least(x, -4.0f), 4.0f);
    const vf u = x * x;
    vf p = vf_set(1.974854986e-06f);
    p = p * u + 2.880394173e-04f;
    p = p * u + 4.003534522e-03f;
    p = p * u + 5.346712828e-02f;
    p = p * u + 1.962463018e-01f;
    p = p * u + 1.128378976e+00f;
    vf q = vf_set(3.748102115e-05f);
    q = q * u + 1.216334044e-03f;
    q = q * u + 1.544419560e-02f;
    q = q * u + 1.164753245e-01f;
    q = q * u + 5.072499161e-01f;
    q = q * u + 1.0f;
    return x * p * vf_reciprocal(q);
}

// 1 / (1 + e^-x), of which e^-x is at most 2^90.
SAM_INLINE vf vf_sigmoid(vf x)
{
#ifdef __AVX512F__
    return vf_reciprocal(1.0f + vf_exp2(vf_at_most(x * -1.44269504f, 90.0f)));
#else
    return 1.0f / (1.0f + vf_exp(-x));
#endif
}

SAM_INLINE vf vf_act(vf x, enum sam_act act)
{
    switch (act) {
    case SAM_ACT_NONE:    return x;
    case SAM_ACT_RELU:    return vf_at_least(x, 0);
    case SAM_ACT_GELU:    return 0.5f * x * (1.0f + vf_erf(x * 0.707106781f));
    case SAM_ACT_SIGMOID: return vf_sigmoid(x);
    case SAM_ACT_SILU:    return x * vf_sigmoid(x);
    case SAM_ACT_RELU6:   return vf_at_most(vf_at_least(x, 0), 6);
    case SAM_NUM_ACTS:    break;
    }
    return x;
}

#endif // SAM_VEC_H

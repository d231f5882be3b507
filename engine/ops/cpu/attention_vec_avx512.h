// Sixteen floats: AVX-512. What float words and bf16 pairs share.
#ifndef SAM_ATTENTION_VEC_H
#define SAM_ATTENTION_VEC_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "base/tensor.h"

typedef __m512 vec;

enum { LANES = 16, ROWS = 8 };

static inline vec vec_set1(float x)
{
    return _mm512_set1_ps(x);
}

static inline vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

static inline void vec_store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

static inline vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

static inline vec vec_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}

// 2^x; far below zero it is 0.
static inline vec vec_exp2(vec x)
{
    const vec n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const vec r = vec_sub(x, n);
    // Minimax on [-1/2, 1/2], relative error 7.5e-8.
    vec y = vec_set1(0x1.5c08e6p-10f);
    y = vec_fma(y, r, vec_set1(0x1.3d0c52p-7f));
    y = vec_fma(y, r, vec_set1(0x1.c6b6e4p-5f));
    y = vec_fma(y, r, vec_set1(0x1.ebf918p-3f));
    y = vec_fma(y, r, vec_set1(0x1.62e428p-1f));
    y = vec_fma(y, r, vec_set1(0x1.000002p+0f));
    return _mm512_scalef_ps(y, n);
}

// n <= LANES numbers of a row, zeros after them.
static inline vec vec_load_some(const void *row, enum sam_type type, int at, int n)
{
    const __mmask16 some = (__mmask16) ((1u << n) - 1);
    if (type == SAM_F32)
        return _mm512_maskz_loadu_ps(some, (const float *) row + at);
    const __m256i half = _mm256_maskz_loadu_epi16(some, (const sam_bf16 *) row + at);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

// As sam_bf16_from_float, but for NaN: to nearest, ties to even.
static inline __m512i round_to_bf16(vec v)
{
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    return _mm512_srli_epi32(up, 16);
}

static inline void vec_store_some(void *row, enum sam_type type, int at, int n, vec v)
{
    const __mmask16 some = (__mmask16) ((1u << n) - 1);
    if (type == SAM_F32)
        _mm512_mask_storeu_ps((float *) row + at, some, v);
    else
        _mm256_mask_storeu_epi16((sam_bf16 *) row + at, some,
                                 _mm512_cvtepi32_epi16(round_to_bf16(v)));
}

// Also right for any other words of 32 bits.
static inline void vec_transpose(vec v[LANES])
{
    vec a[LANES], b[LANES];
    for (int i = 0; i < LANES; i += 2) {
        a[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
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
        v[k] = _mm512_shuffle_f32x4(a[k], a[8 + k], 0x88);
        v[8 + k] = _mm512_shuffle_f32x4(a[k], a[8 + k], 0xdd);
        v[4 + k] = _mm512_shuffle_f32x4(a[4 + k], a[12 + k], 0x88);
        v[12 + k] = _mm512_shuffle_f32x4(a[4 + k], a[12 + k], 0xdd);
    }
}

#endif // SAM_ATTENTION_VEC_H

// Eight floats: AVX2 and FMA.
#ifndef SAM_ATTENTION_VEC_H
#define SAM_ATTENTION_VEC_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "base/tensor.h"

typedef __m256 vec;

enum { LANES = 8, ROWS = 4 };

static inline vec vec_set1(float x)
{
    return _mm256_set1_ps(x);
}

static inline vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void vec_store(float *p, vec v)
{
    _mm256_storeu_ps(p, v);
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

static inline vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

static inline vec vec_div(vec a, vec b)
{
    return _mm256_div_ps(a, b);
}

// 2^x, x <= 10 or so; below 2^-125 it stays there, which is as good as 0 beside a maximum of 1.
static inline vec vec_exp2(vec x)
{
    x = vec_max(x, vec_set1(-125.0f));
    // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
    const vec big = _mm256_add_ps(x, vec_set1(0x1.8p23f));
    const vec r = vec_sub(x, vec_sub(big, vec_set1(0x1.8p23f)));
    // Minimax on [-1/2, 1/2], relative error 7.5e-8.
    vec y = vec_set1(0x1.5c08e6p-10f);
    y = vec_fma(y, r, vec_set1(0x1.3d0c52p-7f));
    y = vec_fma(y, r, vec_set1(0x1.c6b6e4p-5f));
    y = vec_fma(y, r, vec_set1(0x1.ebf918p-3f));
    y = vec_fma(y, r, vec_set1(0x1.62e428p-1f));
    y = vec_fma(y, r, vec_set1(0x1.000002p+0f));
    const __m256i power = _mm256_slli_epi32(_mm256_castps_si256(big), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), power));
}

// n <= LANES numbers of a row, zeros after them.
static inline vec vec_load_some(const void *row, enum sam_type type, int at, int n)
{
    if (type == SAM_F32 && n == LANES)
        return vec_load((const float *) row + at);
    if (type == SAM_F32) {
        float part[LANES] = { 0 };
        memcpy(part, (const float *) row + at, n * sizeof(float));
        return vec_load(part);
    }
    sam_bf16 part[LANES] = { 0 };
    memcpy(part, (const sam_bf16 *) row + at, n * sizeof(sam_bf16));
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *) part));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline void vec_store_some(void *row, enum sam_type type, int at, int n, vec v)
{
    float part[LANES];
    vec_store(part, v);
    if (type == SAM_F32) {
        memcpy((float *) row + at, part, n * sizeof(float));
        return;
    }
    for (int i = 0; i < n; i++)
        ((sam_bf16 *) row)[at + i] = sam_bf16_from_float(part[i]);
}

static inline void vec_transpose(vec v[LANES])
{
    vec a[LANES], b[LANES];
    for (int i = 0; i < LANES; i += 2) {
        a[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (int i = 0; i < LANES / 2; i++) {
        v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

#endif // SAM_ATTENTION_VEC_H

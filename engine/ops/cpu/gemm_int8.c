// SPDX-License-Identifier: MIT
// Products in int8 with sums of I32: see sam_matrix and gemm.h. With AVX512_VNNI or AVX-VNNI a lane
// adds four products at a time, of bytes with and without a sign. Without, numbers have 16 bits, of
// which a lane adds two products: the instruction for bytes would saturate at 2 * 127 * 255.

#include "ops/cpu/gemm_tile.h"

#if !defined(__AVX2__) && defined(__SSE2__)
#include <emmintrin.h>
#endif

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
typedef uint8_t number;
enum { GROUP = 4 };
#else
typedef int16_t number;
enum { GROUP = 2 };
#endif

SAM_INLINE vi load_words(const void *p)
{
    vi v;
    memcpy(&v, p, sizeof(v));
    return v;
}

// sum + the products of each lane's numbers; of a they are the same in all lanes.
SAM_INLINE vi add_products(vi sum, vi a, vi b)
{
#if defined(__AVX512VNNI__)
    return (vi) _mm512_dpbusd_epi32((__m512i) sum, (__m512i) a, (__m512i) b);
#elif defined(__AVXVNNI__)
    return (vi) _mm256_dpbusd_avx_epi32((__m256i) sum, (__m256i) a, (__m256i) b);
#elif defined(__AVX512F__)
    return sum + (vi) _mm512_madd_epi16((__m512i) a, (__m512i) b);
#elif defined(__AVX2__)
    return sum + (vi) _mm256_madd_epi16((__m256i) a, (__m256i) b);
#elif defined(__SSE2__)
    return sum + (vi) _mm_madd_epi16((__m128i) a, (__m128i) b);
#elif defined(SAM_NEON)
    const int16x4_t x = vget_low_s16((int16x8_t) a);
    const int16x4_t first = vget_low_s16(vuzp1q_s16((int16x8_t) b, (int16x8_t) b));
    const int16x4_t second = vget_low_s16(vuzp2q_s16((int16x8_t) b, (int16x8_t) b));
    return (vi) vmlal_lane_s16(vmlal_lane_s16((int32x4_t) sum, first, x, 0), second, x, 1);
#else
    const vi low_a = (vi) ((vu) a << 16) >> 16, low_b = (vi) ((vu) b << 16) >> 16;
    return sum + low_a * low_b + (a >> 16) * (b >> 16);
#endif
}

// gcc would load all of a tile's inputs before it multiplies, and spill sums for them.
#if defined(__AVX2__) && !defined(__AVX512F__)
#define NOW(v) __asm__("" : "+x"(v))
#else
#define NOW(v)
#endif

// See gemm_f32.c. inputs: whole groups.
SAM_INLINE void multiply(int rows, int vectors, const number *a, size_t lda, struct weights w,
                         size_t inputs, float *sums)
{
    const number *b = w.numbers;
    vi sum[MR][2];
    for (int r = 0; r < rows; r++) {
        sum[r][0] = load_words(w.start);
        sum[r][1] = load_words(w.start + (vectors > 1 ? VL : 0));
    }
    for (size_t i = 0; i < inputs; i += GROUP) {
        const vi b0 = load_words(b), b1 = vectors > 1 ? load_words(b + GROUP * VL) : b0;
        b += GROUP * SAM_PANEL;
        for (int r = 0; r < rows; r++) {
            int32_t word;
            memcpy(&word, a + r * lda + i, sizeof(word));
            vi x = (vi) { 0 } + word;
            NOW(x);
            sum[r][0] = add_products(sum[r][0], x, b0);
            if (vectors > 1)
                sum[r][1] = add_products(sum[r][1], x, b1);
            NOW(sum[r][0]);
            NOW(sum[r][1]);
        }
    }
    for (int r = 0; r < rows; r++) {
        float step;
        memcpy(&step, a + r * lda + inputs, sizeof(step));
        vf_store(sums + r * NR, __builtin_convertvector(sum[r][0], vf) * (vf_load(w.step) * step));
        if (vectors > 1)
            vf_store(sums + r * NR + VL,
                     __builtin_convertvector(sum[r][1], vf) * (vf_load(w.step + VL) * step));
    }
}

#include "ops/cpu/gemm_int8_loop.h"

#ifdef __AVX512VNNI__
const struct sam_gemm_kernels sam_gemm_int8_vnni = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .offset = 128,
    .prepare = sam_quantize_fours_avx512
};
#elif defined(__AVXVNNI__)
const struct sam_gemm_kernels sam_gemm_int8_avx_vnni = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .offset = 128,
    .prepare = sam_quantize_fours_avx2
};
#else
const struct sam_gemm_kernels SAM_LEVEL(sam_gemm_int8) = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .prepare = SAM_LEVEL(sam_quantize_pairs)
};
#endif

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

// What of a panel belongs to a tile's outputs.
struct weights {
    const number *numbers;
    const float *step;
    const int32_t *start;
};

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

SAM_INLINE void multiply_rows(int rows, int vectors, const number *a, size_t lda, struct weights w,
                              size_t inputs, float *sums)
{
    FOR_ROWS(rows, multiply(n, vectors, a, lda, w, inputs, sums))
}

static struct weights weights_of(const struct sam_gemm *g, size_t inputs, int column)
{
    const size_t numbers = inputs * SAM_PANEL * sizeof(number);
    const size_t bytes = numbers + SAM_PANEL * (sizeof(float) + sizeof(int32_t));
    const char *panel = (const char *) g->b + column / SAM_PANEL * bytes;
    const float *step = (const float *) (panel + numbers);
    const int at = column % SAM_PANEL;
    return (struct weights) { (const number *) panel + (size_t) at * GROUP, step + at,
                              (const int32_t *) (step + SAM_PANEL) + at };
}

static void gemm(const struct sam_gemm *g)
{
    const size_t inputs = ((size_t) g->k + GROUP - 1) / GROUP * GROUP;
    for (int column = g->first; column < g->last; column += NR) {
        const struct weights w = weights_of(g, inputs, column);
        for (int row = 0; row < g->m; row += MR) {
            const number *a = (const number *) g->a + row * g->lda;
            struct tile t;
            begin_tile(g, &t, row, column);
            fetch_output(g, &t);
            if (g->last - column > VL)
                multiply_rows(t.rows, 2, a, g->lda, w, inputs, t.sums);
            else
                multiply_rows(t.rows, 1, a, g->lda, w, inputs, t.sums);
            store_tile(g, &t);
        }
    }
}

#ifdef __AVX512VNNI__
const struct sam_gemm_kernels sam_gemm_int8_vnni = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .prepare = sam_quantize_fours_avx512
};
#elif defined(__AVXVNNI__)
const struct sam_gemm_kernels sam_gemm_int8_avx_vnni = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .prepare = sam_quantize_fours_avx2
};
#else
const struct sam_gemm_kernels SAM_LEVEL(sam_gemm_int8) = {
    .run = gemm, .tile_rows = MR, .group = GROUP, .prepare = SAM_LEVEL(sam_quantize_pairs)
};
#endif

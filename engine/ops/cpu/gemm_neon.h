// SPDX-License-Identifier: MIT
// Products by NEON, for the file that includes it. A word of 32 bits holds the neighbouring numbers
// of a row that one lane adds at a time: one float, two of bf16 (BFDOT) or four bytes (SDOT). The
// instructions take the word of a row from a lane of a vector, so that one load of a row feeds four
// of them for each vector of outputs. A tile of 8 rows by 2 vectors has 16 sums; the weights of
// four words take 8 more of the 32 registers, and the rows what is left.
#ifndef SAM_GEMM_NEON_H
#define SAM_GEMM_NEON_H

#include "ops/cpu/gemm.h"
#include "ops/cpu/vec.h"

enum { WORDS = 4 }; // of a vector
_Static_assert(SAM_TILE_ROWS <= 8, "sums, and the weights of four words, are in registers");

#if defined(SAM_NEON_INT8)
typedef int8_t number;
typedef vi sums_of;
#define ADD(sum, w, x, lane)                                                                       \
    (vi) vdotq_laneq_s32((int32x4_t) (sum), (int8x16_t) (w), (int8x16_t) (x), lane)
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
typedef uint16_t number;
typedef vf sums_of;
#define ADD(sum, w, x, lane)                                                                       \
    (vf) vbfdotq_laneq_f32((float32x4_t) (sum), (bfloat16x8_t) (w), (bfloat16x8_t) (x), lane)
#else
typedef float number;
typedef vf sums_of;
#define ADD(sum, w, x, lane)                                                                       \
    (vf) vfmaq_laneq_f32((float32x4_t) (sum), (float32x4_t) (w), (float32x4_t) (x), lane)
#endif

enum { PAIR = 4 / sizeof(number) };

// The lane must be a literal.
SAM_INLINE sums_of add_lane(sums_of sum, vf w, vf x, int lane)
{
    switch (lane) {
    case 0: return ADD(sum, w, x, 0);
    case 1: return ADD(sum, w, x, 1);
    case 2: return ADD(sum, w, x, 2);
    default: return ADD(sum, w, x, 3);
    }
}
#undef ADD

// Words of a row: four, or one in all lanes.
SAM_INLINE vf load_words(const number *row, int words)
{
    float word;
    if (words == WORDS)
        return vf_load((const float *) row);
    memcpy(&word, row, sizeof(word));
    return vf_set(word);
}

// `words` words of each row; a constant, as rows and vectors are.
SAM_INLINE void add_some(int rows, int vectors, const number *a, size_t lda, const number *b,
                         int words, sums_of sum[][2])
{
    vf w[WORDS][2];
    for (int i = 0; i < words; i++)
        for (int v = 0; v < vectors; v++)
            w[i][v] = vf_load((const float *) b + (size_t) i * SAM_PANEL + v * VL);
    for (int r = 0; r < rows; r++) {
        const vf x = load_words(a + r * lda, words);
        for (int i = 0; i < words; i++)
            for (int v = 0; v < vectors; v++)
                sum[r][v] = add_lane(sum[r][v], w[i][v], x, i);
    }
}

// count: numbers of whole words.
SAM_INLINE const number *add_words(int rows, int vectors, const number *a, size_t lda,
                                   const number *b, size_t count, sums_of sum[][2])
{
    size_t i = 0;
    for (; i + WORDS * PAIR <= count; i += WORDS * PAIR, b += WORDS * PAIR * SAM_PANEL)
        add_some(rows, vectors, a + i, lda, b, WORDS, sum);
    for (; i < count; i += PAIR, b += PAIR * SAM_PANEL)
        add_some(rows, vectors, a + i, lda, b, 1, sum);
    return b;
}

#endif // SAM_GEMM_NEON_H

// SPDX-License-Identifier: MIT
// Words of two neighbouring numbers in bf16, as the instructions of AVX512_BF16 and AMX take them.
// Private to ops/cpu, for files that are compiled for these.
#ifndef SAM_PAIRS_H
#define SAM_PAIRS_H

#include "base/half.h"
#include "ops/cpu/vec.h"

// Two vectors of floats as one of bf16, a first.
static inline __m512i narrow(vf a, vf b)
{
    return (__m512i) _mm512_cvtne2ps_pbh((__m512) b, (__m512) a);
}

static inline vf load_words(const void *row, enum sam_type type, int at, int n)
{
    n = n < 2 * VL ? n : 2 * VL;
    if (type == SAM_BF16) {
        const __mmask32 some = (__mmask32) ((1ull << n) - 1);
        return (vf) _mm512_maskz_loadu_epi16(some, (const sam_bf16 *) row + at);
    }
    const int low = n < VL ? n : VL;
    return (vf) narrow(vf_get(row, type, at, low), vf_get(row, type, at + low, n - low));
}

// Lane i of the result: a[i], b[i].
static inline __m512i pair_up(vf a, vf b)
{
    const __m512i pick =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(pick, narrow(a, b));
}

#endif // SAM_PAIRS_H

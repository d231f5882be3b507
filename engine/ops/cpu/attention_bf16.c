// SPDX-License-Identifier: MIT
// The kernel of attention in bf16 whose products are vectors' (VDPBF16PS).
#include "ops/cpu/attention_pairs.h"

// Values by groups of SAM_ROWS channels, two keys to a word; zeros beside an odd last key.
static void pack_values(struct sam_attend *a, const void *const *rows, int num)
{
    const int depth = (num + 1) / 2;
    for (int c = 0; c < a->dv; c += SAM_ROWS) {
        uint32_t *dst = a->value + (size_t) c * depth;
        const int some = a->dv - c < SAM_ROWS ? a->dv - c : SAM_ROWS;
        const __mmask8 mask = (__mmask8) ((1u << some) - 1);
        for (int j = 0; j < num; j += 2, dst += SAM_ROWS) {
            const __m128i even = _mm_maskz_loadu_epi16(mask, (const sam_bf16 *) rows[j] + c);
            const __m128i odd =
                j + 1 < num ? _mm_maskz_loadu_epi16(mask, (const sam_bf16 *) rows[j + 1] + c)
                            : _mm_setzero_si128();
            _mm_storeu_si128((__m128i *) dst, _mm_unpacklo_epi16(even, odd));
            _mm_storeu_si128((__m128i *) dst + 1, _mm_unpackhi_epi16(even, odd));
        }
    }
}

#include "ops/cpu/attention_kernel.h"

const struct sam_attention_kernel sam_attention_bf16 = SAM_ATTENTION_KERNEL;

// SPDX-License-Identifier: MIT
// See outline.h.

#include "ops/cpu/outline.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

// Levels with shorter registers split a vector; it never crosses a call.
#pragma GCC diagnostic ignored "-Wpsabi"

enum { LOOK = SAM_RUN_SLACK }; // bytes that are looked at together

typedef uint8_t pixels __attribute__((vector_size(SAM_WINDOWS)));

static inline __attribute__((always_inline)) pixels load(const uint8_t *at)
{
    pixels v;
    memcpy(&v, at, sizeof(v));
    return v;
}

// Adds to each pixel's count whether its number is not above a limit.
static inline __attribute__((always_inline)) pixels count_limit(pixels count, pixels v,
                                                                pixels limit)
{
    return count - (pixels) (v <= limit); // 255 where it holds
}

// Shares are rounded down, so they change at whole weights: those of struct sam_paint's quotients.
static inline __attribute__((always_inline)) pixels find_shade(pixels own, pixels same,
                                                               pixels inner, int bare)
{
    static const uint8_t beyond[] = { 52, 48, 45, 42 }; // (445 - 27 k) / 8
    static const uint8_t contour[] = { 77, 74, 70, 67, 64, 60, 57, 54 }; // 81 - 27 k / 8
    static const uint8_t line[] = { 28, 32, 35, 38, 42, 45, 48, 52 }; // below (203 + 27 k) / 8
    const pixels none = own ^ own;
    const pixels is_bare = bare < 256 ? (pixels) (own == (uint8_t) bare) : none;
    const pixels decides = (is_bare & same) | (~is_bare & inner);
    pixels other = none, share = none;
    for (int i = 0; i < 4; i++)
        other = count_limit(other, same, none + beyond[i]);
    for (int i = 0; i < 8; i++)
        share = count_limit(share, decides,
                            (is_bare & (uint8_t) (contour[i] ^ line[i])) ^ line[i]);
    return SAM_SHARES * other + ((is_bare & share) | (~is_bare & (8 - share)));
}

void SAM_LEVEL(sam_shade_windows)(const uint8_t *label, const uint8_t *near, int pitch, int bare,
                                  uint8_t shade[SAM_WINDOWS])
{
    const pixels own = load(label);
    pixels same = { 0 }, inner = { 0 };
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            const ptrdiff_t at = (ptrdiff_t) dy * pitch + dx;
            const uint8_t weight = (uint8_t) ((3 - abs(dy)) * (3 - abs(dx)));
            const pixels found = (pixels) (load(label + at) == own) & weight;
            same += found;
            inner += found & ~load(near + at);
        }
    const pixels found = find_shade(own, same, inner, bare);
    memcpy(shade, &found, sizeof(found));
}

// Which of LOOK bytes are other ones than the byte before them: a bit for each, the first lowest.
#if defined(__AVX512BW__)
static inline uint64_t find_changes(const uint8_t *at)
{
    return _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(at), _mm512_loadu_si512(at - 1));
}
#elif defined(__AVX2__)
static inline uint32_t find_same(const uint8_t *at)
{
    const __m256i own = _mm256_loadu_si256((const __m256i *) at);
    const __m256i before = _mm256_loadu_si256((const __m256i *) (at - 1));
    return (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(own, before));
}

static inline uint64_t find_changes(const uint8_t *at)
{
    return ~((uint64_t) find_same(at + 32) << 32 | find_same(at));
}
#else
static inline uint64_t find_changes(const uint8_t *at)
{
    uint64_t changes = 0;
    for (int i = 0; i < LOOK; i += 8)
        for (int k = i; k < i + 8 && memcmp(at + i, at + i - 1, 8); k++)
            changes |= (uint64_t) (at[k] != at[k - 1]) << k;
    return changes;
}
#endif

int SAM_LEVEL(sam_find_runs)(const uint8_t *row, int n, uint16_t *end)
{
    int found = 0;
    for (int x = 1; x < n; x += LOOK) {
        uint64_t changes = find_changes(row + x);
        if (n - x < LOOK)
            changes &= (UINT64_C(1) << (n - x)) - 1;
        for (; changes; changes &= changes - 1)
            end[found++] = (uint16_t) (x + __builtin_ctzll(changes));
    }
    end[found++] = (uint16_t) n;
    return found;
}

// From pixel i on. Returns how many of them were looked up.
#ifdef __AVX512BW__
// 16 pixels between two labels, whose tables are two registers.
static inline int find_some(const uint8_t *label, const uint8_t *shade, int n,
                            const uint32_t (*table)[SAM_SHADES], uint32_t *out)
{
    const uint32_t wanted = n < 16 ? (1u << n) - 1 : 0xffff;
    const __m128i labels = _mm_loadu_si128((const __m128i *) label);
    const uint32_t own = _mm_cmpeq_epi8_mask(labels, _mm_set1_epi8((char) *label)) & wanted;
    const int other = own == wanted ? *label : label[__builtin_ctz(wanted & ~own)];
    const uint32_t rest = _mm_cmpeq_epi8_mask(labels, _mm_set1_epi8((char) other)) & wanted & ~own;
    const __m512i at = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *) shade));
    const __m512i index = _mm512_mask_or_epi32(_mm512_and_epi32(at, _mm512_set1_epi32(15)),
                                               (__mmask16) rest, at, _mm512_set1_epi32(16));
    if ((own | rest) != wanted) {
        *out = table[*label][*shade & 15];
        return 1;
    }
    _mm512_mask_storeu_epi32(out, (__mmask16) wanted, _mm512_permutex2var_epi32(
        _mm512_loadu_si512(table[*label]), index, _mm512_loadu_si512(table[other])));
    return 16;
}
#else
static inline int find_some(const uint8_t *label, const uint8_t *shade, int n,
                            const uint32_t (*table)[SAM_SHADES], uint32_t *out)
{
    for (int i = 0; i < n; i++)
        out[i] = table[label[i]][shade[i] & 15];
    return n;
}
#endif

void SAM_LEVEL(sam_find_shades)(const uint8_t *label, const uint8_t *shade, int n,
                                const uint32_t (*table)[SAM_SHADES], uint32_t *out)
{
    for (int i = 0; i < n;)
        i += find_some(label + i, shade + i, n - i, table, out + i);
}

void SAM_LEVEL(sam_fill_colour)(uint32_t *out, int n, uint32_t colour)
{
    for (int i = 0; i < n; i++)
        out[i] = colour;
}

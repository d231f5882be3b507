// SPDX-License-Identifier: MIT
// See outline.h.

#include "ops/cpu/outline.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

// No vector crosses a call.
#pragma GCC diagnostic ignored "-Wpsabi"

enum {
    LOOK = SAM_RUN_SLACK, // bytes that are looked at together
#ifdef __AVX2__
    WIDE = 32, // bytes of a register, where few pixels count
#else
    WIDE = 16,
#endif
#ifdef __AVX512BW__
    WIDEST = 64,
#else
    WIDEST = WIDE,
#endif
};

typedef uint8_t pixels __attribute__((vector_size(WIDE)));

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

static inline __attribute__((always_inline)) pixels shade_some(const uint8_t *label,
                                                               const uint8_t *inside, int pitch,
                                                               int bare)
{
    const pixels own = load(label);
    pixels same = { 0 }, inner = { 0 };
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            const ptrdiff_t at = (ptrdiff_t) dy * pitch + dx;
            const uint8_t weight = (uint8_t) ((3 - abs(dy)) * (3 - abs(dx)));
            const pixels found = (pixels) (load(label + at) == own) & weight;
            same += found;
            inner += found & load(inside + at);
        }
    return find_shade(own, same, inner, bare);
}

static void shade_windows(const uint8_t *label, const uint8_t *inside, int pitch, int bare,
                          uint8_t shade[SAM_WINDOWS])
{
    for (int x = 0; x < SAM_WINDOWS; x += WIDE) {
        const pixels found = shade_some(label + x, inside + x, pitch, bare);
        memcpy(shade + x, &found, sizeof(found));
    }
}

// ---- two labels

typedef int8_t numbers __attribute__((vector_size(WIDE)));

static inline __attribute__((always_inline)) numbers at_most(numbers v, int8_t limit)
{
    const numbers is_less = v < limit;
    return (v & is_less) | (limit & ~is_less);
}

static inline __attribute__((always_inline)) numbers larger(numbers a, numbers b)
{
    const numbers is_less = a < b;
    return (b & is_less) | (a & ~is_less);
}

// What the windows of a row's pixels add up to in it, negated: the weights 1 2 3 2 1 of `own`, and
// of those that are inside. Behind the row may be any numbers.
struct sums {
    pixels same, inner;
};

static inline __attribute__((always_inline)) struct sums add_along(const uint8_t *label,
                                                                   const uint8_t *inside, int own)
{
    pixels same[5], inner[5];
    for (int i = 0; i < 5; i++) {
        same[i] = (pixels) (load(label + i - 2) == (uint8_t) own);
        inner[i] = same[i] & load(inside + i - 2);
    }
    const pixels near = same[1] + same[3] + same[2], far = same[0] + same[4] + same[2];
    const pixels near_inner = inner[1] + inner[3] + inner[2];
    const pixels far_inner = inner[0] + inner[4] + inner[2];
    return (struct sums) { near + near + far, near_inner + near_inner + far_inner };
}

// Where a row has another label than the two.
static inline __attribute__((always_inline)) pixels find_others(const uint8_t *label, int own,
                                                                int bare)
{
    pixels others = { 0 };
    for (int i = -2; i <= 2; i += 4) {
        const pixels v = load(label + i);
        others |= (v ^ (uint8_t) bare) & (pixels) (v != (uint8_t) own);
    }
    return others;
}

// A step of 1 is half of a weight, so that the shares of both labels, which are rounded apart,
// change at the same numbers: 2 w + 1 for the weight w of `own` around the bare label, and for that
// one 2 (56 - w), w of what is inside; the last four are the shares of what is beyond. Where 29 of
// 81 are beyond, 32 are inside at most, whatever their shape: of neighbours with two labels none
// is. So no eighth of the fill is left there.
static inline __attribute__((always_inline)) pixels find_index(numbers is_own, struct sums sum)
{
    static const int8_t limit[] = { 7, 14, 21, 27, 34, 41, 47, 54, 57, 65, 71, 77 };
    const pixels own = (pixels) is_own, weight = -sum.same;
    const numbers beyond = (numbers) ((own & (81 - weight)) | (~own & weight));
    const numbers half = at_most(beyond, 40), twice = half + half, is_beyond = twice > 57;
    const numbers inner = at_most((numbers) (sum.inner + sum.inner + 112), 56);
    const numbers step = (is_own & larger(inner, twice & is_beyond)) | (~is_own & (twice + 1));
    pixels index = own & SAM_SHADES;
    for (size_t i = 0; i < sizeof(limit); i++)
        index -= (pixels) (step > limit[i]);
    return index;
}

static bool is_any(pixels v)
{
    uint64_t word[WIDE / 8], any = 0;
    memcpy(word, &v, sizeof(v));
    for (int i = 0; i < WIDE / 8; i++)
        any |= word[i];
    return any;
}

static inline __attribute__((always_inline)) struct sums add_three(const struct sums s[3])
{
    return (struct sums) { s[0].same + s[1].same + s[2].same,
                           s[0].inner + s[1].inner + s[2].inner };
}

// WIDE pixels of each row. The weights of rows are 1 1 1 twice.
static inline __attribute__((always_inline)) bool shade_columns(const uint8_t *label,
                                                                const uint8_t *inside, int pitch,
                                                                int rows, int own, int bare,
                                                                uint8_t *index)
{
    struct sums row[SAM_LINE_ROWS + 4], three[SAM_LINE_ROWS + 2];
    pixels others = { 0 };
    for (int r = 0; r < rows + 4; r++) {
        const ptrdiff_t at = (ptrdiff_t) (r - 2) * pitch;
        row[r] = add_along(label + at, inside + at, own);
        others |= find_others(label + at, own, bare);
    }
    for (int r = 0; r < rows + 2; r++)
        three[r] = add_three(row + r);
    for (int r = 0; r < rows; r++) {
        const numbers is_own = (numbers) (load(label + (ptrdiff_t) r * pitch) == (uint8_t) own);
        const pixels found = find_index(is_own, add_three(three + r));
        memcpy(index + r * SAM_WINDOWS, &found, sizeof(found));
    }
    return !is_any(others);
}

static bool shade_pair(const uint8_t *label, const uint8_t *inside, int pitch, int rows, int own,
                       int bare, uint8_t index[][SAM_WINDOWS])
{
    for (int x = 0; x < SAM_WINDOWS; x += WIDE)
        if (!shade_columns(label + x, inside + x, pitch, rows, own, bare, index[0] + x))
            return false;
    return true;
}

// ---- changes

// Which of LOOK bytes are other ones: a bit for each, the first lowest.
#if defined(__AVX512BW__)
static inline uint64_t find_changes(const uint8_t *at, const uint8_t *other)
{
    return _mm512_cmpneq_epi8_mask(_mm512_loadu_si512(at), _mm512_loadu_si512(other));
}
#elif defined(__AVX2__)
static inline uint32_t find_same(const uint8_t *at, const uint8_t *other)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *) at);
    const __m256i b = _mm256_loadu_si256((const __m256i *) other);
    return (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
}

static inline uint64_t find_changes(const uint8_t *at, const uint8_t *other)
{
    return ~((uint64_t) find_same(at + 32, other + 32) << 32 | find_same(at, other));
}
#else
static inline uint64_t find_changes(const uint8_t *at, const uint8_t *other)
{
    uint64_t changes = 0;
    for (int i = 0; i < LOOK; i += 8)
        for (int k = i; k < i + 8 && memcmp(at + i, other + i, 8); k++)
            changes |= (uint64_t) (at[k] != other[k]) << k;
    return changes;
}
#endif

// The bits of the first n pixels of a word.
static uint64_t first_bits(int n)
{
    return n < LOOK ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

static int find_runs(const uint8_t *row, int n, uint16_t *end)
{
    int found = 0;
    for (int x = 1; x < n; x += LOOK) {
        uint64_t changes = find_changes(row + x, row + x - 1);
        changes &= first_bits(n - x);
        for (; changes; changes &= changes - 1)
            end[found++] = (uint16_t) (x + __builtin_ctzll(changes));
    }
    end[found++] = (uint16_t) n;
    return found;
}

#ifdef __AVX512BW__
// Pixels of a word. Only those of `known` are read, all but the first of which may have one before
// them in `own`.
static inline __attribute__((always_inline)) void take_word(const uint8_t *from,
                                                            const uint8_t *upper, uint64_t known,
                                                            uint64_t own, uint8_t *row,
                                                            uint64_t *along, uint64_t *across)
{
    const __m512i v = _mm512_maskz_loadu_epi8(known, from);
    *along = _mm512_mask_cmpneq_epi8_mask(own, v, _mm512_maskz_loadu_epi8(own, from - 1));
    if (upper)
        *across = _mm512_mask_cmpneq_epi8_mask(known, v, _mm512_loadu_si512(upper));
    _mm512_storeu_si512(row, v);
}

// Labels are read once, and where their memory ends as well.
static void take_labels(const uint8_t *from, const uint8_t *upper, int n, int words, uint8_t *row,
                        uint64_t *along, uint64_t *across)
{
    const uint64_t later = ~UINT64_C(1), first = first_bits(n);
    const int full = n / LOOK, used = (n + LOOK - 1) / LOOK;
    take_word(from, upper, first, first & later, row, along, across);
    for (int i = 1; i < full; i++)
        take_word(from + LOOK * i, upper ? upper + LOOK * i : NULL, UINT64_MAX, UINT64_MAX,
                  row + LOOK * i, along + i, across + i);
    if (full > 0 && full < used) {
        const uint64_t last = first_bits(n - LOOK * full);
        take_word(from + LOOK * full, upper ? upper + LOOK * full : NULL, last, last,
                  row + LOOK * full, along + full, across + full);
    }
    for (int i = used; i < words; i++)
        along[i] = across[i] = 0;
}
#else
static void take_labels(const uint8_t *from, const uint8_t *upper, int n, int words, uint8_t *row,
                        uint64_t *along, uint64_t *across)
{
    if (from != row)
        memcpy(row, from, (size_t) n);
    for (int i = 0, x = 0; i < words; i++, x += LOOK) {
        const uint64_t known = x < n ? first_bits(n - x) : 0;
        along[i] = known ? find_changes(row + x, row + x - 1) & known : 0;
        across[i] = known && upper ? find_changes(row + x, upper + x) & known : 0;
    }
    along[0] &= ~UINT64_C(1);
}
#endif

typedef uint64_t bits __attribute__((vector_size(WIDEST)));

static inline __attribute__((always_inline)) bits load_bits(const uint64_t *at)
{
    bits v;
    memcpy(&v, at, sizeof(v));
    return v;
}

// A change lies before its pixel: `line` - 1 pixels before that are near, and as many as `line`
// behind it.
static inline __attribute__((always_inline)) bits spread(const uint64_t *along, int line)
{
    const bits own = load_bits(along), left = load_bits(along - 1), right = load_bits(along + 1);
    bits near = own;
    for (int k = 1; k < line; k++)
        near |= own >> k | right << (64 - k) | own << k | left >> (64 - k);
    return near | own >> (line - 1) >> 1 | right << (64 - line);
}

// A byte for each bit: 0 where it is set, else 255.
static inline void write_bytes(uint64_t word, uint8_t *at)
{
#if defined(__AVX512BW__)
    _mm512_storeu_si512(at, _mm512_movm_epi8(~word));
#elif defined(__AVX2__)
    const __m256i byte = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202,
                                            0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((int64_t) 0x8040201008040201);
    for (int i = 0; i < LOOK; i += 32) {
        const __m256i all = _mm256_set1_epi32((int) (uint32_t) (word >> i));
        const __m256i own = _mm256_and_si256(_mm256_shuffle_epi8(all, byte), bit);
        _mm256_storeu_si256((__m256i *) (at + i), _mm256_cmpeq_epi8(own, _mm256_setzero_si256()));
    }
#else
    memset(at, 255, LOOK);
    for (; word; word &= word - 1)
        at[__builtin_ctzll(word)] = 0;
#endif
}

static void find_near(const uint64_t *along, const uint64_t *across, int rows, int words, int line,
                      int n, uint64_t *near, uint8_t *inside)
{
    for (int i = 0; i < words; i += WIDEST / 8) {
        bits found = spread(along + i, line);
        for (int r = 0; r < rows; r++)
            found |= load_bits(across + (size_t) r * words + i);
        memcpy(near + i, &found, sizeof(found));
    }
    for (int x = 0; x < n; x += LOOK)
        write_bytes(near[x / LOOK], inside + x);
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

static void find_shades(const uint8_t *label, const uint8_t *shade, int n,
                                const uint32_t (*table)[SAM_SHADES], uint32_t *out)
{
    for (int i = 0; i < n;)
        i += find_some(label + i, shade + i, n - i, table, out + i);
}

#ifdef __AVX512BW__
// Neither writes more: others may write there.
static inline void fill(uint32_t *out, int n, uint32_t colour)
{
    const __m512i v = _mm512_set1_epi32((int) colour);
    int i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_si512(out + i, v);
    if (i < n)
        _mm512_mask_storeu_epi32(out + i, (__mmask16) ((1u << (n - i)) - 1), v);
}

static inline void look_up(const uint8_t *index, int n, const uint32_t *table, uint32_t *out)
{
    const uint64_t wanted = (UINT64_C(1) << n) - 1;
    const __m512i low = _mm512_loadu_si512(table), high = _mm512_loadu_si512(table + 16);
    for (int i = 0; i < SAM_WINDOWS; i += 16) {
        const __m128i at = _mm_loadu_si128((const __m128i *) (index + i));
        _mm512_mask_storeu_epi32(out + i, (__mmask16) (wanted >> i),
                                 _mm512_permutex2var_epi32(low, _mm512_cvtepu8_epi32(at), high));
    }
}
#else
static inline void fill(uint32_t *out, int n, uint32_t colour)
{
    for (int i = 0; i < n; i++)
        out[i] = colour;
}

#ifdef __AVX2__
// A table is four registers: bits 3 and 4 of an index choose among what the others find in each.
static inline int look_up_eights(const uint8_t *index, int n, const uint32_t *table, uint32_t *out)
{
    __m256i part[4];
    int x = 0;
    for (int i = 0; i < 4; i++)
        part[i] = _mm256_loadu_si256((const __m256i *) (table + 8 * i));
    for (; x + 8 <= n; x += 8) {
        const __m256i at = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *) (index + x)));
        const __m256 is_odd = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28));
        const __m256 is_later = _mm256_castsi256_ps(_mm256_slli_epi32(at, 27));
        __m256 found[4];
        for (int i = 0; i < 4; i++)
            found[i] = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(part[i], at));
        const __m256 first = _mm256_blendv_ps(found[0], found[1], is_odd);
        const __m256 second = _mm256_blendv_ps(found[2], found[3], is_odd);
        _mm256_storeu_ps((float *) (out + x), _mm256_blendv_ps(first, second, is_later));
    }
    return x;
}
#else
static inline int look_up_eights(const uint8_t *index, int n, const uint32_t *table, uint32_t *out)
{
    return 0;
}
#endif

static inline void look_up(const uint8_t *index, int n, const uint32_t *table, uint32_t *out)
{
    for (int i = look_up_eights(index, n, table, out); i < n; i++)
        out[i] = table[index[i]];
}
#endif

static void fill_colour(uint32_t *out, int n, uint32_t colour)
{
    fill(out, n, colour);
}

static void colour_lines(const struct sam_line_window *window, int count, int row,
                         const uint32_t (*pair)[SAM_PAIR], const uint8_t *label,
                         const uint32_t fill_of[256], int n, uint32_t *out)
{
    int x = 0;
    for (const struct sam_line_window *w = window; w < window + count; w++) {
        if (x < w->x)
            fill(out + x, w->x - x, sam_visible(fill_of[label[x]]));
        if (w->is_pair)
            look_up(w->index[row], w->n, pair[w->own], out + w->x);
        x = w->x + w->n;
    }
    if (x < n)
        fill(out + x, n - x, sam_visible(fill_of[label[x]]));
}

const struct sam_outline_kernels SAM_LEVEL(sam_outline_kernels) = {
    .take_labels = take_labels,
    .find_near = find_near,
    .shade_windows = shade_windows,
    .shade_pair = shade_pair,
    .colour_lines = colour_lines,
    .find_runs = find_runs,
    .find_shades = find_shades,
    .fill_colour = fill_colour,
};

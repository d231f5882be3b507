// SPDX-License-Identifier: MIT
#include "unicode.h"

#include <string.h>

// Hangul syllables are decomposed by arithmetic (The Unicode Standard, 3.12).
enum {
    SYLLABLE = 0xac00, SYLLABLES = 11172,
    LEADING = 0x1100, VOWEL = 0x1161, TRAILING = 0x11a7,
    VOWELS = 21, TRAILINGS = 28,
};

const uint32_t *sam_unicode_find_row(const void *table, int count, size_t width, uint32_t c)
{
    const uint32_t *rows = table;
    int low = 0, high = count;

    while (low < high) {
        const int middle = (low + high) / 2;
        if (rows[middle * width] <= c)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? rows + (low - 1) * width : NULL;
}

#define FIND(name, c)                                                                              \
    sam_unicode_find_row(sam_unicode_##name, sam_unicode_num_##name,                               \
                         sizeof(sam_unicode_##name[0]) / sizeof(uint32_t), c)

static bool is_within(const uint32_t *row, uint32_t c)
{
    return row && c <= row[1];
}

static void decompose_syllable(uint32_t c, struct sam_unicode_clean *out)
{
    const uint32_t i = c - SYLLABLE;

    out->to[0] = LEADING + i / (VOWELS * TRAILINGS);
    out->to[1] = VOWEL + i / TRAILINGS % VOWELS;
    out->to[2] = TRAILING + i % TRAILINGS;
    out->count = out->to[2] == TRAILING ? 2 : 3;
}

// What a character of no run becomes that is neither dropped nor a space.
static void map_alone(uint32_t c, struct sam_unicode_clean *out)
{
    const uint32_t *row = FIND(singles, c);

    if (row && row[0] == c) {
        out->to[0] = row[1];
        return;
    }
    row = FIND(several, c);
    if (row && row[0] == c) {
        memcpy(out->to, row + 1, sizeof(out->to));
        out->count = out->to[2] ? 3 : 2;
    }
}

void sam_unicode_clean(uint32_t c, struct sam_unicode_clean *out)
{
    const uint32_t *run = FIND(runs, c);

    *out = (struct sam_unicode_clean) { .count = 1, .to = { c } };
    if (is_within(FIND(spaces, c), c)) {
        out->is_space = true;
        out->count = 0;
    } else if (is_within(FIND(dropped, c), c)) {
        out->count = 0;
    } else if (is_within(FIND(ends, c), c)) {
        out->ends_marks = true;
        out->count = 0;
    } else if (c >= SYLLABLE && c < SYLLABLE + SYLLABLES) {
        decompose_syllable(c, out);
    } else if (is_within(run, c) && (c - run[0]) % run[2] == 0) {
        out->to[0] = run[3] + (c - run[0]);
    } else {
        map_alone(c, out);
    }
    out->is_apart = is_within(FIND(apart, c), c);
}

bool sam_unicode_is_alone(uint32_t c)
{
    return is_within(FIND(alone, c), c);
}

int sam_unicode_mark_class(uint32_t c)
{
    const uint32_t *row = FIND(marks, c);

    return is_within(row, c) ? (int) row[2] : 0;
}

int sam_unicode_decode(const char *text, size_t bytes, uint32_t *c)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const uint8_t *p = (const uint8_t *) text;
    const int length = p[0] < 0x80      ? 1
                     : p[0] >> 5 == 6   ? 2
                     : p[0] >> 4 == 14  ? 3
                     : p[0] >> 3 == 30  ? 4
                                        : 0;

    *c = 0xfffd;
    if (!length || (size_t) length > bytes)
        return 1;
    uint32_t all = length == 1 ? p[0] : p[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if (p[i] >> 6 != 2)
            return 1;
        all = all << 6 | (p[i] & 0x3f);
    }
    if (all < least[length] || all > 0x10ffff || (all >= 0xd800 && all < 0xe000))
        return 1;
    *c = all;
    return length;
}

int sam_unicode_encode(uint32_t c, char dst[4])
{
    const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    for (int i = length - 1; i > 0; i--, c >>= 6)
        dst[i] = (char) (0x80 | (c & 0x3f));
    dst[0] = (char) (lead[length] | c);
    return length;
}

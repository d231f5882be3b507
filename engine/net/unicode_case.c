// SPDX-License-Identifier: MIT
// Characters as CLIP's tokenizer sees them: composed, in lower case, of one of four kinds.
#include <string.h>

#include "unicode.h"

// Hangul syllables are composed and decomposed by arithmetic (The Unicode Standard, 3.12).
enum {
    SYLLABLE = 0xac00,
    SYLLABLES = 11172,
    LEADING = 0x1100,
    VOWEL = 0x1161,
    TRAILING = 0x11a7,
    LEADINGS = 19,
    VOWELS = 21,
    TRAILINGS = 28,
    MOST_PARTS = 4,
};

#define FIND(name, c)                                                                              \
    sam_unicode_find_row(sam_unicode_##name, sam_unicode_num_##name,                               \
                         sizeof(sam_unicode_##name[0]) / sizeof(uint32_t), c)

static bool is_within(const uint32_t *row, uint32_t c)
{
    return row && c <= row[1];
}

static int class_of(uint32_t c)
{
    const uint32_t *row = FIND(classes, c);

    return is_within(row, c) ? (int) row[2] : 0;
}

// The two characters that become c; NULL: there are none. The table is in another order.
static const struct sam_unicode_pair *find_pair(uint32_t c)
{
    for (int i = 0; i < sam_unicode_num_pairs; i++)
        if (sam_unicode_pairs[i].to == c)
            return &sam_unicode_pairs[i];
    return NULL;
}

static int decompose_syllable(uint32_t i, uint32_t to[MOST_PARTS])
{
    to[0] = LEADING + i / (VOWELS * TRAILINGS);
    to[1] = VOWEL + i / TRAILINGS % VOWELS;
    to[2] = TRAILING + i % TRAILINGS;
    return to[2] == TRAILING ? 2 : 3;
}

// The canonical decomposition of one character.
static int decompose(uint32_t c, uint32_t to[MOST_PARTS])
{
    if (c >= SYLLABLE && c < SYLLABLE + SYLLABLES)
        return decompose_syllable(c - SYLLABLE, to);
    const uint32_t *row = FIND(parts, c);
    if (row && row[0] == c) {
        memcpy(to, row + 1, MOST_PARTS * sizeof(*to));
        return !to[2] ? 2 : !to[3] ? 3 : 4;
    }
    row = FIND(part_singles, c);
    to[0] = row && row[0] == c ? row[1] : c;
    const struct sam_unicode_pair *pair = c < 0x80 ? NULL : find_pair(to[0]);
    if (!pair)
        return 1;
    const int count = decompose(pair->first, to);
    to[count] = pair->second;
    return count + 1;
}

// What two characters become; 0: nothing.
static uint32_t compose_two(uint32_t a, uint32_t b)
{
    if (a >= LEADING && a < LEADING + LEADINGS && b >= VOWEL && b < VOWEL + VOWELS)
        return SYLLABLE + ((a - LEADING) * VOWELS + b - VOWEL) * TRAILINGS;
    if (a >= SYLLABLE && a < SYLLABLE + SYLLABLES && (a - SYLLABLE) % TRAILINGS == 0 &&
        b > TRAILING && b < TRAILING + TRAILINGS)
        return a + b - TRAILING;
    int low = 0, high = sam_unicode_num_pairs;
    while (low < high) {
        const int middle = (low + high) / 2;
        const struct sam_unicode_pair *p = &sam_unicode_pairs[middle];
        if (p->first == a && p->second == b)
            return p->to;
        if (p->first < a || (p->first == a && p->second < b))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

// Into room, marks in the order of their classes. Returns how many; at most `most` are kept.
static int decompose_all(const uint32_t *text, int count, uint32_t *room, int most)
{
    uint32_t parts[MOST_PARTS];
    int n = 0;

    for (int i = 0; i < count; i++) {
        const int num = decompose(text[i], parts);
        for (int k = 0; k < num && n < most; k++, n++) {
            const int own = class_of(parts[k]);
            int at = n;
            for (; own && at > 0 && class_of(room[at - 1]) > own; at--)
                room[at] = room[at - 1];
            room[at] = parts[k];
        }
    }
    return n;
}

int sam_unicode_compose(uint32_t *text, int count, int most)
{
    uint32_t *room = text + most; // the caller's second half
    const int n = decompose_all(text, count, room, most);
    int kept = 0, starter = -1, last = -1; // last: class of what was kept behind the starter

    for (int i = 0; i < n; i++) {
        const int own = class_of(room[i]);
        const uint32_t to =
            starter >= 0 && (last < own || last < 0) ? compose_two(text[starter], room[i]) : 0;
        if (to) {
            text[starter] = to;
            continue;
        }
        if (!own) {
            starter = kept;
            last = -1;
        } else {
            last = own;
        }
        text[kept++] = room[i];
    }
    return kept;
}

int sam_unicode_lower(uint32_t c, uint32_t to[3])
{
    const uint32_t *run = FIND(lower_runs, c);

    to[0] = c;
    if (is_within(run, c) && (c - run[0]) % run[2] == 0) {
        to[0] = run[3] + (c - run[0]);
        return 1;
    }
    const uint32_t *row = FIND(lower_singles, c);
    if (row && row[0] == c)
        to[0] = row[1];
    row = FIND(lower_several, c);
    if (!row || row[0] != c)
        return 1;
    memcpy(to, row + 1, 3 * sizeof(*to));
    return to[2] ? 3 : 2;
}

enum sam_unicode_kind sam_unicode_kind(uint32_t c)
{
    return is_within(FIND(letters, c), c)   ? SAM_UNICODE_LETTER
           : is_within(FIND(numbers, c), c) ? SAM_UNICODE_NUMBER
           : is_within(FIND(blanks, c), c)  ? SAM_UNICODE_BLANK
                                            : SAM_UNICODE_OTHER;
}

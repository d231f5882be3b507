// SPDX-License-Identifier: MIT
// Characters as BERT's uncased tokenizer sees them, in one step per character: clean-up, canonical
// decomposition, accents stripped, lower case. The tables, unicode_tables.c, are written by
// tools/unicode_tables.py, which asks the published implementation.
#ifndef SAM_UNICODE_H
#define SAM_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What is left of one character.
struct sam_unicode_clean {
    int count; // characters in `to`; 0: it is dropped
    uint32_t to[3];
    bool is_apart;  // an ideograph: a word of its own
    bool is_space;  // it ends a word; count is 0
    bool ends_marks; // dropped, but marks are not reordered across it
};

void sam_unicode_clean(uint32_t c, struct sam_unicode_clean *out);

// Of a character that is left: punctuation, a word of its own.
bool sam_unicode_is_alone(uint32_t c);
// The canonical combining class; 0: it is not a mark.
int sam_unicode_mark_class(uint32_t c);

// The character at the start of `bytes` bytes of UTF-8, 1 or more. Returns how many it takes. A
// byte that begins no valid sequence is U+FFFD.
int sam_unicode_decode(const char *text, size_t bytes, uint32_t *c);
// Returns the bytes written.
int sam_unicode_encode(uint32_t c, char dst[4]);

// ---- As CLIP's tokenizer sees characters: unicode_case.c and the tables of case and parts.

// The canonical composition (NFC) of `count` characters, in place. text has room for twice `most`;
// of a decomposition of more than `most` characters the rest is dropped. Returns how many there are
// then.
int sam_unicode_compose(uint32_t *text, int count, int most);
// In lower case: 1 to 3 characters. Returns how many.
int sam_unicode_lower(uint32_t c, uint32_t to[3]);

enum sam_unicode_kind { SAM_UNICODE_OTHER, SAM_UNICODE_LETTER, SAM_UNICODE_NUMBER,
                        SAM_UNICODE_BLANK };
enum sam_unicode_kind sam_unicode_kind(uint32_t c);

// The last row of a table whose first number is at most c; NULL: none. A row is `width` numbers.
const uint32_t *sam_unicode_find_row(const void *table, int count, size_t width, uint32_t c);

// Rows of the tables, sorted by their first number.
struct sam_unicode_range {
    uint32_t first, last;
};

struct sam_unicode_mark {
    uint32_t first, last, class_number;
};

struct sam_unicode_run { // first becomes `to`, first + step to + step, and so on
    uint32_t first, last, step, to;
};

struct sam_unicode_single {
    uint32_t first, to;
};

struct sam_unicode_several { // to: ends with 0
    uint32_t first, to[3];
};

struct sam_unicode_parts { // to: ends with 0, or is full
    uint32_t first, to[4];
};

struct sam_unicode_pair {
    uint32_t first, second, to;
};

#define SAM_UNICODE_TABLE(kind, name)                        \
    extern const struct sam_unicode_##kind sam_unicode_##name[]; \
    extern const int sam_unicode_num_##name;
SAM_UNICODE_TABLE(range, dropped)
SAM_UNICODE_TABLE(range, ends)
SAM_UNICODE_TABLE(range, spaces)
SAM_UNICODE_TABLE(range, apart)
SAM_UNICODE_TABLE(range, alone)
SAM_UNICODE_TABLE(mark, marks)
SAM_UNICODE_TABLE(run, runs)
SAM_UNICODE_TABLE(single, singles)
SAM_UNICODE_TABLE(several, several)
SAM_UNICODE_TABLE(range, letters)
SAM_UNICODE_TABLE(range, numbers)
SAM_UNICODE_TABLE(range, blanks)
SAM_UNICODE_TABLE(parts, parts)
SAM_UNICODE_TABLE(single, part_singles)
SAM_UNICODE_TABLE(pair, pairs)
SAM_UNICODE_TABLE(mark, classes)
SAM_UNICODE_TABLE(run, lower_runs)
SAM_UNICODE_TABLE(single, lower_singles)
SAM_UNICODE_TABLE(several, lower_several)
#undef SAM_UNICODE_TABLE

#endif // SAM_UNICODE_H

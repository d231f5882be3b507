// SPDX-License-Identifier: MIT
// CLIP's tokenizer ("byte pair encoding"): the bytes of a word, of which pairs become one token as
// long as there is a pair that the vocabulary joins, the first of its list before all others. The
// vocabulary is the user's own file: tokenizer.json of Hugging Face's tokenizers, or vocab.json and
// merges.txt. Files are untrusted.
#ifndef SAM_BYTE_PAIRS_H
#define SAM_BYTE_PAIRS_H

#include <stdint.h>

#include "base/log.h"

// Taken from a text as they are, before all other rules.
#define SAM_BYTE_PAIRS_START "<|startoftext|>"
#define SAM_BYTE_PAIRS_END   "<|endoftext|>"

struct sam_joined_pair;

struct sam_byte_pairs {
    int size;                  // ids are below it
    int start, end;            // ids of what stands ahead of and behind every text
    int inner[256], last[256]; // ids of a byte: inside of a word, at its end

    struct sam_joined_pair *pair; // sorted by the ids that they join
    int num_pairs;
};

// Read those of the folder of a weights file. SAM_ENOTFOUND: neither is there. SAM_EFORMAT: a file
// is damaged, or lacks what is needed. SAM_EUNSUPPORTED: a tokenizer of other rules. On failure
// *out is NULL.
int sam_byte_pairs_open_beside(struct sam_byte_pairs **out, const char *weights,
                               struct sam_error *error);
void sam_byte_pairs_close(struct sam_byte_pairs **p);

enum { SAM_BYTE_PAIRS_TEXT = 4096 }; // bytes

// The ids of `bytes` bytes of UTF-8, less than SAM_BYTE_PAIRS_TEXT, from start to end: the first
// `most` of them are written. Returns how many there are. A byte that begins no valid sequence is
// U+FFFD.
int sam_byte_pairs_run(const struct sam_byte_pairs *p, const char *text, uint32_t bytes, int *out,
                       int most);

#endif // SAM_BYTE_PAIRS_H

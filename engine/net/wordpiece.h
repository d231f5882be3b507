// SPDX-License-Identifier: MIT
// BERT's uncased tokenizer ("WordPiece"): a text becomes the ids of the longest pieces of its words
// that the vocabulary has.
#ifndef SAM_WORDPIECE_H
#define SAM_WORDPIECE_H

#include <stdint.h>

#include "vocabulary.h"

enum { SAM_MAX_WORD = 100 }; // characters; a longer word is [UNK]

struct sam_piece {
    int id;
    uint32_t start, end; // bytes of the text: where its word is; [CLS], [SEP]: empty, at its ends
};

// The pieces of `bytes` bytes of UTF-8, from [CLS] to [SEP]: the first `most` of them are written.
// Returns how many there are. What is not UTF-8 is dropped.
int sam_wordpiece_run(const struct sam_vocabulary *v, const char *text, uint32_t bytes,
                      struct sam_piece *out, int most);

#endif // SAM_WORDPIECE_H

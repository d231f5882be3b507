// SPDX-License-Identifier: MIT
// From what a user writes to the tokens of a network: phrases, and which tokens see each other.
#ifndef SAM_WORDS_H
#define SAM_WORDS_H

#include "model/detector.h"
#include "net/byte_pairs.h"
#include "net/wordpiece.h"

enum { SAM_WORDS_BYTES = 4096 };

struct sam_phrases {
    int count;
    char text[SAM_WORDS_BYTES];           // all of them, each ends with NUL
    const char *phrase[SAM_MAX_PHRASES];  // in it
};

// The tokenizer of a network, one of the two; both NULL: it takes no words.
struct sam_tokenizer {
    struct sam_vocabulary *pieces;
    struct sam_byte_pairs *pairs;
};

// From the vocabulary beside a weights file. SAM_ENOTFOUND: there is none.
int sam_tokenizer_open_beside(struct sam_tokenizer *t, enum sam_tokenizer_kind kind,
                              const char *weights, struct sam_error *error);
void sam_tokenizer_close(struct sam_tokenizer *t);
int sam_tokenizer_size(const struct sam_tokenizer *t); // ids are below it

// Read words into tokens and phrases; the rest of *text stays as it is. words NULL: none. unknown:
// the words of which the vocabulary has no piece, for a sentence, as many as fit; empty: none. On
// failure neither text nor phrases is changed.
int sam_words_read(struct sam_text *text, struct sam_phrases *phrases,
                   const struct sam_tokenizer *tokenizer, const char *words, char unknown[120],
                   struct sam_error *error);

// The best score of each phrase among all candidates; 0 for a phrase without words. score: logits
// of (1, 1, candidates, tokens), in host memory.
void sam_words_rate(const struct sam_text *text, const struct sam_tensor *score,
                    float best[SAM_MAX_PHRASES]);

#endif // SAM_WORDS_H

// SPDX-License-Identifier: MIT
// The vocabulary of BERT's uncased tokenizer, from the user's own file: vocab.txt, a token a line,
// or tokenizer.json of Hugging Face's tokenizers. Files are untrusted.
#ifndef SAM_VOCABULARY_H
#define SAM_VOCABULARY_H

#include <stddef.h>

#include "base/log.h"

enum { SAM_MAX_SPECIALS = 16, SAM_MAX_VOCABULARY = 1 << 18 }; // published: 5, 30522 to 119547

// A token that is taken from the text as it is, before all other rules: "[SEP]".
struct sam_special {
    const char *text;
    size_t bytes;
    int id;
};

struct sam_vocabulary {
    int size;    // ids are below it
    int longest; // bytes of the longest token
    int cls, sep, unk, stop, question; // ids: [CLS], [SEP], [UNK], ".", "?"
    struct sam_special special[SAM_MAX_SPECIALS];
    int num_specials;

    struct sam_vocabulary_entry *entry; // sorted by their bytes
    int num_entries;
    char *text; // of all entries
};

// Read a file; one whose name ends in .json is a tokenizer.json. SAM_EFORMAT: it is damaged, or
// lacks a token that is needed. SAM_EUNSUPPORTED: a tokenizer of other rules. On failure *out is
// NULL.
int sam_vocabulary_open(struct sam_vocabulary **out, const char *path, struct sam_error *error);
// That of the folder of a weights file: tokenizer.json, or else vocab.txt. SAM_ENOTFOUND: neither.
int sam_vocabulary_open_beside(struct sam_vocabulary **out, const char *weights,
                               struct sam_error *error);
void sam_vocabulary_close(struct sam_vocabulary **v);

// The id of a token: `prefix`, then `bytes` bytes of text. -1: there is none.
int sam_vocabulary_find(const struct sam_vocabulary *v, const char *prefix, const char *text,
                        size_t bytes);

#endif // SAM_VOCABULARY_H

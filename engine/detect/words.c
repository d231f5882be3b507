// SPDX-License-Identifier: MIT
#include "words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// The phrases as one text in which each ends in a full stop, and where each of them ends in it.
struct joined {
    char text[2 * SAM_WORDS_BYTES];
    uint32_t bytes, end[SAM_MAX_PHRASES];
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void add_phrase(struct sam_phrases *p, struct joined *j, char **room, const char *from,
                       size_t bytes)
{
    p->phrase[p->count] = *room;
    memcpy(*room, from, bytes);
    (*room)[bytes] = '\0';
    *room += bytes + 1;
    memcpy(j->text + j->bytes, from, bytes);
    memcpy(j->text + j->bytes + bytes, ". ", 2);
    j->end[p->count++] = j->bytes + (uint32_t) bytes;
    j->bytes += (uint32_t) bytes + 2;
}

static int split(struct sam_phrases *p, struct joined *j, const char *words,
                 struct sam_error *error)
{
    const size_t all = words ? strlen(words) : 0;
    char *room = p->text;

    if (all >= SAM_WORDS_BYTES - 1)
        return sam_fail(error, SAM_EINVAL, "words of %zu bytes are too long, expected at most %d",
                        all, SAM_WORDS_BYTES - 2);
    for (size_t at = 0; at < all;) {
        size_t length = strcspn(words + at, "."), first = at;
        at += length + 1;
        for (; length && is_blank(words[first]); first++)
            length--;
        while (length && is_blank(words[first + length - 1]))
            length--;
        if (!length)
            continue;
        if (p->count == SAM_MAX_PHRASES)
            return sam_fail(error, SAM_EINVAL, "words: more than %d phrases", SAM_MAX_PHRASES);
        add_phrase(p, j, &room, words + first, length);
    }
    if (j->bytes)
        j->bytes--; // no blank behind the last full stop
    return SAM_OK;
}

static bool ends_piece(const struct sam_vocabulary *v, int id)
{
    return id == v->cls || id == v->sep || id == v->stop || id == v->question;
}

// Tokens up to one that ends a piece are one. The published code leaves the tokens alone behind the
// last full stop but for [SEP]; here there are none, for every text ends in one.
static void find_pieces(struct sam_text *t, const struct sam_vocabulary *v)
{
    int start = 0;

    for (int i = 0; i < t->tokens; i++) {
        t->piece[i] = start;
        t->place[i] = i - start;
        if (ends_piece(v, t->id[i]))
            start = i + 1;
    }
}

static void note_unknown(char unknown[120], const char *word, uint32_t bytes)
{
    const size_t used = strlen(unknown);
    const int cut = sam_text_cut(word, bytes, 40);

    if (used + (size_t) cut + 5 < 120)
        snprintf(unknown + used, 120 - used, "%s'%.*s'", used ? ", " : "", cut, word);
}

// Phrases of tokens, and words that are not known.
static int find_phrases(struct sam_text *t, const struct sam_phrases *p, const struct joined *j,
                        const struct sam_vocabulary *v, const struct sam_piece *pieces,
                        char unknown[120], struct sam_error *error)
{
    int known[SAM_MAX_PHRASES] = { 0 }, phrase = 0;

    unknown[0] = '\0';
    for (int i = 0; i < t->tokens; i++) {
        const struct sam_piece *x = &pieces[i];
        while (phrase < p->count - 1 && x->start > j->end[phrase])
            phrase++;
        t->id[i] = x->id;
        t->phrase[i] = ends_piece(v, x->id) || !p->count ? -1 : phrase;
        if (t->phrase[i] < 0)
            continue;
        known[phrase] += x->id != v->unk;
        if (x->id == v->unk)
            note_unknown(unknown, j->text + x->start, x->end - x->start);
    }
    for (int k = 0; k < p->count; k++)
        if (!known[k])
            return sam_fail(error, SAM_EINVAL,
                            "words: the phrase '%.*s' has no word of which the vocabulary has a "
                            "piece", sam_text_cut(p->phrase[k], strlen(p->phrase[k]), 60),
                            p->phrase[k]);
    return SAM_OK;
}

static int read_pieces(struct sam_text *t, const struct sam_phrases *p, struct joined *joined,
                       const struct sam_vocabulary *v, char unknown[120], struct sam_error *error)
{
    struct sam_piece pieces[SAM_MAX_TOKENS];

    if (!p->count) // what is encoded then is never asked for
        joined->bytes = (uint32_t) snprintf(joined->text, sizeof(joined->text), ".");
    t->tokens = sam_wordpiece_run(v, joined->text, joined->bytes, pieces, SAM_MAX_TOKENS);
    if (t->tokens > t->most)
        return sam_fail(error, SAM_EINVAL, "words: %d tokens, expected at most %d", t->tokens,
                        t->most);
    const int status = find_phrases(t, p, joined, v, pieces, unknown, error);
    if (!status)
        find_pieces(t, v);
    return status;
}

// Each phrase by itself; every word has tokens, if only of its bytes.
static int read_pairs(struct sam_text *t, const struct sam_phrases *p,
                      const struct sam_byte_pairs *v, char unknown[120], struct sam_error *error)
{
    const int all = p->count ? p->count : 1; // what is encoded without any is never asked for

    unknown[0] = '\0';
    t->tokens = 0;
    for (int k = 0; k < all; k++) {
        const char *phrase = p->count ? p->phrase[k] : "";
        const int first = t->tokens, left = t->most - first;
        const int count = sam_byte_pairs_run(v, phrase, (uint32_t) strlen(phrase), t->id + first,
                                             left);
        if (count > t->most_of_phrase)
            return sam_fail(error, SAM_EINVAL,
                            "words: the phrase '%.*s' has %d tokens, expected at most %d",
                            sam_text_cut(phrase, strlen(phrase), 60), phrase, count,
                            t->most_of_phrase);
        if (count > left)
            return sam_fail(error, SAM_EINVAL, "words: more than %d tokens of all phrases",
                            t->most);
        for (int i = first; i < first + count; i++) {
            t->piece[i] = first;
            t->place[i] = i - first;
            t->phrase[i] = p->count ? k : -1;
        }
        t->tokens += count;
    }
    return SAM_OK;
}

int sam_words_read(struct sam_text *text, struct sam_phrases *phrases,
                   const struct sam_tokenizer *tokenizer, const char *words, char unknown[120],
                   struct sam_error *error)
{
    struct joined joined = { .bytes = 0 };
    struct sam_phrases p = { 0 };
    struct sam_text t = *text;
    int status = split(&p, &joined, words, error);

    t.phrases = p.count;
    if (!status)
        status = tokenizer->pieces
                     ? read_pieces(&t, &p, &joined, tokenizer->pieces, unknown, error)
                     : read_pairs(&t, &p, tokenizer->pairs, unknown, error);
    if (status)
        return status;
    *text = t;
    *phrases = p;
    for (int k = 0; k < p.count; k++)
        phrases->phrase[k] = phrases->text + (p.phrase[k] - p.text);
    return SAM_OK;
}

// ---- the tokenizer

int sam_tokenizer_open_beside(struct sam_tokenizer *t, enum sam_tokenizer_kind kind,
                              const char *weights, struct sam_error *error)
{
    return kind == SAM_BYTE_PAIRS ? sam_byte_pairs_open_beside(&t->pairs, weights, error)
                                  : sam_vocabulary_open_beside(&t->pieces, weights, error);
}

void sam_tokenizer_close(struct sam_tokenizer *t)
{
    sam_byte_pairs_close(&t->pairs);
    sam_vocabulary_close(&t->pieces);
}

int sam_tokenizer_size(const struct sam_tokenizer *t)
{
    return t->pairs ? t->pairs->size : t->pieces->size;
}

// ---- scores

void sam_words_rate(const struct sam_text *text, const struct sam_tensor *score,
                    float best[SAM_MAX_PHRASES])
{
    const float *logits = score->data;

    for (int k = 0; k < SAM_MAX_PHRASES; k++)
        best[k] = -INFINITY;
    for (int i = 0; i < score->w; i++, logits += score->c)
        for (int t = 0; t < text->tokens; t++)
            if (text->phrase[t] >= 0 && logits[t] > best[text->phrase[t]])
                best[text->phrase[t]] = logits[t];
    for (int k = 0; k < SAM_MAX_PHRASES; k++)
        best[k] = 1 / (1 + expf(-best[k]));
}

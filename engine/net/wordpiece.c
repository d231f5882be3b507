// SPDX-License-Identifier: MIT
#include "wordpiece.h"

#include <stdbool.h>
#include <string.h>

#include "unicode.h"

struct state {
    const struct sam_vocabulary *v;
    struct sam_piece *out;
    int most, count; // of out

    // The word that is being read.
    uint32_t word[SAM_MAX_WORD];
    int length;     // characters so far; beyond SAM_MAX_WORD they are not kept
    int run;        // marks are not moved ahead of here
    uint32_t start, end;
};

static void put(struct state *s, int id, uint32_t start, uint32_t end)
{
    if (s->count < s->most)
        s->out[s->count] = (struct sam_piece) { id, start, end };
    s->count++;
}

// Splits the word, whose character i ends at at[i + 1], greedily. Returns the number of ids; 0: a
// rest of it is no piece.
static int split(const struct sam_vocabulary *v, const char *word, const int *at, int length,
                 int ids[SAM_MAX_WORD])
{
    int count = 0, from = 0;

    while (from < length) {
        const char *prefix = from ? "##" : "";
        int to = length, id = -1;
        for (; to > from; to--) {
            const int bytes = at[to] - at[from];
            if (bytes <= v->longest &&
                (id = sam_vocabulary_find(v, prefix, word + at[from], (size_t) bytes)) >= 0)
                break;
        }
        if (id < 0)
            return 0;
        ids[count++] = id;
        from = to;
    }
    return count;
}

static void end_word(struct state *s)
{
    char word[4 * SAM_MAX_WORD];
    int at[SAM_MAX_WORD + 1] = { 0 }, ids[SAM_MAX_WORD], count = 0;
    const int length = s->length;

    s->length = s->run = 0;
    if (!length)
        return;
    if (length <= SAM_MAX_WORD) {
        for (int i = 0; i < length; i++)
            at[i + 1] = at[i] + sam_unicode_encode(s->word[i], word + at[i]);
        count = split(s->v, word, at, length, ids);
    }
    for (int i = 0; i < count; i++)
        put(s, ids[i], s->start, s->end);
    if (!count)
        put(s, s->v->unk, s->start, s->end);
}

// Marks at the end of the word are kept in the order of their classes, as the canonical
// decomposition has them.
static void add_character(struct state *s, uint32_t c, uint32_t start, uint32_t end)
{
    const int class_number = sam_unicode_mark_class(c);

    if (!s->length)
        s->start = start;
    s->end = end;
    if (s->length < SAM_MAX_WORD) {
        int i = s->length;
        for (; class_number && i > s->run; i--) {
            if (sam_unicode_mark_class(s->word[i - 1]) <= class_number)
                break;
            s->word[i] = s->word[i - 1];
        }
        s->word[i] = c;
    }
    if (s->length <= SAM_MAX_WORD)
        s->length++;
}

static void read_character(struct state *s, uint32_t c, uint32_t start, uint32_t end)
{
    struct sam_unicode_clean clean;

    sam_unicode_clean(c, &clean);
    if (clean.is_space || clean.is_apart)
        end_word(s);
    if (clean.ends_marks)
        s->run = s->length;
    for (int i = 0; i < clean.count; i++) {
        const bool is_alone = sam_unicode_is_alone(clean.to[i]);
        if (is_alone)
            end_word(s);
        add_character(s, clean.to[i], start, end);
        if (is_alone)
            end_word(s);
    }
    if (clean.is_apart)
        end_word(s);
}

// The longest token that the text begins with and that is taken as it is.
static const struct sam_special *find_special(const struct sam_vocabulary *v, const char *text,
                                              uint32_t bytes)
{
    const struct sam_special *best = NULL;

    for (int i = 0; i < v->num_specials; i++) {
        const struct sam_special *x = &v->special[i];
        if (x->bytes <= bytes && (!best || x->bytes > best->bytes) &&
            !memcmp(text, x->text, x->bytes))
            best = x;
    }
    return best;
}

int sam_wordpiece_run(const struct sam_vocabulary *v, const char *text, uint32_t bytes,
                      struct sam_piece *out, int most)
{
    struct state s = { .v = v, .out = out, .most = most };
    uint32_t at = 0, c;

    put(&s, v->cls, 0, 0);
    while (at < bytes) {
        const struct sam_special *special = find_special(v, text + at, bytes - at);
        uint32_t end = at;
        if (special) {
            end += (uint32_t) special->bytes;
            end_word(&s);
            put(&s, special->id, at, end);
        } else {
            end += (uint32_t) sam_unicode_decode(text + at, bytes - at, &c);
            read_character(&s, c, at, end);
        }
        at = end;
    }
    end_word(&s);
    put(&s, v->sep, bytes, bytes);
    return s.count;
}

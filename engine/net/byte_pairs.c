// SPDX-License-Identifier: MIT
#include "byte_pairs.h"

#include <stdbool.h>
#include <string.h>

#include "joined_pairs.h"
#include "unicode.h"

enum { MOST = SAM_BYTE_PAIRS_TEXT, NO_RANK = INT32_MAX };

struct state {
    const struct sam_byte_pairs *p;
    int *out, most, count;
};

static void put(struct state *s, int id)
{
    if (s->count < s->most)
        s->out[s->count] = id;
    s->count++;
}

// The pair with the next token that counts: `next[i]`. Returns its rank.
static int rank_of(const struct sam_byte_pairs *p, const int *id, const uint16_t *next, int i,
                   int length)
{
    const struct sam_joined_pair *x =
        next[i] < length ? sam_joined_pair_find(p, id[i], id[next[i]]) : NULL;

    return x ? x->rank : NO_RANK;
}

// The tokens of one word. Those that were joined to the one before are skipped by `next`.
static void join(struct state *s, const uint8_t *word, int length)
{
    int id[MOST], rank[MOST];
    uint16_t next[MOST], before[MOST];

    for (int i = 0; i < length; i++) {
        id[i] = i < length - 1 ? s->p->inner[word[i]] : s->p->last[word[i]];
        next[i] = (uint16_t) (i + 1);
        before[i] = (uint16_t) (i ? i - 1 : 0);
    }
    for (int i = 0; i < length; i++)
        rank[i] = rank_of(s->p, id, next, i, length);
    for (;;) {
        int best = 0;
        for (int i = 0; i < length; i = next[i])
            if (rank[i] < rank[best])
                best = i;
        if (rank[best] == NO_RANK)
            break;
        id[best] = sam_joined_pair_find(s->p, id[best], id[next[best]])->id;
        next[best] = next[next[best]];
        if (next[best] < length)
            before[next[best]] = (uint16_t) best;
        rank[best] = rank_of(s->p, id, next, best, length);
        if (best)
            rank[before[best]] = rank_of(s->p, id, next, before[best], length);
    }
    for (int i = 0; i < length; i = next[i])
        put(s, id[i]);
}

// How many of the characters are one of 's 't 're 've 'm 'll 'd.
static int ending(const uint32_t *text, int count)
{
    static const char *const endings[] = { "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" };

    for (size_t k = 0; k < sizeof(endings) / sizeof(endings[0]); k++) {
        int i = 0;
        while (endings[k][i] && i < count && text[i] == (uint8_t) endings[k][i])
            i++;
        if (!endings[k][i])
            return i;
    }
    return 0;
}

// The length of the word at the beginning of the text, which is no blank.
static int measure(const uint32_t *text, int count)
{
    const enum sam_unicode_kind kind = sam_unicode_kind(text[0]);
    int length = ending(text, count);

    if (length || kind == SAM_UNICODE_NUMBER)
        return length ? length : 1;
    for (length = 1; length < count && sam_unicode_kind(text[length]) == kind;)
        length++;
    return length;
}

// Words of characters that are composed and in lower case.
static void split(struct state *s, const uint32_t *text, int count)
{
    for (int i = 0, length; i < count; i += length) {
        char word[MOST];
        int bytes = 0;
        length = 1;
        if (sam_unicode_kind(text[i]) == SAM_UNICODE_BLANK)
            continue;
        length = measure(text + i, count - i);
        for (int k = 0; k < length && bytes <= MOST - 4; k++)
            bytes += sam_unicode_encode(text[i + k], word + bytes);
        join(s, (const uint8_t *) word, bytes);
    }
}

static void read(struct state *s, const char *text, uint32_t bytes)
{
    uint32_t wide[4 * MOST], low[2 * MOST];
    int count = 0, n = 0;

    for (uint32_t at = 0; at < bytes && count < MOST; count++)
        at += (uint32_t) sam_unicode_decode(text + at, bytes - at, &wide[count]);
    count = sam_unicode_compose(wide, count, 2 * MOST);
    for (int i = 0; i < count && n <= 2 * MOST - 3; i++)
        n += sam_unicode_lower(wide[i], low + n);
    split(s, low, n);
}

// Whether the text begins with a token that is taken as it is, whatever stands around it.
static uint32_t find_special(const struct sam_byte_pairs *p, const char *text, uint32_t bytes,
                             int *id)
{
    const struct {
        const char *token;
        int id;
    } specials[] = { { SAM_BYTE_PAIRS_START, p->start }, { SAM_BYTE_PAIRS_END, p->end } };

    for (int i = 0; i < 2; i++) {
        const uint32_t length = (uint32_t) strlen(specials[i].token);
        *id = specials[i].id;
        if (length <= bytes && !memcmp(text, specials[i].token, length))
            return length;
    }
    return 0;
}

int sam_byte_pairs_run(const struct sam_byte_pairs *p, const char *text, uint32_t bytes, int *out,
                       int most)
{
    struct state s = { .p = p, .out = out, .most = most };
    uint32_t first = 0;
    int id;

    put(&s, p->start);
    for (uint32_t at = 0, length; at < bytes; at += length ? length : 1) {
        length = find_special(p, text + at, bytes - at, &id);
        if (!length)
            continue;
        read(&s, text + first, at - first);
        put(&s, id);
        first = at + length;
    }
    read(&s, text + first, bytes - first);
    put(&s, p->end);
    return s.count;
}

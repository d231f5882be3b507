// SPDX-License-Identifier: MIT
// Reading the vocabulary of CLIP's tokenizer.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "joined_pairs.h"
#include "text_file.h"
#include "unicode.h"

#define LAST "</w>" // behind the last byte of a word

enum { MOST_IDS = 1 << 18, MOST_TOKEN = 4096 }; // published: 49408; bytes

// ---- pairs

static int compare(const void *a, const void *b)
{
    const struct sam_joined_pair *x = a, *y = b;

    return x->left != y->left     ? (x->left > y->left) - (x->left < y->left)
           : x->right != y->right ? (x->right > y->right) - (x->right < y->right)
                                  : (x->rank > y->rank) - (x->rank < y->rank);
}

const struct sam_joined_pair *sam_joined_pair_find(const struct sam_byte_pairs *p, int left,
                                                   int right)
{
    int low = 0, high = p->num_pairs;

    while (low < high) {
        const int middle = (low + high) / 2;
        const struct sam_joined_pair *x = &p->pair[middle];
        if (x->left == left && x->right == right)
            return x;
        if (x->left < left || (x->left == left && x->right < right))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

// Of equal pairs the last one counts, as in the published reader.
static void sort_pairs(struct sam_byte_pairs *p)
{
    int count = 0;

    qsort(p->pair, (size_t) p->num_pairs, sizeof(*p->pair), compare);
    for (int i = 0; i < p->num_pairs; i++) {
        const struct sam_joined_pair *x = &p->pair[i];
        if (count && p->pair[count - 1].left == x->left && p->pair[count - 1].right == x->right)
            count--;
        p->pair[count++] = *x;
    }
    p->num_pairs = count;
}

// ---- tokens

// What is read: the ids of tokens, and for whom.
struct reading {
    const char *label;
    const json_t *vocab;
    struct sam_error *error;
    struct sam_byte_pairs *p;
};

static int find_id(const struct reading *r, const char *token, int *id)
{
    const json_t *value = json_object_get(r->vocab, token);
    const json_int_t got = json_is_integer(value) ? json_integer_value(value) : -1;

    if (!value)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: expected the vocabulary of CLIP's tokenizer, found no token '%.60s'",
                        r->label, token);
    if (got < 0 || got >= MOST_IDS)
        return sam_fail(r->error, SAM_EFORMAT, "%s: token '%.60s': expected an id from 0 to %d",
                        r->label, token, MOST_IDS - 1);
    *id = (int) got;
    return SAM_OK;
}

// The printable character that stands for a byte: itself, where it is one.
static uint32_t letter_of(int byte)
{
    int rest = 0;

    for (int b = 0; b <= byte; b++) {
        const bool is_own = (b >= 33 && b < 127) || (b >= 161 && b < 173) || b >= 174;
        if (b == byte)
            return is_own ? (uint32_t) b : 256 + (uint32_t) rest;
        rest += !is_own;
    }
    return 0;
}

static int read_letters(const struct reading *r)
{
    int status = SAM_OK;

    for (int b = 0; b < 256 && !status; b++) {
        char token[16];
        const int bytes = sam_unicode_encode(letter_of(b), token);
        token[bytes] = '\0';
        status = find_id(r, token, &r->p->inner[b]);
        strcat(token, LAST);
        if (!status)
            status = find_id(r, token, &r->p->last[b]);
    }
    if (!status)
        status = find_id(r, SAM_BYTE_PAIRS_START, &r->p->start);
    return status ? status : find_id(r, SAM_BYTE_PAIRS_END, &r->p->end);
}

static int count_ids(const struct reading *r)
{
    json_t *all = (json_t *) r->vocab, *value; // jansson's walks take no constant
    const char *token;
    int size = 0, id = 0;

    json_object_foreach(all, token, value)
    {
        const int status = find_id(r, token, &id);
        if (status)
            return status;
        size = id >= size ? id + 1 : size;
    }
    r->p->size = size;
    return SAM_OK;
}

static int add_pair(const struct reading *r, const char *left, size_t bytes, const char *right)
{
    struct sam_joined_pair *x = &r->p->pair[r->p->num_pairs];
    char token[MOST_TOKEN];
    int status;

    if (!bytes || !*right || bytes + strlen(right) >= MOST_TOKEN)
        return sam_fail(r->error, SAM_EFORMAT, "%s: pair %d: expected two tokens, found '%.60s'",
                        r->label, r->p->num_pairs, left);
    memcpy(token, left, bytes);
    token[bytes] = '\0';
    status = find_id(r, token, &x->left);
    strcpy(token + bytes, right);
    if (!status)
        status = find_id(r, right, &x->right);
    if (!status)
        status = find_id(r, token, &x->id);
    x->rank = r->p->num_pairs++;
    return status;
}

static int begin_pairs(const struct reading *r, size_t count)
{
    if (count > MOST_IDS)
        return sam_fail(r->error, SAM_EFORMAT, "%s: expected at most %d pairs, got %zu", r->label,
                        MOST_IDS, count);
    r->p->pair = malloc((count + 1) * sizeof(*r->p->pair));
    return r->p->pair ? SAM_OK
                      : sam_fail(r->error, SAM_ENOMEM, "no memory for %zu pairs of tokens", count);
}

static int read_vocab(struct reading *r)
{
    int status;

    if (!json_is_object(r->vocab))
        return sam_fail(r->error, SAM_EFORMAT, "%s: expected an object of tokens and their ids",
                        r->label);
    status = read_letters(r);
    return status ? status : count_ids(r);
}

// ---- tokenizer.json

static int check_rules(const struct reading *r, const json_t *root)
{
    const json_t *model = json_object_get(root, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    const char *suffix = json_string_value(json_object_get(model, "end_of_word_suffix"));
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));

    if (type && strcmp(type, "BPE"))
        return sam_fail(r->error, SAM_EUNSUPPORTED,
                        "%s: key 'model.type': expected \"BPE\", as CLIP's tokenizer has it, got "
                        "\"%.40s\"",
                        r->label, type);
    if (!suffix || strcmp(suffix, LAST))
        return sam_fail(r->error, SAM_EUNSUPPORTED,
                        "%s: key 'model.end_of_word_suffix': expected \"" LAST "\", as CLIP's "
                        "tokenizer has it, got %s%.40s",
                        r->label, suffix ? "" : "nothing", suffix ? suffix : "");
    if (prefix && *prefix)
        return sam_fail(r->error, SAM_EUNSUPPORTED,
                        "%s: key 'model.continuing_subword_prefix': expected none, got \"%.40s\"",
                        r->label, prefix);
    return SAM_OK;
}

// A pair is "a b", or ["a", "b"] in newer files.
static int read_pair(const struct reading *r, const json_t *pair)
{
    const char *text = json_string_value(pair), *space = text ? strchr(text, ' ') : NULL;
    const char *left = json_string_value(json_array_get(pair, 0));
    const char *right = json_string_value(json_array_get(pair, 1));

    if (space)
        return add_pair(r, text, (size_t) (space - text), space + 1);
    if (left && right)
        return add_pair(r, left, strlen(left), right);
    return sam_fail(r->error, SAM_EFORMAT, "%s: key 'model.merges': expected two tokens at %d",
                    r->label, r->p->num_pairs);
}

static int read_whole(struct reading *r, const json_t *root)
{
    const json_t *model = json_object_get(root, "model");
    const json_t *merges = json_object_get(model, "merges");
    int status = check_rules(r, root);

    r->vocab = json_object_get(model, "vocab");
    if (!status)
        status = read_vocab(r);
    if (!status)
        status = begin_pairs(r, json_array_size(merges));
    for (size_t i = 0; i < json_array_size(merges) && !status; i++)
        status = read_pair(r, json_array_get(merges, i));
    return status;
}

// ---- vocab.json and merges.txt

static int read_line(const struct reading *r, char *line)
{
    char *space = strchr(line, ' ');

    if (!*line || !strncmp(line, "#version", 8))
        return SAM_OK;
    if (!space)
        return sam_fail(r->error, SAM_EFORMAT, "%s: expected two tokens in a line, found '%.60s'",
                        r->label, line);
    return add_pair(r, line, (size_t) (space - line), space + 1);
}

static int read_lines(struct reading *r, const char *weights)
{
    char path[SAM_TEXT_FILE_PATH];
    size_t bytes = 0, lines = 1;
    int status = sam_text_file_beside(path, weights, "merges.txt", r->error);

    if (status)
        return status;
    r->label = sam_text_end(path, SAM_TEXT_FILE_LABEL);
    char *text = sam_text_file_read(path, r->label, &bytes, &status, r->error);
    if (!text)
        return status == SAM_ENOTFOUND ? SAM_EIO : status;
    text[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    status = begin_pairs(r, lines);
    for (char *line = text, *end; line && !status; line = end) {
        if ((end = strchr(line, '\n')))
            *end++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        status = read_line(r, line);
    }
    free(text);
    return status;
}

// ---- both

static int read_json(struct reading *r, const char *weights, const char *text, size_t bytes,
                     bool is_whole)
{
    json_error_t at;
    json_t *root = json_loadb(text, bytes, 0, &at);
    int status;

    if (!root)
        return sam_fail(r->error, SAM_EFORMAT, "%s: is not valid JSON: %s (line %d)", r->label,
                        at.text, at.line);
    if (is_whole) {
        status = read_whole(r, root);
    } else {
        r->vocab = root;
        status = read_vocab(r);
        if (!status)
            status = read_lines(r, weights);
    }
    json_decref(root);
    return status;
}

// SAM_ENOTFOUND: there is no such file.
static int open_one(struct sam_byte_pairs **out, const char *weights, const char *name,
                    bool is_whole, struct sam_error *error)
{
    char path[SAM_TEXT_FILE_PATH];
    size_t bytes = 0;
    int status = sam_text_file_beside(path, weights, name, error);

    if (status)
        return status;
    const char *label = sam_text_end(path, SAM_TEXT_FILE_LABEL);
    char *text = sam_text_file_read(path, label, &bytes, &status, error);
    if (!text)
        return status;
    struct reading r = { .label = label, .error = error, .p = calloc(1, sizeof(*r.p)) };
    status = r.p ? read_json(&r, weights, text, bytes, is_whole)
                 : sam_fail(error, SAM_ENOMEM, "%s: no memory for a vocabulary", label);
    free(text);
    if (status)
        sam_byte_pairs_close(&r.p);
    else
        sort_pairs(r.p);
    *out = r.p;
    return status;
}

int sam_byte_pairs_open_beside(struct sam_byte_pairs **out, const char *weights,
                               struct sam_error *error)
{
    struct sam_error ignored;
    int status = open_one(out, weights, "tokenizer.json", true, &ignored);

    if (status == SAM_ENOTFOUND)
        status = open_one(out, weights, "vocab.json", false, &ignored);
    if (!status)
        return SAM_OK;
    *out = NULL;
    if (status != SAM_ENOTFOUND) {
        if (error)
            *error = ignored;
        return status;
    }
    return sam_fail(error, SAM_ENOTFOUND,
                    "%s: expected its vocabulary, tokenizer.json or vocab.json and merges.txt, in "
                    "the same folder, found neither",
                    sam_text_end(weights, SAM_TEXT_FILE_LABEL));
}

void sam_byte_pairs_close(struct sam_byte_pairs **p)
{
    if (*p)
        free((*p)->pair);
    free(*p);
    *p = NULL;
}

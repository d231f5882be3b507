// SPDX-License-Identifier: MIT
#include "vocabulary.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"
#include "unicode.h"

struct sam_vocabulary_entry {
    uint32_t at, bytes; // in the text
    int id;
};

// ---- the list of tokens

static int compare(const char *text, const struct sam_vocabulary_entry *e, const char *prefix,
                   size_t prefix_bytes, const char *rest, size_t rest_bytes)
{
    const size_t head = e->bytes < prefix_bytes ? e->bytes : prefix_bytes;
    int order = memcmp(text + e->at, prefix, head);

    if (order || e->bytes < prefix_bytes)
        return order ? order : -1;
    const size_t left = e->bytes - prefix_bytes;
    order = memcmp(text + e->at + prefix_bytes, rest, left < rest_bytes ? left : rest_bytes);
    return order ? order : (left > rest_bytes) - (left < rest_bytes);
}

static const struct sam_vocabulary_entry *find_entry(const struct sam_vocabulary *v,
                                                     const char *prefix, const char *text,
                                                     size_t bytes)
{
    const size_t prefix_bytes = strlen(prefix);
    int low = 0, high = v->num_entries;

    while (low < high) {
        const int middle = (low + high) / 2;
        const struct sam_vocabulary_entry *e = &v->entry[middle];
        const int order = compare(v->text, e, prefix, prefix_bytes, text, bytes);
        if (!order)
            return e;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int sam_vocabulary_find(const struct sam_vocabulary *v, const char *prefix, const char *text,
                        size_t bytes)
{
    const struct sam_vocabulary_entry *e = find_entry(v, prefix, text, bytes);

    return e ? e->id : -1;
}

// While entries are sorted `text` lies before each: qsort() has no argument for it.
struct sorted {
    const char *text;
    struct sam_vocabulary_entry entry;
};

static int compare_entries(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const int order = compare(x->text, &x->entry, "", 0, y->text + y->entry.at, y->entry.bytes);

    return order ? order : (x->entry.id > y->entry.id) - (x->entry.id < y->entry.id);
}

// Of equal tokens the last one counts, as in the published reader.
static int sort_entries(struct sam_vocabulary *v, struct sam_error *error)
{
    struct sorted *all = malloc(((size_t) v->num_entries + 1) * sizeof(*all));
    int count = 0;

    if (!all)
        return sam_fail(error, SAM_ENOMEM, "no memory for a vocabulary of %d tokens",
                        v->num_entries);
    for (int i = 0; i < v->num_entries; i++)
        all[i] = (struct sorted) { v->text, v->entry[i] };
    qsort(all, (size_t) v->num_entries, sizeof(*all), compare_entries);
    for (int i = 0; i < v->num_entries; i++) {
        const struct sam_vocabulary_entry *e = &all[i].entry, *last = &v->entry[count - 1];
        if (count && !compare(v->text, last, "", 0, v->text + e->at, e->bytes))
            count--;
        v->entry[count++] = *e;
    }
    v->num_entries = count;
    free(all);
    return SAM_OK;
}

static void add_entry(struct sam_vocabulary *v, size_t at, size_t bytes, int id)
{
    v->entry[v->num_entries++] =
        (struct sam_vocabulary_entry) { (uint32_t) at, (uint32_t) bytes, id };
    v->size = id >= v->size ? id + 1 : v->size;
    v->longest = (int) bytes > v->longest ? (int) bytes : v->longest;
}

static int take_memory(struct sam_vocabulary *v, size_t entries, size_t bytes,
                       struct sam_error *error)
{
    v->entry = malloc((entries + 1) * sizeof(*v->entry));
    v->text = malloc(bytes + 1);
    return v->entry && v->text ? SAM_OK
                               : sam_fail(error, SAM_ENOMEM,
                                          "no memory for a vocabulary of %zu tokens", entries);
}

// ---- vocab.txt

static int check_count(const char *label, size_t count, struct sam_error *error)
{
    if (count >= 1 && count <= SAM_MAX_VOCABULARY)
        return SAM_OK;
    return sam_fail(error, SAM_EFORMAT, "%s: expected 1 to %d tokens, got %zu", label,
                    SAM_MAX_VOCABULARY, count);
}

static bool is_utf8(const char *text, size_t bytes)
{
    uint32_t c;
    int used;

    for (size_t at = 0; at < bytes; at += (size_t) used) {
        used = sam_unicode_decode(text + at, bytes - at, &c);
        if (used == 1 && (uint8_t) text[at] >= 0x80)
            return false;
    }
    return true;
}

// A vocab.txt does not say which tokens are special.
static void add_usual_specials(struct sam_vocabulary *v)
{
    static const char *const usual[] = { "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]" };

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        const size_t bytes = strlen(usual[i]);
        const int id = sam_vocabulary_find(v, "", usual[i], bytes);
        if (id >= 0)
            v->special[v->num_specials++] = (struct sam_special) { usual[i], bytes, id };
    }
}

static int read_lines(struct sam_vocabulary *v, const char *label, const char *text, size_t bytes,
                      struct sam_error *error)
{
    size_t lines = 0;

    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n' || i == bytes - 1;
    int status = check_count(label, lines, error);
    if (!status)
        status = take_memory(v, lines, bytes, error);
    if (status)
        return status;
    memcpy(v->text, text, bytes);
    for (size_t at = 0; at < bytes;) {
        const char *newline = memchr(text + at, '\n', bytes - at);
        const size_t next = newline ? (size_t) (newline - text) + 1 : bytes;
        size_t length = next - at - (newline != NULL);
        if (length && text[at + length - 1] == '\r')
            length--;
        if (!is_utf8(text + at, length))
            return sam_fail(error, SAM_EFORMAT, "%s: line %d is not UTF-8", label,
                            v->num_entries + 1);
        add_entry(v, at, length, v->num_entries);
        at = next;
    }
    status = sort_entries(v, error);
    if (!status)
        add_usual_specials(v);
    return status;
}

// ---- tokenizer.json

// A key of one of its objects, and the value without which it is a tokenizer of other rules.
struct rule {
    const char *object, *key, *value;
    bool is_optional; // absent or null is as good
};

static const struct rule rules[] = {
    { "model", "type", "\"WordPiece\"", true },
    { "model", "unk_token", "\"[UNK]\"", false },
    { "model", "continuing_subword_prefix", "\"##\"", false },
    { "model", "max_input_chars_per_word", "100", false },
    { "normalizer", "type", "\"BertNormalizer\"", false },
    { "normalizer", "clean_text", "true", false },
    { "normalizer", "handle_chinese_chars", "true", false },
    { "normalizer", "strip_accents", "true", true },
    { "normalizer", "lowercase", "true", false },
    { "pre_tokenizer", "type", "\"BertPreTokenizer\"", false },
};

static int check_rule(const json_t *root, const char *label, const struct rule *r,
                      struct sam_error *error)
{
    const json_t *got = json_object_get(json_object_get(root, r->object), r->key);
    json_t *wanted = json_loads(r->value, JSON_DECODE_ANY, NULL);
    const bool is_same = r->is_optional && (!got || json_is_null(got)) ? true
                                                                       : json_equal(got, wanted);

    json_decref(wanted);
    if (is_same)
        return SAM_OK;
    char *text = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    const int status = sam_fail(error, SAM_EUNSUPPORTED,
                                "%s: key '%s.%s': expected %s, as BERT's uncased tokenizer has it, "
                                "got %.40s", label, r->object, r->key, r->value,
                                text ? text : "nothing");
    free(text);
    return status;
}

// A token's id: -1 if it is none.
static int id_of(const json_t *value)
{
    const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;

    return id >= 0 && id < SAM_MAX_VOCABULARY ? (int) id : -1;
}

static int read_vocab(struct sam_vocabulary *v, const json_t *vocab, const char *label,
                      struct sam_error *error)
{
    const char *token;
    json_t *value, *all = (json_t *) vocab; // jansson's walks take no constant
    size_t bytes = 0, at = 0;

    if (!json_is_object(vocab))
        return sam_fail(error, SAM_EFORMAT, "%s: key 'model.vocab': expected an object", label);
    int status = check_count(label, json_object_size(vocab), error);
    json_object_foreach(all, token, value)
        bytes += strlen(token);
    if (!status)
        status = take_memory(v, json_object_size(vocab), bytes, error);
    if (status)
        return status;
    json_object_foreach(all, token, value) {
        const size_t length = strlen(token);
        const int id = id_of(value);
        if (id < 0)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: token '%.40s': expected an id from 0 to %d", label, token,
                            SAM_MAX_VOCABULARY - 1);
        memcpy(v->text + at, token, length);
        add_entry(v, at, length, id);
        at += length;
    }
    return sort_entries(v, error);
}

static int add_special(struct sam_vocabulary *v, const char *label, const json_t *token,
                       struct sam_error *error)
{
    const char *content = json_string_value(json_object_get(token, "content"));
    const int id = id_of(json_object_get(token, "id"));

    if (!content || !*content || id < 0)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: key 'added_tokens': expected a content and an id of each", label);
    if (!json_is_true(json_object_get(token, "special")) ||
        json_is_true(json_object_get(token, "single_word")) ||
        json_is_true(json_object_get(token, "normalized")))
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: added token '%.40s': only special ones are supported, which are "
                        "found anywhere in a text, as they are written", label, content);
    const struct sam_vocabulary_entry *e = find_entry(v, "", content, strlen(content));
    if (!e || e->id != id)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: added token '%.40s' has id %d: expected the one in 'model.vocab', "
                        "found %d", label, content, id, e ? e->id : -1);
    if (v->num_specials == SAM_MAX_SPECIALS)
        return sam_fail(error, SAM_EUNSUPPORTED, "%s: more than %d added tokens", label,
                        SAM_MAX_SPECIALS);
    v->special[v->num_specials++] = (struct sam_special) { v->text + e->at, e->bytes, id };
    return SAM_OK;
}

static int read_object(struct sam_vocabulary *v, const json_t *root, const char *label,
                       struct sam_error *error)
{
    const json_t *added = json_object_get(root, "added_tokens");
    int status = SAM_OK;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !status; i++)
        status = check_rule(root, label, &rules[i], error);
    if (!status)
        status = read_vocab(v, json_object_get(json_object_get(root, "model"), "vocab"), label,
                            error);
    for (size_t i = 0; i < json_array_size(added) && !status; i++)
        status = add_special(v, label, json_array_get(added, i), error);
    return status;
}

static int read_json(struct sam_vocabulary *v, const char *label, const char *text, size_t bytes,
                     struct sam_error *error)
{
    json_error_t at;
    json_t *root = json_loadb(text, bytes, 0, &at);

    if (!root)
        return sam_fail(error, SAM_EFORMAT, "%s: is not valid JSON: %s (line %d)", label, at.text,
                        at.line);
    const int status = read_object(v, root, label, error);
    json_decref(root);
    return status;
}

// ---- both

// Finds a token that the rules of the tokenizer, or those of phrases, need.
static int need(const struct sam_vocabulary *v, const char *label, const char *token, int *id,
                struct sam_error *error)
{
    *id = sam_vocabulary_find(v, "", token, strlen(token));
    return *id >= 0 ? SAM_OK
                    : sam_fail(error, SAM_EFORMAT,
                               "%s: expected the vocabulary of an uncased BERT, found no token "
                               "'%s'", label, token);
}

static int check_needed(struct sam_vocabulary *v, const char *label, struct sam_error *error)
{
    int status = need(v, label, "[UNK]", &v->unk, error);

    if (!status)
        status = need(v, label, "[CLS]", &v->cls, error);
    if (!status)
        status = need(v, label, "[SEP]", &v->sep, error);
    if (!status)
        status = need(v, label, ".", &v->stop, error);
    return status ? status : need(v, label, "?", &v->question, error);
}

int sam_vocabulary_open(struct sam_vocabulary **out, const char *path, struct sam_error *error)
{
    const char *label = sam_text_end(path, SAM_TEXT_FILE_LABEL), *end = strrchr(path, '.');
    size_t bytes = 0;
    int status;
    char *text = sam_text_file_read(path, label, &bytes, &status, error);

    *out = NULL;
    if (!text)
        return status;
    struct sam_vocabulary *v = calloc(1, sizeof(*v));
    if (!v)
        status = sam_fail(error, SAM_ENOMEM, "%s: no memory for a vocabulary", label);
    else if (end && !strcmp(end, ".json"))
        status = read_json(v, label, text, bytes, error);
    else
        status = read_lines(v, label, text, bytes, error);
    free(text);
    if (!status)
        status = check_needed(v, label, error);
    if (status)
        sam_vocabulary_close(&v);
    *out = v;
    return status;
}

int sam_vocabulary_open_beside(struct sam_vocabulary **out, const char *weights,
                               struct sam_error *error)
{
    static const char *const names[] = { "tokenizer.json", "vocab.txt" };
    char path[SAM_TEXT_FILE_PATH];

    *out = NULL;
    for (int i = 0; i < 2; i++) {
        struct sam_error ignored;
        const int wrong = sam_text_file_beside(path, weights, names[i], error);
        if (wrong)
            return wrong;
        const int status = sam_vocabulary_open(out, path, &ignored);
        if (status != SAM_ENOTFOUND) {
            if (status && error)
                *error = ignored;
            return status;
        }
    }
    return sam_fail(error, SAM_ENOTFOUND,
                    "%s: expected its vocabulary, tokenizer.json or vocab.txt, in the same folder, "
                    "found neither", sam_text_end(weights, SAM_TEXT_FILE_LABEL));
}

void sam_vocabulary_close(struct sam_vocabulary **v)
{
    if (!*v)
        return;
    free((*v)->entry);
    free((*v)->text);
    free(*v);
    *v = NULL;
}

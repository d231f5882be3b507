// SPDX-License-Identifier: MIT
// wordpiece GOLDEN: what the published tokenizer makes of 10 000 texts, from a vocab.txt and from
// the same tokens as a tokenizer.json; where words lie in the text; hostile files.
// wordpiece --ids VOCABULARY: texts of standard input, each behind 4 bytes of its length, become
// lines of ids.
#include "net/wordpiece.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../expect.h"
#include "net/unicode.h"

enum { MAX_TEXT = 1 << 20, MAX_PIECES = 4096 };

static char folder[] = "/tmp/wordpiece-XXXXXX", path[64];

static const char *write_file(const char *name, const char *text, size_t bytes)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    expect(f && fwrite(text, 1, bytes, f) == bytes, "%s: %s", path, strerror(errno));
    if (f)
        fclose(f);
    return path;
}

static char *read_file(const char *name, size_t *bytes)
{
    char *text = malloc(MAX_TEXT);
    FILE *f = fopen(name, "rb");
    *bytes = f && text ? fread(text, 1, MAX_TEXT - 1, f) : 0;
    if (!*bytes) {
        fprintf(stderr, "%s: cannot be read\n", name);
        exit(1);
    }
    fclose(f);
    text[*bytes] = '\0';
    return text;
}

static struct sam_vocabulary *open_file(const char *file)
{
    struct sam_error error = { "" };
    struct sam_vocabulary *v;
    expect(!sam_vocabulary_open(&v, file, &error), "%s", error.text);
    if (!v)
        exit(1);
    return v;
}

// ---- the golden

static uint32_t checksum(const struct sam_piece *pieces, int count)
{
    uint32_t h = 0x811c9dc5;
    for (int i = 0; i < count; i++)
        for (int b = 0; b < 32; b += 8)
            h = (h ^ ((uint32_t) pieces[i].id >> b & 0xff)) * 0x01000193;
    return h;
}

// In place; returns the bytes.
static uint32_t unescape(char *text, const char *end)
{
    char *to = text;
    for (const char *from = text; from < end; from++) {
        unsigned byte = (unsigned char) *from;
        if (*from == '\\' && sscanf(from, "\\x%2x", &byte) == 1)
            from += 3;
        *to++ = (char) byte;
    }
    return (uint32_t) (to - text);
}

static int check_texts(const struct sam_vocabulary *v, const char *golden)
{
    char name[512];
    size_t bytes;
    int count = 0, different = 0;
    static struct sam_piece pieces[MAX_PIECES];
    snprintf(name, sizeof(name), "%s/texts.txt", golden);
    char *all = read_file(name, &bytes);
    for (char *line = all, *end; (end = strchr(line, '\n')); line = end + 1, count++) {
        const uint32_t wanted = (uint32_t) strtoul(line, NULL, 16);
        const uint32_t length = unescape(line + 9, end);
        const int num = sam_wordpiece_run(v, line + 9, length, pieces, MAX_PIECES);
        if (num <= MAX_PIECES && checksum(pieces, num) == wanted)
            continue;
        if (!different++)
            fprintf(stderr, "text %d, '%.*s': %d other ids\n", count, (int) length, line + 9, num);
    }
    expect(count == 10000 && !different, "%d of %d texts differ", different, count);
    free(all);
    return count;
}

// ---- tokenizer.json

static json_t *make_json(const char *vocabulary)
{
    json_t *tokens = json_object(), *added = json_array();
    size_t bytes;
    char *all = read_file(vocabulary, &bytes);
    int id = 0;
    for (char *line = all, *end; (end = strchr(line, '\n')); line = end + 1, id++) {
        *end = '\0';
        json_object_set_new(tokens, line, json_integer(id));
        if (strlen(line) > 4 && strstr("[PAD] [UNK] [CLS] [SEP] [MASK]", line))
            json_array_append_new(added, json_pack("{s:i, s:s, s:b, s:b, s:b}", "id", id, "content",
                                                   line, "special", 1, "normalized", 0,
                                                   "single_word", 0));
    }
    free(all);
    return json_pack("{s:o, s:{s:s, s:b, s:b, s:n, s:b}, s:{s:s}, s:{s:s, s:s, s:s, s:i, s:o}}",
                     "added_tokens", added, "normalizer", "type", "BertNormalizer", "clean_text", 1,
                     "handle_chinese_chars", 1, "strip_accents", "lowercase", 1, "pre_tokenizer",
                     "type", "BertPreTokenizer", "model", "type", "WordPiece", "unk_token", "[UNK]",
                     "continuing_subword_prefix", "##", "max_input_chars_per_word", 100, "vocab",
                     tokens);
}

static const char *write_json(const json_t *root)
{
    char *text = json_dumps(root, 0);
    const char *file = write_file("tokenizer.json", text, strlen(text));
    free(text);
    return file;
}

struct change {
    const char *object, *key, *value, *words; // value NULL: the key goes
    int status;
};

static const struct change changes[] = {
    { "normalizer", "lowercase", "false",
      "key 'normalizer.lowercase': expected true, as BERT's uncased tokenizer has it, got false",
      SAM_EUNSUPPORTED },
    { "normalizer", "strip_accents", "false", "'normalizer.strip_accents': expected true",
      SAM_EUNSUPPORTED },
    { "normalizer", "strip_accents", "true", NULL, SAM_OK },
    { "normalizer", "type", "\"NFKC\"", "got \"NFKC\"", SAM_EUNSUPPORTED },
    { "normalizer", "clean_text", NULL, "got nothing", SAM_EUNSUPPORTED },
    { "pre_tokenizer", "type", "\"ByteLevel\"", "'pre_tokenizer.type'", SAM_EUNSUPPORTED },
    { "model", "type", "\"BPE\"", "expected \"WordPiece\"", SAM_EUNSUPPORTED },
    { "model", "type", NULL, NULL, SAM_OK },
    { "model", "max_input_chars_per_word", "50", "expected 100", SAM_EUNSUPPORTED },
    { "model", "continuing_subword_prefix", "\"@@\"", "expected \"##\"", SAM_EUNSUPPORTED },
    { "model", "vocab", "[1]", "key 'model.vocab': expected an object", SAM_EFORMAT },
    { "model", "vocab", "{}", "expected 1 to 262144 tokens, got 0", SAM_EFORMAT },
    { "model", "vocab", "{\"a\": -1}", "token 'a': expected an id from 0 to 262143", SAM_EFORMAT },
    { "model", "vocab", "{\"a\": 0.5}", "token 'a': expected an id", SAM_EFORMAT },
    { "model", "vocab", "{\"a\": 0, \"[UNK]\": 1}", "added token '[PAD]' has id 0", SAM_EFORMAT },
};

static void check_refused(const char *file, const char *words, int status)
{
    struct sam_error error = { "" };
    struct sam_vocabulary *v = NULL;
    const int got = sam_vocabulary_open(&v, file, &error);
    expect(got == status && !v && strstr(error.text, words), "status %d, '%s', expected '%s'", got,
           error.text, words);
    sam_vocabulary_close(&v);
}

static void check_changes(const json_t *root)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        json_t *other = json_deep_copy(root), *object = json_object_get(other, changes[i].object);
        if (changes[i].value)
            json_object_set_new(object, changes[i].key,
                                json_loads(changes[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(object, changes[i].key);
        const char *file = write_json(other);
        if (changes[i].words) {
            check_refused(file, changes[i].words, changes[i].status);
        } else {
            struct sam_vocabulary *v = open_file(file);
            sam_vocabulary_close(&v);
        }
        json_decref(other);
    }
    json_t *other = json_deep_copy(root);
    json_object_set_new(json_array_get(json_object_get(other, "added_tokens"), 1), "special",
                        json_false());
    check_refused(write_json(other), "only special ones are supported", SAM_EUNSUPPORTED);
    json_decref(other);
}

// ---- what is no vocabulary

static void check_files(void)
{
    static const char good[] = "[UNK]\n[CLS]\n[SEP]\n.\n?\n";
    struct sam_error error = { "" };
    struct sam_vocabulary *v;

    check_refused(write_file("vocab.txt", "", 0), "expected 1 to 262144 tokens, got 0",
                  SAM_EFORMAT);
    check_refused(write_file("vocab.txt", "a\nb", 3), "found no token '[UNK]'", SAM_EFORMAT);
    check_refused(write_file("vocab.txt", good, strlen(good) - 2), "found no token '?'",
                  SAM_EFORMAT);
    check_refused(write_file("vocab.txt", "a\nb\n\xff\n", 6), "line 3 is not UTF-8", SAM_EFORMAT);
    check_refused(write_file("tokenizer.json", "{", 1), "tokenizer.json: is not valid JSON",
                  SAM_EFORMAT);
    check_refused(write_file("tokenizer.json", "[]", 2), "key 'model.unk_token'", SAM_EUNSUPPORTED);
    check_refused("/nowhere/vocab.txt", "/nowhere/vocab.txt", SAM_ENOTFOUND);

    char weights[64];
    snprintf(weights, sizeof(weights), "%s/model.safetensors", folder);
    expect(sam_vocabulary_open_beside(&v, weights, &error) == SAM_EUNSUPPORTED && !v &&
           strstr(error.text, "tokenizer.json"), "the file beside is read: '%s'", error.text);
    remove(path);
    write_file("tokenizer.json", "", 0);
    remove(path);
    write_file("vocab.txt", good, strlen(good));
    expect(!sam_vocabulary_open_beside(&v, weights, &error) && v->size == 5, "%s", error.text);
    sam_vocabulary_close(&v);
    remove(path);
    expect(sam_vocabulary_open_beside(&v, weights, &error) == SAM_ENOTFOUND && !v &&
           strstr(error.text, "expected its vocabulary, tokenizer.json or vocab.txt"), "'%s'",
           error.text);
}

// Of equal tokens the last one counts; lines may end as those of Windows do; the last needs no end.
static void check_lines(void)
{
    static const char text[] = "[UNK]\r\na\r\n[CLS]\r\n[SEP]\r\na\r\n.\r\n?\r\n##b";
    struct sam_vocabulary *v = open_file(write_file("vocab.txt", text, strlen(text)));
    struct sam_piece p[8];

    expect(v->size == 8 && sam_vocabulary_find(v, "", "a", 1) == 4, "%d tokens", v->size);
    const int num = sam_wordpiece_run(v, "ab A x.", 7, p, 8);
    expect(num == 7, "%d pieces", num);
    static const struct sam_piece wanted[] = { { 2, 0, 0 }, { 4, 0, 2 }, { 7, 0, 2 }, { 4, 3, 4 },
                                               { 0, 5, 6 }, { 5, 6, 7 }, { 3, 7, 7 } };
    for (int i = 0; i < 7; i++)
        expect(p[i].id == wanted[i].id && p[i].start == wanted[i].start &&
               p[i].end == wanted[i].end,
               "piece %d: %d, bytes %u to %u", i, p[i].id, p[i].start, p[i].end);
    memset(p, 0x55, sizeof(p));
    expect(sam_wordpiece_run(v, "ab A x.", 7, p, 2) == 7 && p[1].id == 4 && p[2].id == 0x55555555,
           "no more is written than there is room for");
    // Not UTF-8: cut, overlong, a surrogate, beyond the last. All of it is dropped.
    expect(sam_wordpiece_run(v, "a\xc3\xa9", 2, p, 8) == 3 && p[1].id == 4 && p[2].id == 3, "cut");
    expect(sam_wordpiece_run(v, "\xc1\x81\xed\xa0\x80\xf4\x90\x80\x80", 9, p, 8) == 2,
           "invalid");
    sam_vocabulary_close(&v);
    remove(path);
}

// Marks are put in the order of their classes, 9 before 226, but not across U+034F, which goes.
static void check_marks(void)
{
    static const char text[] = "[UNK]\n[CLS]\n[SEP]\n.\n?\na\n##\xf0\x9d\x85\xad\n##\xe1\xad\x84\n";
    static const char *const texts[] = { "a\xf0\x9d\x85\xad\xe1\xad\x84",
                                         "a\xf0\x9d\x85\xad\xcd\x8f\xe1\xad\x84" };
    struct sam_vocabulary *v = open_file(write_file("vocab.txt", text, strlen(text)));
    struct sam_piece p[8];

    for (int i = 0; i < 2; i++) {
        const int num = sam_wordpiece_run(v, texts[i], (uint32_t) strlen(texts[i]), p, 8);
        expect(num == 5 && p[1].id == 5 && p[2].id == (i ? 6 : 7) && p[3].id == (i ? 7 : 6),
               "text %d: %d pieces, %d %d %d", i, num, p[1].id, p[2].id, p[3].id);
    }
    sam_vocabulary_close(&v);
    remove(path);
}

// Of two tokens that are taken as they are the longer one is.
static void check_longest(const json_t *root)
{
    json_t *other = json_deep_copy(root);
    json_t *tokens = json_object_get(json_object_get(other, "model"), "vocab");
    const int id = (int) json_object_size(tokens);
    struct sam_piece p[4];

    json_object_set_new(tokens, "[SEP]s", json_integer(id));
    json_array_append_new(json_object_get(other, "added_tokens"),
                          json_pack("{s:i, s:s, s:b, s:b, s:b}", "id", id, "content", "[SEP]s",
                                    "special", 1, "normalized", 0, "single_word", 0));
    struct sam_vocabulary *v = open_file(write_json(other));
    expect(sam_wordpiece_run(v, "[SEP]s", 6, p, 4) == 3 && p[1].id == id, "token %d, not %d",
           p[1].id, id);
    sam_vocabulary_close(&v);
    json_decref(other);
}

// The first and the last syllable of Hangul, which the golden lacks, and what is behind it, which
// the published tokenizer leaves alone.
static void check_syllables(void)
{
    static const uint32_t wanted[][4] = { { 0xac00, 0x1100, 0x1161, 0 },
                                          { 0xd7a3, 0x1112, 0x1175, 0x11c2 },
                                          { 0xd7a4, 0xd7a4, 0, 0 } };
    static const int counts[] = { 2, 3, 1 };

    for (int i = 0; i < 3; i++) {
        struct sam_unicode_clean got;
        sam_unicode_clean(wanted[i][0], &got);
        expect(got.count == counts[i], "U+%04X: %d characters", (unsigned) wanted[i][0], got.count);
        for (int k = 0; k < got.count; k++)
            expect(got.to[k] == wanted[i][k + 1], "U+%04X: U+%04X", (unsigned) wanted[i][0],
                   (unsigned) got.to[k]);
    }
}

// ---- for tests/words/published.py

static int print_ids(const char *file)
{
    static char text[MAX_TEXT];
    static struct sam_piece pieces[MAX_PIECES];
    struct sam_vocabulary *v = open_file(file);
    uint32_t bytes;

    while (fread(&bytes, 1, 4, stdin) == 4 && bytes < MAX_TEXT &&
           fread(text, 1, bytes, stdin) == bytes) {
        const int num = sam_wordpiece_run(v, text, bytes, pieces, MAX_PIECES);
        for (int i = 0; i < num && i < MAX_PIECES; i++)
            printf("%d%c", pieces[i].id, i + 1 < num ? ' ' : '\n');
    }
    sam_vocabulary_close(&v);
    return 0;
}

int main(int argc, char **argv)
{
    char name[512];

    if (argc == 3 && !strcmp(argv[1], "--ids"))
        return print_ids(argv[2]);
    if (argc != 2 || !mkdtemp(folder)) {
        fprintf(stderr, "expected one argument\n");
        return 1;
    }
    snprintf(name, sizeof(name), "%s/vocab.txt", argv[1]);
    struct sam_vocabulary *v = open_file(name);
    json_t *root = make_json(name);
    struct sam_vocabulary *same = open_file(write_json(root));
    expect(v->size == same->size && v->num_specials == 5 && same->num_specials == 5, "%d tokens",
           v->size);
    check_texts(v, argv[1]);
    check_texts(same, argv[1]);
    check_changes(root);
    check_longest(root);
    remove(path);
    check_syllables();
    check_lines();
    check_marks();
    check_files();
    json_decref(root);
    sam_vocabulary_close(&v);
    sam_vocabulary_close(&same);
    rmdir(folder);
    return expect_status();
}

// SPDX-License-Identifier: MIT
// byte_pairs WORDS FOLDER: what CLIP's published tokenizer makes of the 10 000 texts of the golden
// WORDS with the vocabulary of FOLDER, as a tokenizer.json and as vocab.json and merges.txt;
// hostile files. byte_pairs --ids FOLDER: texts of standard input, each behind 4 bytes of its
// length, become lines of ids.
#include "net/byte_pairs.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "../expect.h"

enum { MAX_TEXT = 1 << 20, MAX_IDS = 1 << 14 };

static char folder[] = "/tmp/byte_pairs-XXXXXX", beside[64];

static void write_file(const char *name, const char *text, size_t bytes)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    expect(f && fwrite(text, 1, bytes, f) == bytes, "%s cannot be written", path);
    if (f)
        fclose(f);
}

static void remove_file(const char *name)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

static char *read_file(const char *in, const char *name)
{
    char path[512], *text = malloc(MAX_TEXT);
    snprintf(path, sizeof(path), "%s/%s", in, name);
    FILE *f = fopen(path, "rb");
    const size_t bytes = f && text ? fread(text, 1, MAX_TEXT - 1, f) : 0;
    if (!bytes) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    text[bytes] = '\0';
    return text;
}

static struct sam_byte_pairs *open_beside(const char *weights)
{
    struct sam_error error = { "" };
    struct sam_byte_pairs *p;
    expect(!sam_byte_pairs_open_beside(&p, weights, &error), "%s", error.text);
    if (!p)
        exit(1);
    return p;
}

// ---- the golden

static uint32_t checksum(const int *ids, int count)
{
    uint32_t h = 0x811c9dc5;
    for (int i = 0; i < count; i++)
        for (int b = 0; b < 32; b += 8)
            h = (h ^ ((uint32_t) ids[i] >> b & 0xff)) * 0x01000193;
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

static void check_texts(const struct sam_byte_pairs *p, const char *golden)
{
    char *texts = read_file(golden, "texts.txt"), *sums = read_file(golden, "pairs.txt");
    static int ids[MAX_IDS];
    char *sum = sums, *line = texts, *end;
    int count = 0, different = 0;

    for (; (end = strchr(line, '\n')) && *sum; line = end + 1, sum += 9, count++) {
        const uint32_t length = unescape(line + 9, end);
        const int num = sam_byte_pairs_run(p, line + 9, length, ids, MAX_IDS);
        if (num <= MAX_IDS && checksum(ids, num) == (uint32_t) strtoul(sum, NULL, 16))
            continue;
        if (!different++)
            fprintf(stderr, "text %d, '%.*s': %d other ids\n", count, (int) length, line + 9, num);
    }
    expect(count == 10000 && !different, "%d of %d texts differ", different, count);
    free(texts), free(sums);
}

// ---- files

static void refused(int wanted, const char *words, int line)
{
    struct sam_error error = { "" };
    struct sam_byte_pairs *p;
    const int status = sam_byte_pairs_open_beside(&p, beside, &error);
    expect(status == wanted && !p && strstr(error.text, words), "line %d: status %d, '%s'", line,
           status, error.text);
    sam_byte_pairs_close(&p);
}

#define REFUSED(status, words) refused(status, words, __LINE__)

// The same as two files, as the publisher's repository has them, too.
static void write_two(const json_t *root)
{
    const json_t *model = json_object_get(root, "model"),
                 *merges = json_object_get(model, "merges");
    char *vocab = json_dumps(json_object_get(model, "vocab"), 0), *list = calloc(1, MAX_TEXT);
    size_t used = (size_t) sprintf(list, "#version: 0.2\n");

    for (size_t i = 0; i < json_array_size(merges); i++) {
        const json_t *pair = json_array_get(merges, i);
        used += (size_t) sprintf(list + used, "%s %s\n", json_string_value(json_array_get(pair, 0)),
                                 json_string_value(json_array_get(pair, 1)));
    }
    write_file("vocab.json", vocab, strlen(vocab));
    write_file("merges.txt", list, used);
    free(vocab), free(list);
}

static void write_whole(const json_t *root)
{
    char *text = json_dumps(root, 0);
    write_file("tokenizer.json", text, strlen(text));
    free(text);
}

static void check_files(json_t *root)
{
    json_t *model = json_object_get(root, "model"), *vocab = json_object_get(model, "vocab");

    REFUSED(SAM_ENOTFOUND, "expected its vocabulary, tokenizer.json or vocab.json and merges.txt");
    write_file("vocab.json", "{}", 2);
    REFUSED(SAM_EFORMAT, "vocab.json: expected the vocabulary of CLIP's tokenizer, found no token");
    write_file("vocab.json", "[1]", 3);
    REFUSED(SAM_EFORMAT, "vocab.json: expected an object of tokens and their ids");
    write_two(root);
    remove_file("merges.txt");
    REFUSED(SAM_EIO, "merges.txt");
    write_file("merges.txt", "r e\nab\n", 7);
    REFUSED(SAM_EFORMAT, "merges.txt: expected two tokens in a line, found 'ab'");
    write_file("merges.txt", "r zzz\n", 6);
    REFUSED(SAM_EFORMAT, "found no token 'zzz'");
    write_file("tokenizer.json", "{", 1);
    REFUSED(SAM_EFORMAT, "tokenizer.json: is not valid JSON");
    json_object_set_new(vocab, "a", json_integer(-1));
    write_whole(root);
    REFUSED(SAM_EFORMAT, "token 'a': expected an id from 0");
    json_object_set_new(model, "end_of_word_suffix", json_string("##"));
    write_whole(root);
    REFUSED(SAM_EUNSUPPORTED, "key 'model.end_of_word_suffix': expected \"</w>\"");
    json_object_set_new(model, "type", json_string("WordPiece"));
    write_whole(root);
    REFUSED(SAM_EUNSUPPORTED, "key 'model.type': expected \"BPE\"");
    remove_file("tokenizer.json"), remove_file("vocab.json"), remove_file("merges.txt");
}

static int print_ids(const char *in)
{
    static char text[MAX_TEXT];
    static int ids[MAX_IDS];
    char weights[512];
    uint32_t bytes;

    snprintf(weights, sizeof(weights), "%s/model.safetensors", in);
    struct sam_byte_pairs *p = open_beside(weights);
    while (fread(&bytes, 1, 4, stdin) == 4 && bytes < SAM_BYTE_PAIRS_TEXT &&
           fread(text, 1, bytes, stdin) == bytes) {
        const int num = sam_byte_pairs_run(p, text, bytes, ids, MAX_IDS);
        for (int i = 0; i < num && i < MAX_IDS; i++)
            printf("%d%c", ids[i], i + 1 < num ? ' ' : '\n');
    }
    sam_byte_pairs_close(&p);
    return 0;
}

int main(int argc, char **argv)
{
    char weights[512];

    if (argc == 3 && !strcmp(argv[1], "--ids"))
        return print_ids(argv[2]);
    if (argc != 3 || !mkdtemp(folder)) {
        fprintf(stderr, "expected two arguments\n");
        return 1;
    }
    snprintf(weights, sizeof(weights), "%s/model.safetensors", argv[2]);
    snprintf(beside, sizeof(beside), "%s/model.safetensors", folder);
    struct sam_byte_pairs *p = open_beside(weights);
    check_texts(p, argv[1]);
    sam_byte_pairs_close(&p);
    char *text = read_file(argv[2], "tokenizer.json");
    json_t *root = json_loads(text, 0, NULL);
    write_two(root);
    p = open_beside(beside);
    check_texts(p, argv[1]);
    sam_byte_pairs_close(&p);
    remove_file("vocab.json"), remove_file("merges.txt");
    check_files(root);
    json_decref(root);
    free(text);
    rmdir(folder);
    return expect_status();
}

// SPDX-License-Identifier: MIT
// Any bytes as a vocabulary, and any text in it, as pieces and as the words of a detector. The
// first byte says what the file is: bit 0: a tokenizer.json, else a vocab.txt; bit 1: of byte
// pairs. The text is what follows the last NUL; without one, there is none.
#include "detect/words.h"
#include "folder.h"

enum { MOST = 64 };

static const char needed[] = "[UNK]\n[CLS]\n[SEP]\n.\n?\n";

static void check_pieces(const struct sam_vocabulary *v, const char *text, uint32_t bytes)
{
    struct sam_piece p[MOST], few[2];
    const int count = sam_wordpiece_run(v, text, bytes, p, MOST);
    const int kept = count < MOST ? count : MOST;

    fuzz_check(count >= 2 && p[0].id == v->cls);
    fuzz_check(count > MOST || p[count - 1].id == v->sep);
    for (int i = 0; i < kept; i++) {
        fuzz_check(p[i].id >= 0 && p[i].id < v->size);
        fuzz_check(p[i].start <= p[i].end && p[i].end <= bytes);
        fuzz_check(!i || p[i].start >= p[i - 1].start);
    }
    fuzz_check(sam_wordpiece_run(v, text, bytes, few, 2) == count);
}

// In a vocabulary of bytes alone, each is a token.
static void check_pairs(const char *text, uint32_t bytes)
{
    static struct sam_byte_pairs p = { .size = 514, .start = 512, .end = 513 };
    int ids[MOST], few[2];

    for (int b = 0; b < 256; b++) {
        p.inner[b] = b;
        p.last[b] = 256 + b;
    }
    bytes = bytes < SAM_BYTE_PAIRS_TEXT ? bytes : SAM_BYTE_PAIRS_TEXT - 1;
    const int count = sam_byte_pairs_run(&p, text, bytes, ids, MOST);
    fuzz_check(count >= 2 && ids[0] == p.start && (count > MOST || ids[count - 1] == p.end));
    for (int i = 0; i < count && i < MOST; i++)
        fuzz_check(ids[i] >= 0 && ids[i] < p.size);
    fuzz_check(sam_byte_pairs_run(&p, text, bytes, few, 2) == count);
}

// text: up to its first NUL.
static void check_words(const struct sam_vocabulary *v, const char *text, size_t bytes)
{
    static char words[1 << 15];
    static struct sam_phrases phrases;
    const struct sam_tokenizer tokenizer = { .pieces = (struct sam_vocabulary *) v };
    struct sam_text t = { .most = MOST };
    struct sam_error error = { "" };
    char unknown[120];

    memcpy(words, text, bytes);
    words[bytes] = '\0';
    if (sam_words_read(&t, &phrases, &tokenizer, words, unknown, &error)) {
        fuzz_check_sentence(error.text, sizeof(error.text));
        fuzz_check(!t.tokens);
        return;
    }
    fuzz_check(t.tokens >= 3 && t.tokens <= MOST && t.phrases == phrases.count);
    fuzz_check(strlen(unknown) < sizeof(unknown));
    for (int i = 0; i < t.tokens; i++) {
        fuzz_check(t.id[i] >= 0 && t.id[i] < v->size && t.phrase[i] < t.phrases);
        fuzz_check(t.piece[i] >= 0 && t.piece[i] <= i && t.place[i] == i - t.piece[i]);
    }
    for (int k = 0; k < phrases.count; k++)
        fuzz_check(*phrases.phrase[k] && strlen(phrases.phrase[k]) <= bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[1 << 16];
    struct sam_error error = { "" };
    struct sam_vocabulary *v;
    size_t cut = size;

    if (!size || size > sizeof(file) / 2)
        return 0;
    while (cut > 1 && data[cut - 1])
        cut--;
    const size_t text = cut > 1 ? cut : 1, length = cut > 1 ? cut - 2 : size - 1;
    const bool is_json = data[0] & 1;
    // Lines alone would hardly ever hold all that a vocabulary needs.
    const size_t head = is_json ? 0 : strlen(needed);
    memcpy(file, needed, head);
    memcpy(file + head, data + 1, length);
    const char *path = fuzz_file(is_json ? "tokenizer.json" : "vocab.txt", file, head + length);
    check_pairs((const char *) data + text, (uint32_t) (size - text));
    if (data[0] & 2) {
        struct sam_byte_pairs *pairs;
        if (sam_byte_pairs_open_beside(&pairs, path, &error))
            fuzz_check_sentence(error.text, sizeof(error.text));
        sam_byte_pairs_close(&pairs);
        return 0;
    }
    if (sam_vocabulary_open(&v, path, &error)) {
        fuzz_check(!v);
        fuzz_check_sentence(error.text, sizeof(error.text));
        return 0;
    }
    check_pieces(v, (const char *) data + text, (uint32_t) (size - text));
    check_words(v, (const char *) data + text, size - text);
    sam_vocabulary_close(&v);
    return 0;
}

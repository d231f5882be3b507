// SPDX-License-Identifier: MIT
// What can be switched off, for tests and to find out on a device what a part is worth:
// SAMTRACK_CUDA_WITHOUT, words with commas between them, read once, when a queue is opened.

#include "backend.h"

#include <stdlib.h>
#include <string.h>

static const struct word {
    const char *word;
    unsigned bit;
} words[] = {
    { "overlap", SAM_CUDA_OVERLAP },   { "wgmma", SAM_CUDA_WGMMA },
    { "graphs", SAM_CUDA_GRAPHS },     { "cublaslt", SAM_CUDA_CUBLASLT },
    { "carveout", SAM_CUDA_CARVEOUT },
};
enum { WORDS = sizeof(words) / sizeof(words[0]), MOST_MIB = 1024 };

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

// The bit of the word that begins here; 0: it is unknown. *bytes: of the word.
static unsigned bit_at(const char *text, size_t *bytes)
{
    *bytes = strcspn(text, ",");
    for (int i = 0; i < WORDS; i++)
        if (*bytes == strlen(words[i].word) && !memcmp(text, words[i].word, *bytes))
            return words[i].bit;
    return 0;
}

// The words that are known. *unknown: the first one that is not; NULL: all are.
static unsigned read_words(const char *text, const char **unknown, size_t *unknown_bytes)
{
    unsigned bits = 0;
    *unknown = NULL;
    for (size_t bytes; *text; text += bytes + (text[bytes] == ',')) {
        const unsigned bit = bit_at(text, &bytes);
        if (!bit && bytes && !*unknown)
            *unknown = text, *unknown_bytes = bytes;
        bits |= bit;
    }
    return bits;
}

static void write_words(char *to, size_t size, unsigned bits)
{
    *to = 0;
    for (int i = 0; i < WORDS; i++)
        if (bits & words[i].bit && strlen(to) + strlen(words[i].word) + 2 <= size) {
            strcat(to, *to ? "," : "");
            strcat(to, words[i].word);
        }
}

// False: it is set, and no such number.
static bool read_mib(size_t *bytes)
{
    const char *text = setting("SAMTRACK_CUBLASLT_MIB");
    char *end;
    const long mib = strtol(text, &end, 10);
    *bytes = SAM_CUDA_WORKSPACE;
    if (!*text)
        return true;
    if (*end || mib < 0 || mib > MOST_MIB)
        return false;
    *bytes = (size_t) mib << 20;
    return true;
}

void sam_cuda_switches_read(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const char *unknown;
    size_t bytes;
    cuda->without = read_words(setting("SAMTRACK_CUDA_WITHOUT"), &unknown, &bytes);
    write_words(cuda->without_words, sizeof(cuda->without_words), cuda->without);
    read_mib(&cuda->blaslt_bytes);
    q->without = cuda->without_words;
    q->without_records = !sam_cuda_uses(cuda, SAM_CUDA_GRAPHS);
}

void sam_cuda_switches_tell(struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    const char *unknown;
    char known[sizeof(cuda->without_words)];
    size_t bytes, unused;
    if (q->work_bytes) // it goes with a queue that has told
        return;
    read_words(setting("SAMTRACK_CUDA_WITHOUT"), &unknown, &bytes);
    write_words(known, sizeof(known), ~0u);
    if (unknown)
        sam_log(&q->log, SAM_LOG_WARNING,
                "SAMTRACK_CUDA_WITHOUT: '%.*s' is ignored, expected words of %s",
                sam_text_cut(unknown, bytes, 40), unknown, known);
    if (!read_mib(&unused))
        sam_log(&q->log, SAM_LOG_WARNING,
                "SAMTRACK_CUBLASLT_MIB: '%.20s' is ignored, expected a number of MiB from 0 to %d",
                setting("SAMTRACK_CUBLASLT_MIB"), MOST_MIB);
    if (cuda->without)
        sam_log(&q->log, SAM_LOG_INFO, "cuda: SAMTRACK_CUDA_WITHOUT switches off: %s",
                cuda->without_words);
    if (cuda->blaslt_bytes != SAM_CUDA_WORKSPACE)
        sam_log(&q->log, SAM_LOG_INFO, "cuda: cuBLASLt gets %zu MiB to work with",
                cuda->blaslt_bytes >> 20);
}

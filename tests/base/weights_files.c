// SPDX-License-Identifier: MIT
// Opens every file that a manifest lists, reads its sizes and all of its numbers, and checks
// what comes out: good files give what is said, a pair of files the same tensors, a bad file the
// status and a sentence that names the file and every word the manifest asks for.
//
// A line of the manifest, tab-separated:
//   good FILE VARIANT SIDE        same FILE FILE        bad FILE STATUS WORD|WORD|...
//   memory FILE                   every allocation of the readers fails once
//   hollow FILE STATUS WORD|...   sizes can be read, but a tracker must not open, nor be planned
//   late FILE STATUS WORD|...     a tracker can be planned, but must not open
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <wchar.h>
#include <wctype.h>

#include "../expect.h"
#include "model/family.h"

// The linker leads the engine's allocations through these (--wrap). allocations_left < 0: no limit.
static int allocations_left = -1;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static bool may_allocate(void)
{
    return allocations_left < 0 || allocations_left-- > 0;
}

void *__wrap_malloc(size_t bytes)
{
    return may_allocate() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return may_allocate() ? __real_calloc(n, bytes) : NULL;
}

void *__wrap_realloc(void *p, size_t bytes)
{
    return may_allocate() ? __real_realloc(p, bytes) : NULL;
}

char *__wrap_strdup(const char *s)
{
    return may_allocate() ? __real_strdup(s) : NULL;
}

char *__wrap_strndup(const char *s, size_t n)
{
    return may_allocate() ? __real_strndup(s, n) : NULL;
}

static int64_t count_of(const struct sam_weight *w)
{
    int64_t n = 1;
    for (int i = 0; i < w->rank; i++)
        n *= w->shape[i];
    return n;
}

static float *read_one(const struct sam_weights *f, const struct sam_weight *w, int *status,
                       struct sam_error *error)
{
    float *numbers = malloc(count_of(w) * sizeof(float) + 1);
    *status = sam_weights_read(f, w->name, w->rank, w->shape, numbers, error);
    return numbers;
}

// A count that training leaves beside a BatchNorm, an integer.
static bool is_count(const struct sam_weight *w)
{
    const char *dot = strrchr(w->name, '.');
    return dot && !strcmp(dot, ".num_batches_tracked");
}

// Sizes and all numbers of the network; the first failure.
static int read_all(const struct sam_weights *f, struct sam_config *config, struct sam_error *error)
{
    int status = sam_config_read(config, f, 0, false, error);
    for (int i = 0; i < sam_weights_count(f) && !status; i++)
        if (!is_count(sam_weights_at(f, i)))
            free(read_one(f, sam_weights_at(f, i), &status, error));
    return status;
}

// sides: that of devices that are not faster in BF16, and of those that are.
static void check_good(const char *file, const char *variant, const char *sides)
{
    int side = 0, side_bf16 = 0;
    expect(sscanf(sides, "%d %d", &side, &side_bf16) == 2, "%s: sides '%s'", file, sides);
    struct sam_error error = { "" };
    struct sam_weights *f;
    struct sam_config config;
    int status = sam_weights_open(&f, file, &sam_family_names, &error);
    expect(!status, "%s: %s", file, error.text);
    if (status)
        return;
    status = read_all(f, &config, &error);
    expect(!status, "%s: %s", file, error.text);
    expect(status || strcmp(config.variant, variant) == 0, "%s: variant %s, expected %s", file,
           config.variant, variant);
    expect(status || config.image_size == side, "%s: side %d, expected %d", file, config.image_size,
           side);
    status = sam_config_read(&config, f, 0, true, &error);
    expect(!status && config.image_size == side_bf16, "%s: side %d in BF16, expected %d", file,
           config.image_size, side_bf16);
    status = sam_config_read(&config, f, 128, true, &error);
    expect(status || config.image_size == 128, "%s: side %d, 128 wanted", file, config.image_size);
    for (int px = 64; px <= 128 && !status; px += 64) {
        status = sam_config_read(&config, f, px, false, &error);
        expect(status || !config.pooling_from ||
                   (config.pooling == SAM_POOLING_NONE) == (px < config.pooling_from),
               "%s: pooling %d at %d px", file, (int) config.pooling, px);
    }
    sam_weights_close(&f);
    expect(f == NULL, "%s: not closed", file);
}

static void compare(const struct sam_weights *a, const struct sam_weights *b, const char *file)
{
    struct sam_error error = { "" };
    expect(sam_weights_count(a) == sam_weights_count(b), "%s: %d tensors, expected %d", file,
           sam_weights_count(b), sam_weights_count(a));
    for (int i = 0; i < sam_weights_count(a); i++) {
        const struct sam_weight *wa = sam_weights_at(a, i), *wb = sam_weights_find(b, wa->name);
        expect(wb != NULL, "%s: no tensor %s", file, wa->name);
        if (!wb || wb->rank != wa->rank ||
            memcmp(wa->shape, wb->shape, sizeof(int64_t) * wa->rank)) {
            expect(!wb, "%s: %s has another shape", file, wa->name);
            continue;
        }
        if (is_count(wa))
            continue;
        int sa, sb;
        float *na = read_one(a, wa, &sa, &error), *nb = read_one(b, wb, &sb, &error);
        expect(!sa && !sb, "%s: %s", file, error.text);
        if (!sa && !sb)
            expect(memcmp(na, nb, count_of(wa) * sizeof(float)) == 0, "%s: %s has other numbers",
                   file, wa->name);
        free(na);
        free(nb);
    }
}

static void check_same(const char *file_a, const char *file_b)
{
    struct sam_error error = { "" };
    struct sam_weights *a = NULL, *b = NULL;
    struct sam_config ca, cb;
    const int status = sam_weights_open(&a, file_a, &sam_family_names,
                                        &error) || sam_weights_open(&b, file_b, &sam_family_names,
                                        &error);
    expect(!status, "%s, %s: %s", file_a, file_b, error.text);
    if (!status) {
        compare(a, b, file_b);
        expect(!sam_config_read(&ca, a, 0, false, &error) &&
                   !sam_config_read(&cb, b, 0, false, &error),
               "%s", error.text);
        expect(memcmp(&ca, &cb, sizeof(ca)) == 0, "%s, %s: other sizes", file_a, file_b);
    }
    sam_weights_close(&a);
    sam_weights_close(&b);
}

// Memory runs out after 0, 1, 2, ... allocations, until it suffices.
static void check_memory(const char *file)
{
    for (int n = 0; n < 100000; n++) {
        struct sam_error error = { "" };
        struct sam_weights *f;
        allocations_left = n;
        const int status = sam_weights_open(&f, file, &sam_family_names, &error);
        const bool enough = allocations_left >= 0;
        allocations_left = -1;
        sam_weights_close(&f);
        if (!status) {
            expect(n > 10 && enough, "%s: open after %d allocations", file, n);
            return;
        }
        expect(status == SAM_ENOMEM && strstr(error.text, "no memory"),
               "%s: %d allocations: %d, %s", file, n, status, error.text);
    }
    expect(false, "%s: no end of allocations", file);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// All but a word for the place are looked for behind the file's name, which is a word itself.
static void expect_words(const char *file, char *words, const char *text)
{
    const char *said = strstr(text, ": ");
    for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|")) {
        const bool place = strcmp(word, "metadata") == 0 || strcmp(word, "config.json") == 0;
        expect(said && strstr(place ? text : said, word), "%s: no '%s' in: %s", file, word, text);
    }
}

static bool is_plain_line(const char *text)
{
    mbstate_t state = { 0 };
    wchar_t c;
    for (size_t n; *text; text += n) {
        n = mbrtowc(&c, text, MB_LEN_MAX, &state);
        if (n > MB_LEN_MAX || !iswprint(c))
            return false;
    }
    return true;
}

static void check_bad(const char *file, int wanted, char *words)
{
    struct sam_error error = { "" };
    struct sam_weights *f = NULL;
    struct sam_config config;
    int status = sam_weights_open(&f, file, &sam_family_names, &error);
    expect(!status == (f != NULL), "%s: status %d, but %s", file, status, f ? "open" : "not open");
    if (!status)
        status = read_all(f, &config, &error);
    sam_weights_close(&f);

    expect(status == wanted, "%s: status %d, expected %d: %s", file, status, wanted, error.text);
    expect(strlen(error.text) < sizeof(error.text) - 1, "%s: the sentence is cut: %s", file,
           error.text);
    expect(is_plain_line(error.text), "%s: not one plain line: %s", file, error.text);
    expect(strstr(error.text, base_name(file)) || strstr(words, ".json"), "%s: not named in: %s",
           file, error.text);
    expect_words(file, words, error.text);
    // Without a place for the sentence it must fail in the same way.
    struct sam_weights *again = NULL;
    const int quiet = sam_weights_open(&again, file, &sam_family_names, NULL);
    expect(quiet == status || again, "%s: status %d without a struct sam_error", file, quiet);
    sam_weights_close(&again);
}

static void check_hollow(const char *file, int wanted, char *words, bool has_plan)
{
    struct sam_error error = { "" };
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_plan plan = SAM_PLAN_INIT;
    sam_tracker *tracker = NULL;
    params.model_file = file;
    params.backend = SAM_BACKEND_REF;
    const int planned = sam_tracker_plan(&params, &plan, NULL);
    const int status = sam_tracker_open(&tracker, &params, &error);
    expect(planned == (has_plan ? SAM_OK : wanted) && status == wanted,
           "%s: plan %d, open %d, expected %d: %s", file, planned, status, wanted, error.text);
    expect(tracker == NULL, "%s: open", file);
    sam_tracker_close(&tracker);
    expect_words(file, words, error.text);
}

int main(int argc, char **argv)
{
    FILE *manifest = argc == 2 ? fopen(argv[1], "r") : NULL;
    char line[1024];
    if (!setlocale(LC_CTYPE, "C.UTF-8") || !manifest) {
        fprintf(stderr, "usage: weights-files MANIFEST\n");
        return 2;
    }
    while (fgets(line, sizeof(line), manifest)) {
        line[strcspn(line, "\n")] = 0;
        char *field[4] = { line, "", "", "" };
        for (int i = 1; i < 4 && field[i - 1][0]; i++) {
            char *tab = strchr(field[i - 1], '\t');
            if (!tab)
                break;
            *tab = 0;
            field[i] = tab + 1;
        }
        if (strcmp(field[0], "good") == 0)
            check_good(field[1], field[2], field[3]);
        else if (strcmp(field[0], "same") == 0)
            check_same(field[1], field[2]);
        else if (strcmp(field[0], "memory") == 0)
            check_memory(field[1]);
        else if (strcmp(field[0], "hollow") == 0)
            check_hollow(field[1], atoi(field[2]), field[3], false);
        else if (strcmp(field[0], "late") == 0)
            check_hollow(field[1], atoi(field[2]), field[3], true);
        else
            check_bad(field[1], atoi(field[2]), field[3]);
    }
    fclose(manifest);

    // 4 MiB of header may grow to some tens of MiB while it is read, no hostile file to more. What
    // has been freed a sanitizer keeps for a while: 256 MiB, and as much of its own beside.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    enum { MOST_MIB = 1024 };
#else
    enum { MOST_MIB = 200 };
#endif
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    expect(usage.ru_maxrss < MOST_MIB * 1024, "%ld KiB of memory at most", usage.ru_maxrss);
    return expect_status();
}

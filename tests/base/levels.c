// SPDX-License-Identifier: MIT
// Levels of the CPU backend: what a level's kernels are compiled for is asked of the processor
// before they run, and a level that nobody knows is told. FLAGS: those of meson.build, by level.
#include <stdlib.h>

#include "ops/backends.h"
#include "ops/cpu/cpu.h"

#include "../expect.h"

#if defined(__aarch64__)
#define EXPECTED "expected generic, neon, neon_dotprod or neon_bf16"
enum { WITHOUT_FLAGS = SAM_CPU_NEON }; // the highest level that every processor has
#else
#define EXPECTED "expected generic, avx2, avx512, avx512_vnni, avx512_bf16 or amx"
enum { WITHOUT_FLAGS = SAM_CPU_GENERIC };
#endif

static const char *const flags[SAM_CPU_NUM_LEVELS] = FLAGS;
static const char *missing;

static bool has_all_but_one(const char *feature)
{
    return strcmp(feature, missing) != 0;
}

// Without one feature, no level may be chosen that was compiled for it.
static void check_flags(void)
{
    missing = "";
    expect(sam_cpu_find_level(has_all_but_one) == SAM_CPU_NUM_LEVELS - 1, "with all features");
    for (int level = WITHOUT_FLAGS + 1; level < SAM_CPU_NUM_LEVELS; level++) {
        char copy[256], *rest = copy, *word;
        snprintf(copy, sizeof copy, "%s", flags[level]);
        expect(strlen(copy) > 10, "flags of level %d: '%s'", level, copy);
        while ((word = strtok_r(rest, " =+", &rest))) {
            if (!strcmp(word, "-march"))
                continue;
            missing = strncmp(word, "-m", 2) ? word : word + 2;
            const int chosen = (int) sam_cpu_find_level(has_all_but_one);
            expect(chosen < level, "level %d is chosen without %s, which level %d needs", chosen,
                   missing, level);
            expect(chosen >= WITHOUT_FLAGS, "without %s level %d is chosen", missing, chosen);
        }
    }
}

static char warned[512];

static void keep_warning(void *priv, enum sam_log_level level, const char *line)
{
    (void) priv;
    if (level == SAM_LOG_WARNING && !strstr(line, "which is slow"))
        snprintf(warned, sizeof warned, "%s", line);
}

static void check_word(const char *word, const char *says)
{
    const struct sam_log log = { keep_warning, NULL };
    struct sam_queue q;
    warned[0] = 0;
    setenv("SAMTRACK_CPU_LEVEL", word, 1);
    expect(!sam_queue_open(&q, SAM_BACKEND_CPU, -1, SAM_PRECISION_FP32, 1, &log, NULL), "opens");
    sam_queue_close(&q);
    expect(says ? strstr(warned, says) != NULL : !warned[0], "'%s' gives '%s', expected '%s'",
           word, warned, says ? says : "");
}

int main(void)
{
    check_flags();
    check_word("generic", NULL);
    check_word("", NULL);
    check_word("AVX2", EXPECTED);
    check_word("avx512bf16", EXPECTED);
    check_word("neonbf16", EXPECTED);
    if (sam_cpu_detect() < SAM_CPU_NUM_LEVELS - 1)
        check_word(sam_cpu_level_names[SAM_CPU_NUM_LEVELS - 1], "which this processor lacks");
    return expect_status();
}

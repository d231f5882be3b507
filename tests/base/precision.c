// SPDX-License-Identifier: MIT
// The precision of `auto` on the CPU, against what the kernel says of the processor.
#include <stdlib.h>

#include "ops/backends.h"
#include "ops/cpu/cpu.h"

#include "../expect.h"

#ifndef __aarch64__

static bool has(const char *flag)
{
    char line[16384];
    bool found = false;
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        if (strncmp(line, "flags", 5))
            continue;
        for (char *rest = line, *word; (word = strtok_r(rest, " \t\n", &rest));)
            found = found || !strcmp(word, flag);
    }
    if (f)
        fclose(f);
    return found;
}

#endif

static void check_auto(bool bf16, const char *level)
{
    struct sam_queue q;
    struct sam_error error;
    const enum sam_precision wanted = bf16 ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
    if (sam_queue_open(&q, SAM_BACKEND_CPU, -1, SAM_PRECISION_AUTO, 1, NULL, &error)) {
        expect(false, "level %s: %s", level, error.text);
        return;
    }
    expect(q.precision == wanted, "level %s: precision %d, wanted %d", level, q.precision, wanted);
    sam_queue_close(&q);
}

int main(void)
{
#ifdef __aarch64__
    // Nobody has measured it.
    for (int level = 0; level < SAM_CPU_NUM_LEVELS; level++) {
        setenv("SAMTRACK_CPU_LEVEL", sam_cpu_level_names[level], 1);
        check_auto(false, sam_cpu_level_names[level]);
    }
#else
    // Without AVX512_BF16 there is no bf16; processors with AMX are slow in it without their tiles.
    unsetenv("SAMTRACK_CPU_LEVEL");
    check_auto(has("avx512_bf16"), "of the processor");
    setenv("SAMTRACK_CPU_LEVEL", "avx512_bf16", 1);
    check_auto(has("avx512_bf16") && !has("amx_bf16"), "avx512_bf16");
    setenv("SAMTRACK_CPU_LEVEL", "avx2", 1);
    check_auto(false, "avx2");
#endif
    return expect_status();
}

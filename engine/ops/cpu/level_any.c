// SPDX-License-Identifier: MIT
// Linked for processors that have no file level_* of their own: portable C only.

#include "ops/cpu/level.h"

const char *const sam_cpu_level_names[SAM_CPU_NUM_LEVELS + 1] = { "generic" };
const char *const sam_cpu_bf16_needs = "BF16, for which there are kernels on x86 and arm64";

enum sam_cpu_level sam_cpu_find_level(bool (*has)(const char *feature))
{
    (void) has;
    return SAM_CPU_GENERIC;
}

enum sam_cpu_level sam_cpu_detect(void)
{
    return SAM_CPU_GENERIC;
}

bool sam_cpu_has_bf16(enum sam_cpu_level level)
{
    (void) level;
    return false;
}

bool sam_cpu_is_bf16_faster(enum sam_cpu_level level)
{
    (void) level;
    return false;
}

void sam_cpu_choose_kernels(struct sam_cpu *cpu, bool bf16)
{
    (void) bf16;
    SAM_CHOOSE_LEVEL(cpu, generic);
}

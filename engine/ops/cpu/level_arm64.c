// SPDX-License-Identifier: MIT
#include <string.h>
#include <sys/auxv.h>

#include "ops/cpu/level.h"

const char *const sam_cpu_level_names[SAM_CPU_NUM_LEVELS + 1] = {
    "generic",
    "neon",
    "neon_dotprod",
    "neon_bf16",
};
const char *const sam_cpu_bf16_needs = "BF16 and I8MM";

// What the kernels of a level are compiled for beyond the level before, by the words of -march in
// meson.build, which tests/base/levels.c compares; and Linux's bits, in AT_HWCAP and AT_HWCAP2,
// that stand for them. NEON is in all that is arm64. Of what the architecture's version 8.2 has
// beyond 8.0 the compiler may use: atomics, CRC32 and rounding doubling products.
enum {
    HAS_CRC32 = 1 << 7,
    HAS_ATOMICS = 1 << 8,
    HAS_ASIMDRDM = 1 << 12,
    HAS_ASIMDDP = 1 << 20,
    HAS2_I8MM = 1 << 13,
    HAS2_BF16 = 1 << 14,
};
static const struct feature {
    const char *name;
    enum sam_cpu_level level;
    unsigned long hwcap, hwcap2;
} features[] = {
    { "armv8.2-a", SAM_CPU_NEON_DOTPROD, HAS_CRC32 | HAS_ATOMICS | HAS_ASIMDRDM, 0 },
    { "dotprod", SAM_CPU_NEON_DOTPROD, HAS_ASIMDDP, 0 },
    { "i8mm", SAM_CPU_NEON_BF16, 0, HAS2_I8MM },
    { "bf16", SAM_CPU_NEON_BF16, 0, HAS2_BF16 },
};
enum { NUM_FEATURES = sizeof(features) / sizeof(*features) };

enum sam_cpu_level sam_cpu_find_level(bool (*has)(const char *feature))
{
    enum sam_cpu_level level = SAM_CPU_NEON_BF16;
    for (int i = NUM_FEATURES; i-- > 0;)
        if (!has(features[i].name))
            level = features[i].level - 1;
    return level;
}

static bool has(const char *feature)
{
    const unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
    for (int i = 0; i < NUM_FEATURES; i++) {
        const struct feature *f = &features[i];
        if (!strcmp(feature, f->name))
            return (hwcap & f->hwcap) == f->hwcap && (hwcap2 & f->hwcap2) == f->hwcap2;
    }
    return false;
}

enum sam_cpu_level sam_cpu_detect(void)
{
    return sam_cpu_find_level(has);
}

bool sam_cpu_has_bf16(enum sam_cpu_level level)
{
    return level >= SAM_CPU_NEON_BF16;
}

bool sam_cpu_is_bf16_faster(enum sam_cpu_level level)
{
    // BFDOT does twice the products of FMLA, as often per cycle on the cores whose tables Arm has
    // published (Neoverse N2, V1, V2). Measured it has not been, so masks stay those of fp32.
    (void) level;
    return false;
}

void sam_cpu_choose_kernels(struct sam_cpu *cpu, bool bf16)
{
    if (cpu->level == SAM_CPU_GENERIC) {
        SAM_CHOOSE_LEVEL(cpu, generic);
        return;
    }
    SAM_CHOOSE_LEVEL(cpu, neon);
    if (cpu->level >= SAM_CPU_NEON_BF16)
        cpu->gemm_int8 = &sam_gemm_int8_i8mm;
    else if (cpu->level >= SAM_CPU_NEON_DOTPROD)
        cpu->gemm_int8 = &sam_gemm_int8_dotprod;
    if (bf16) { // attention stays with floats
        cpu->gemm = &sam_gemm_kernels_neon_bf16;
        cpu->rows = &sam_row_kernels_neon_bf16;
    }
}

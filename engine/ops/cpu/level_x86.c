// SPDX-License-Identifier: MIT
#define _DEFAULT_SOURCE // syscall
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ops/cpu/level.h"

const char *const sam_cpu_level_names[SAM_CPU_NUM_LEVELS + 1] = {
    "generic", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx",
};
const char *const sam_cpu_bf16_needs = "AVX512_BF16";

// What the kernels of a level are compiled for beyond the level before: meson.build has the same
// words, and tests/base/levels.c compares them.
static const struct feature {
    const char *name;
    enum sam_cpu_level level;
} features[] = {
    { "avx2", SAM_CPU_AVX2 },
    { "fma", SAM_CPU_AVX2 },
    { "f16c", SAM_CPU_AVX2 },
    { "avx512f", SAM_CPU_AVX512 },
    { "avx512bw", SAM_CPU_AVX512 },
    { "avx512vl", SAM_CPU_AVX512 },
    { "avx512dq", SAM_CPU_AVX512 },
    { "avx512vnni", SAM_CPU_AVX512_VNNI },
    { "avx512bf16", SAM_CPU_AVX512_BF16 },
    { "amx-tile", SAM_CPU_AMX },
    { "amx-bf16", SAM_CPU_AMX },
    { "amx-int8", SAM_CPU_AMX },
};

enum sam_cpu_level sam_cpu_find_level(bool (*has)(const char *feature))
{
    enum sam_cpu_level level = SAM_CPU_AMX;
    for (size_t i = sizeof(features) / sizeof(*features); i-- > 0;)
        if (!has(features[i].name))
            level = features[i].level - 1;
    return level;
}

// Whether Linux lets this process use the tiles: their state (8 KiB a thread, in signal frames,
// too) has to be asked for, once.
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_CONFIG = 1 << 17, TILE_DATA = 1 << 18 };
    enum { FEATURE_OF_TILE_DATA = 18, OSXSAVE = 1 << 27 };
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & OSXSAVE))
        return false;
    __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return (eax & TILE_CONFIG) && (eax & TILE_DATA) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, FEATURE_OF_TILE_DATA) == 0;
}

// The names must be literals there, and not every compiler knows f16c and those of AMX.
static bool has(const char *feature)
{
    enum { AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 }; // leaf 7, EDX
    unsigned eax, ebx, ecx, edx;
    if (!strncmp(feature, "amx", 3)) {
        const unsigned bit = !strcmp(feature, "amx-tile")   ? AMX_TILE
                             : !strcmp(feature, "amx-bf16") ? AMX_BF16
                                                            : AMX_INT8;
        return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & bit) != 0;
    }
#define ASK(name)                                                                                  \
    if (!strcmp(feature, name))                                                                    \
    return __builtin_cpu_supports(name)
    ASK("avx2");
    ASK("fma");
    ASK("avx512f");
    ASK("avx512bw");
    ASK("avx512vl");
    ASK("avx512dq");
    ASK("avx512vnni");
    ASK("avx512bf16");
#undef ASK
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C); // f16c
}

enum sam_cpu_level sam_cpu_detect(void)
{
    __builtin_cpu_init();
    const enum sam_cpu_level level = sam_cpu_find_level(has);
    return level == SAM_CPU_AMX && !may_use_tiles() ? SAM_CPU_AMX - 1 : level;
}

bool sam_cpu_has_bf16(enum sam_cpu_level level)
{
    return level >= SAM_CPU_AVX512_BF16;
}

bool sam_cpu_is_bf16_faster(enum sam_cpu_level level)
{
    // Processors with AMX leave bf16 to its tiles: they do half as many products per second by
    // vdpbf16ps as by vfmadd231ps. Those of AMD do twice as many.
    return level >= SAM_CPU_AMX || !has("amx-bf16");
}

// Processors with AVX2 may have AVX-VNNI, which is no level: those with AVX-512 need not have it. A
// level that $SAMTRACK_CPU_LEVEL asks for is meant without.
static const struct sam_gemm_kernels *int8_of_avx2(void)
{
#if __has_include(<avxvnniintrin.h>)
    enum { AVX_VNNI = 1 << 4 }; // leaf 7, subleaf 1, EAX
    const char *asked = getenv("SAMTRACK_CPU_LEVEL");
    unsigned eax, ebx, ecx, edx;
    if (!(asked && *asked) && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & AVX_VNNI))
        return &sam_gemm_int8_avx_vnni;
#endif
    return &sam_gemm_int8_avx2;
}

void sam_cpu_choose_kernels(struct sam_cpu *cpu, bool bf16)
{
    if (cpu->level >= SAM_CPU_AVX512)
        SAM_CHOOSE_LEVEL(cpu, avx512);
    else if (cpu->level >= SAM_CPU_AVX2)
        SAM_CHOOSE_LEVEL(cpu, avx2);
    else
        SAM_CHOOSE_LEVEL(cpu, generic);

    if (cpu->level >= SAM_CPU_AMX) {
        cpu->gemm_int8 = &sam_gemm_int8_amx;
        cpu->recall_match = sam_recall_match_amx;
    } else if (cpu->level >= SAM_CPU_AVX512_VNNI)
        cpu->gemm_int8 = &sam_gemm_int8_vnni;
    else if (cpu->level == SAM_CPU_AVX2)
        cpu->gemm_int8 = int8_of_avx2();

    if (!bf16)
        return;
    cpu->rows = &sam_row_kernels_bf16;
    cpu->mask_norm = sam_mask_norm_bf16;
    if (cpu->level >= SAM_CPU_AMX) { // see sam_cpu_is_bf16_faster()
        cpu->gemm = &sam_gemm_kernels_amx;
        cpu->attention = &sam_attention_amx;
    } else {
        cpu->gemm = &sam_gemm_kernels_bf16;
        cpu->attention = &sam_attention_bf16;
    }
}

// SPDX-License-Identifier: MIT
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cpu/attention.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/pixels.h"
#include "ops/cpu/rows.h"

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
};

enum sam_cpu_level sam_cpu_find_level(bool (*has)(const char *feature))
{
    enum sam_cpu_level level = SAM_CPU_AVX512_BF16;
    for (size_t i = sizeof(features) / sizeof(*features); i-- > 0;)
        if (!has(features[i].name))
            level = features[i].level - 1;
    return level;
}

// The names must be literals there, and not every compiler knows f16c.
static bool has(const char *feature)
{
    unsigned eax, ebx, ecx, edx;
#define ASK(name) \
    if (!strcmp(feature, name)) \
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
    return sam_cpu_find_level(has);
}

bool sam_cpu_is_bf16_faster(void)
{
    enum { AMX_BF16 = 1 << 22 }; // leaf 7, EDX
    unsigned eax, ebx, ecx, edx;
    // Processors with AMX leave bf16 to its tiles, which our kernels do not use: they do half as
    // many products per second by vdpbf16ps as by vfmadd231ps. Those of AMD do twice as many.
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && !(edx & AMX_BF16);
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
    if (cpu->level >= SAM_CPU_AVX512) {
        cpu->attention_f32 = &sam_attention_avx512;
        cpu->gemm_f32 = &sam_gemm_kernels_avx512;
        cpu->gemm_int8 = cpu->level >= SAM_CPU_AVX512_VNNI ? &sam_gemm_int8_vnni
                                                           : &sam_gemm_int8_avx512;
        cpu->rows = bf16 ? &sam_row_kernels_bf16 : &sam_row_kernels_avx512;
        cpu->pixels = &sam_pixel_kernels_avx512;
        cpu->blend_row = sam_blend_row_avx512;
        cpu->weigh_windows = sam_weigh_windows_avx512;
        cpu->walk = &sam_walk_kernels_avx512;
        cpu->ridge_products = sam_ridge_products_avx512;
        cpu->recall_match = sam_recall_match_avx512;
        cpu->biased_block = sam_biased_block_avx512;
    } else if (cpu->level >= SAM_CPU_AVX2) {
        cpu->attention_f32 = &sam_attention_avx2;
        cpu->gemm_f32 = &sam_gemm_kernels_avx2;
        cpu->gemm_int8 = int8_of_avx2();
        cpu->rows = &sam_row_kernels_avx2;
        cpu->pixels = &sam_pixel_kernels_avx2;
        cpu->blend_row = sam_blend_row_avx2;
        cpu->weigh_windows = sam_weigh_windows_avx2;
        cpu->walk = &sam_walk_kernels_avx2;
        cpu->ridge_products = sam_ridge_products_avx2;
        cpu->recall_match = sam_recall_match_avx2;
        cpu->biased_block = sam_biased_block_avx2;
    } else {
        cpu->attention_f32 = &sam_attention_generic;
        cpu->gemm_f32 = &sam_gemm_kernels_generic;
        cpu->gemm_int8 = &sam_gemm_int8_generic;
        cpu->rows = &sam_row_kernels_generic;
        cpu->pixels = &sam_pixel_kernels_generic;
        cpu->blend_row = sam_blend_row_generic;
        cpu->weigh_windows = sam_weigh_windows_generic;
        cpu->walk = &sam_walk_kernels_generic;
        cpu->ridge_products = sam_ridge_products_generic;
        cpu->recall_match = sam_recall_match_generic;
        cpu->biased_block = sam_biased_block_generic;
    }
    cpu->attention = bf16 ? &sam_attention_bf16 : cpu->attention_f32;
    cpu->gemm = bf16 ? &sam_gemm_kernels_bf16 : cpu->gemm_f32;
}

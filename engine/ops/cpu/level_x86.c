#include <cpuid.h>

#include "ops/cpu/attention.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/pixels.h"
#include "ops/cpu/rows.h"

enum sam_cpu_level sam_cpu_detect(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SAM_CPU_GENERIC;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return SAM_CPU_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? SAM_CPU_AVX512_BF16 : SAM_CPU_AVX512;
}

bool sam_cpu_is_bf16_faster(void)
{
    enum { AMX_BF16 = 1 << 22 }; // leaf 7, EDX
    unsigned eax, ebx, ecx, edx;
    // Processors with AMX leave bf16 to its tiles, which our kernels do not use: they do half as
    // many products per second by vdpbf16ps as by vfmadd231ps. Those of AMD do twice as many.
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && !(edx & AMX_BF16);
}

void sam_cpu_choose_kernels(struct sam_cpu *cpu, bool bf16)
{
    if (cpu->level >= SAM_CPU_AVX512) {
        cpu->attention_f32 = &sam_attention_avx512;
        cpu->gemm_f32 = &sam_gemm_kernels_avx512;
        cpu->rows = bf16 ? &sam_row_kernels_bf16 : &sam_row_kernels_avx512;
        cpu->pixels = &sam_pixel_kernels_avx512;
        cpu->blend_row = sam_blend_row_avx512;
        cpu->weigh_windows = sam_weigh_windows_avx512;
        cpu->biased_block = sam_biased_block_avx512;
    } else if (cpu->level >= SAM_CPU_AVX2) {
        cpu->attention_f32 = &sam_attention_avx2;
        cpu->gemm_f32 = &sam_gemm_kernels_avx2;
        cpu->rows = &sam_row_kernels_avx2;
        cpu->pixels = &sam_pixel_kernels_avx2;
        cpu->blend_row = sam_blend_row_avx2;
        cpu->weigh_windows = sam_weigh_windows_avx2;
        cpu->biased_block = sam_biased_block_avx2;
    } else {
        cpu->attention_f32 = &sam_attention_generic;
        cpu->gemm_f32 = &sam_gemm_kernels_generic;
        cpu->rows = &sam_row_kernels_generic;
        cpu->pixels = &sam_pixel_kernels_generic;
        cpu->blend_row = sam_blend_row_generic;
        cpu->weigh_windows = sam_weigh_windows_generic;
        cpu->biased_block = sam_biased_block_generic;
    }
    cpu->attention = bf16 ? &sam_attention_bf16 : cpu->attention_f32;
    cpu->gemm = bf16 ? &sam_gemm_kernels_bf16 : cpu->gemm_f32;
}

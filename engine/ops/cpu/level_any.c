// SPDX-License-Identifier: MIT
// Linked instead of level_x86.c for other processors: portable C only.

#include "ops/cpu/attention.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/pixels.h"
#include "ops/cpu/rows.h"

enum sam_cpu_level sam_cpu_find_level(bool (*has)(const char *feature))
{
    (void) has;
    return SAM_CPU_GENERIC;
}

enum sam_cpu_level sam_cpu_detect(void)
{
    return SAM_CPU_GENERIC;
}

bool sam_cpu_is_bf16_faster(enum sam_cpu_level level)
{
    (void) level;
    return false;
}

void sam_cpu_choose_kernels(struct sam_cpu *cpu, bool bf16)
{
    cpu->attention = cpu->attention_f32 = &sam_attention_generic;
    cpu->gemm = cpu->gemm_f32 = &sam_gemm_kernels_generic;
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

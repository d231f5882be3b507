// SPDX-License-Identifier: MIT
// Private to level_*.c: the kernels that every level has of its own.
#ifndef SAM_LEVEL_H
#define SAM_LEVEL_H

#include "ops/cpu/attention.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/outline.h"
#include "ops/cpu/pixels.h"
#include "ops/cpu/rows.h"

#define SAM_CHOOSE_LEVEL(cpu, level)                                                               \
    do {                                                                                           \
        (cpu)->attention = (cpu)->attention_f32 = &sam_attention_##level;                          \
        (cpu)->gemm = (cpu)->gemm_f32 = &sam_gemm_kernels_##level;                                 \
        (cpu)->gemm_int8 = &sam_gemm_int8_##level;                                                 \
        (cpu)->rows = &sam_row_kernels_##level;                                                    \
        (cpu)->pixels = &sam_pixel_kernels_##level;                                                \
        (cpu)->blend_row = sam_blend_row_##level;                                                  \
        (cpu)->outline = &sam_outline_kernels_##level;                                             \
        (cpu)->walk = &sam_walk_kernels_##level;                                                   \
        (cpu)->ridge_products = sam_ridge_products_##level;                                        \
        (cpu)->recall_match = sam_recall_match_##level;                                            \
        (cpu)->biased_block = sam_biased_block_##level;                                            \
        (cpu)->deform_query = sam_deform_query_##level;                                            \
    } while (0)

#endif // SAM_LEVEL_H

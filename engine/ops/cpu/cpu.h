// SPDX-License-Identifier: MIT
// Private to ops/cpu: what its files share.
#ifndef SAM_CPU_H
#define SAM_CPU_H

#include <stdbool.h>

#include "ops/cpu/biased.h"
#include "ops/cpu/blend.h"
#include "ops/cpu/deform.h"
#include "ops/cpu/mask_norm.h"
#include "ops/cpu/pool.h"
#include "ops/cpu/recall.h"
#include "ops/cpu/ridge.h"
#include "ops/cpu/walk.h"
#include "ops/ops.h"

// Instruction sets the kernels come in, each a superset of the one before. A kernel file is
// compiled once per level it has code for, with that level's flags; the choice is made at open.
enum sam_cpu_level {
    SAM_CPU_GENERIC, // plain C
#if defined(__x86_64__)
    SAM_CPU_AVX2, // with FMA and F16C
    SAM_CPU_AVX512, // F, BW, VL, DQ
    SAM_CPU_AVX512_VNNI, // of products in int8; all else is as without
    SAM_CPU_AVX512_BF16,
    SAM_CPU_AMX, // of products in bf16 and int8, attention in bf16
#elif defined(__aarch64__)
    SAM_CPU_NEON,
    SAM_CPU_NEON_DOTPROD, // of products in int8; all else is as without
    SAM_CPU_NEON_BF16, // of products in bf16, and with I8MM in int8
#endif
    SAM_CPU_NUM_LEVELS,
};

// q->priv of a CPU queue.
struct sam_cpu {
    struct sam_pool *pool;
    enum sam_cpu_level level; // $SAMTRACK_CPU_LEVEL lowers it, for tests
    const struct sam_gemm_kernels *gemm;     // of the queue's precision
    const struct sam_gemm_kernels *gemm_f32; // where f32 is asked whatever the precision
    const struct sam_gemm_kernels *gemm_int8;
    const struct sam_attention_kernel *attention, *attention_f32; // likewise
    const struct sam_row_kernels *rows;
    const struct sam_pixel_kernels *pixels;
    sam_blend_row *blend_row;
    const struct sam_outline_kernels *outline;
    const struct sam_walk_kernels *walk;
    sam_ridge_products *ridge_products;
    sam_recall_match *recall_match;
    sam_biased_block *biased_block;
    sam_deform_query *deform_query;
    sam_mask_norm *mask_norm; // NULL: none for this level and precision
};

static inline struct sam_cpu *sam_cpu(const struct sam_queue *q)
{
    return q->priv;
}

// level_x86.c, level_arm64.c or level_any.c: the levels' names, with NULL behind them; the highest
// level this processor has, and the kernels of a level.
extern const char *const sam_cpu_level_names[SAM_CPU_NUM_LEVELS + 1];
enum sam_cpu_level sam_cpu_detect(void);
// The highest level of which has() knows every feature: by GCC's names, as in -mfma or -march.
enum sam_cpu_level sam_cpu_find_level(bool (*has)(const char *feature));
extern const char *const sam_cpu_bf16_needs; // in words
bool sam_cpu_has_bf16(enum sam_cpu_level level);
// Of a level with bf16: whether products in it are faster than in fp32. Not timed: masks must not
// depend on the load.
bool sam_cpu_is_bf16_faster(enum sam_cpu_level level);
void sam_cpu_choose_kernels(struct sam_cpu *cpu, bool bf16);

size_t sam_pack_bytes_cpu(const struct sam_queue *q, struct sam_matrix m);
void sam_pack_cpu(struct sam_queue *q, struct sam_matrix dst, const float *weight);
size_t sam_rope_attention_room_cpu(const struct sam_queue *q, int d, int m, int side, int n,
                                   int Tk);
bool sam_takes_bottleneck_cpu(const struct sam_queue *q, int side, int inside, int kernel);
#define SAM_CPU(name, cpu, cuda) \
    void sam_##name##_cpu(struct sam_queue *q, const struct sam_##name *p);
SAM_OPS(SAM_CPU)
#undef SAM_CPU

#endif // SAM_CPU_H

// Private to ops/cpu: what its files share.
#ifndef SAM_CPU_H
#define SAM_CPU_H

#include <stdbool.h>

#include "ops/cpu/pool.h"
#include "ops/ops.h"

// Instruction sets the kernels come in, each a superset of the one before. A kernel file is
// compiled once per level it has code for, with that level's flags; the choice is made at open.
enum sam_cpu_level {
    SAM_CPU_GENERIC,
    SAM_CPU_AVX2, // with FMA and F16C
    SAM_CPU_AVX512, // F, BW, VL, DQ
    SAM_CPU_AVX512_BF16,
};

// q->priv of a CPU queue.
struct sam_cpu {
    struct sam_ops ops; // the queue's own table: ref's entries, overwritten where improved
    struct sam_pool *pool;
    enum sam_cpu_level level; // $SAMTRACK_CPU_LEVEL (generic, avx2, avx512) lowers it, for tests
    const struct sam_gemm_kernels *gemm;     // of the queue's precision
    const struct sam_gemm_kernels *gemm_f32; // where f32 is asked whatever the precision
    const struct sam_row_kernels *rows;
    const struct sam_pixel_kernels *pixels;
};

static inline struct sam_cpu *sam_cpu(const struct sam_queue *q)
{
    return q->priv;
}

// level_x86.c or level_any.c: the highest level this processor has, and the kernels of a level.
enum sam_cpu_level sam_cpu_detect(void);
void sam_cpu_choose_kernels(struct sam_cpu *cpu, bool bf16);

// The table starts as a copy of ref's; each file overwrites the entries it improves.
void sam_cpu_init_linear(struct sam_ops *ops);    // pack, linear, conv, conv_transpose, matmul
void sam_cpu_init_feed_forward(struct sam_ops *ops);
void sam_cpu_init_attention(struct sam_ops *ops); // attention, window_attention
void sam_cpu_init_rope_attention(struct sam_ops *ops);
void sam_cpu_init_elementwise(struct sam_ops *ops); // copy, add, layernorm, maxpool, masks, ...
void sam_cpu_init_image(struct sam_ops *ops);       // resize, preprocess, draw_masks
void sam_cpu_init_topk(struct sam_ops *ops);

#endif // SAM_CPU_H

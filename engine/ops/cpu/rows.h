// SPDX-License-Identifier: MIT
// Kernels over rows of channels: private to ops/cpu. One table per level. Types are F32 or BF16
// wherever a type is given; sums are F32.
#ifndef SAM_ROWS_H
#define SAM_ROWS_H

#include "ops/cpu/cpu.h"

// Numbers of one type side by side.
struct sam_span {
    void *data;
    enum sam_type type;
};

// One output row of a depthwise convolution.
struct sam_depthwise_row {
    struct sam_span dst;
    const struct sam_span *src; // src[ky] is the row under kernel row ky, NULL outside the map
    const float *weight, *bias; // bias may be NULL
    int kernel, stride, dst_width, src_width, c;
    int before; // the first output's columns left of the source, of zeros
    enum sam_act act;
};

struct sam_row_kernels {
    void (*convert)(struct sam_span dst, struct sam_span src, size_t count);
    // `count` runs of numbers, dst_step apart in dst and src_step in src; runs of src may overlap
    void (*copy_runs)(struct sam_span dst, size_t dst_step, struct sam_span src, size_t src_step,
                      size_t run, int count);
    // dst = a + scale * b
    void (*add)(struct sam_span dst, struct sam_span a, struct sam_span b, float scale,
                size_t count);
    // dst = act(sum + bias + add); bias and add.data may be NULL
    void (*finish)(struct sam_span dst, const float *sum, const float *bias, struct sam_span add,
                   enum sam_act act, size_t count);
    void (*layernorm)(struct sam_span dst, struct sam_span src, const float *gamma,
                      const float *beta, float eps, enum sam_act act, size_t rows, int c);
    // dst[r] = src[r] turned by table[r]
    void (*rope)(struct sam_span dst, struct sam_span src, const float *table, size_t count);
    // dst[x] = largest of columns 2x and 2x + 1 of two rows of c channels
    void (*maxpool)(struct sam_span dst, struct sam_span upper, struct sam_span lower, int width,
                    int c);
    // dst[x] = largest of the kernel x kernel numbers around; of its stride 1
    void (*maxpool_around)(const struct sam_depthwise_row *row);
    // dst[x] = a[x] + b[x / 2]
    void (*upsample_add)(struct sam_span dst, struct sam_span a, struct sam_span b, int width,
                         int c);
    void (*signal)(float *dst, const float *src, bool binary, float scale, float bias,
                   size_t count);
    void (*depthwise)(const struct sam_depthwise_row *row);
    // How many are above the threshold.
    size_t (*count_above)(const float *src, float threshold, size_t count);
};

// depthwise_bf16.c: of rows of BF16, on processors with AVX512_BF16. Returns how many channels are
// done, from the first one on: 0 if the shape is not one of its own.
size_t sam_depthwise_bf16(const struct sam_depthwise_row *r);

// rows.c
extern const struct sam_row_kernels sam_row_kernels_generic, sam_row_kernels_avx2,
    sam_row_kernels_avx512, sam_row_kernels_bf16, sam_row_kernels_neon,
    sam_row_kernels_neon_bf16;

static inline struct sam_span sam_span_at(const struct sam_tensor *t, size_t i)
{
    const size_t size = t->type == SAM_F32 ? 4 : 2;
    return (struct sam_span) { (char *) t->data + i * size, t->type };
}

#endif // SAM_ROWS_H

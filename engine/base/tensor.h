// SPDX-License-Identifier: MIT
#ifndef SAM_TENSOR_H
#define SAM_TENSOR_H

#include <stddef.h>
#include <stdint.h>

// Storage type of a number. Sums are always computed in F32.
enum sam_type { SAM_F32, SAM_BF16, SAM_F16, SAM_U8, SAM_I32 };

// A dense block of numbers in the order n, h, w, c with c fastest; there are no
// strides. A matrix of tokens has h = 1, w = tokens, c = channels. n counts
// objects or frames.
struct sam_tensor {
    void *data;
    enum sam_type type;
    int n, h, w, c;
};

size_t sam_type_size(enum sam_type type);
const char *sam_type_name(enum sam_type type);
size_t sam_tensor_bytes(const struct sam_tensor *t);

static inline size_t sam_rows(const struct sam_tensor *t)
{
    return (size_t) t->n * t->h * t->w;
}

static inline size_t sam_count(const struct sam_tensor *t)
{
    return sam_rows(t) * t->c;
}

// The same data with other extents; their product must not change.
struct sam_tensor sam_reshape(struct sam_tensor t, int n, int h, int w, int c);

// Entry n of the outermost extent, as a tensor with n = 1.
struct sam_tensor sam_slice(struct sam_tensor t, int n);

// The first `count` entries of the outermost extent.
struct sam_tensor sam_first(struct sam_tensor t, int count);

// Read or write element i of any storage type. Slow; for the reference
// operations and for copies to the user. A store to U8 or I32 rounds to nearest
// and saturates.
float sam_load(const struct sam_tensor *t, size_t i);
void sam_store(const struct sam_tensor *t, size_t i, float v);

#endif // SAM_TENSOR_H

// SPDX-License-Identifier: MIT
// Loads weights from the file to constant memory. The code of a network runs twice: over arenas
// without memory to measure, then over the allocated ones. The loader keeps the first failure, and
// later calls do nothing. Tensor names are printf formats.
#ifndef SAM_LOAD_H
#define SAM_LOAD_H

#include "base/arena.h"
#include "net.h"
#include "weights/weights.h"

enum { SAM_LOAD_NAME_SIZE = 160 }; // the longest of Meta's names has 73 characters

struct sam_loader {
    const struct sam_weights *weights;
    struct sam_queue *queue;
    struct sam_arena constant; // on the device
    struct sam_arena host;     // constant, read by the CPU
    struct sam_arena staging;  // buffer between the file and the device
    bool measuring;
    bool is_wide; // the model: its products of few terms may be of BF16
    bool exact; // matrices packed while it is set are multiplied in F32
    // Parts of names of tensors that are not multiplied in int8, whatever the queue does; ends with
    // NULL. NULL: none is.
    const char *const *no_int8;
    // Of the convolutions with a stored BatchNorm. NULL: "c", "bn"; 0: 1e-5.
    const char *conv_name, *norm_name;
    double norm_eps;
    uint64_t identity; // of what was read: sums the hashes of names and numbers, in any order
    char name[SAM_LOAD_NAME_SIZE]; // of the tensor or layer read last, for error texts
    int status;
    struct sam_error error;
};

// Whether to do work: neither measuring nor failed.
static inline bool sam_load_live(const struct sam_loader *l)
{
    return !l->measuring && !l->status;
}

// Allocate `count` floats in staging or host memory. Returns NULL while measuring.
static inline float *sam_load_room(struct sam_arena *a, size_t count)
{
    return sam_arena_bytes(a, count * sizeof(float));
}

// Read a tensor with exactly this shape to `room` as F32. room is NULL while measuring.
void sam_load_read(struct sam_loader *l, float *room, int rank, const int64_t *shape,
                   const char *fmt, ...) SAM_PRINTF(5, 6);

// Whether the file has a tensor of this name.
bool sam_load_has(const struct sam_loader *l, const char *fmt, ...) SAM_PRINTF(2, 3);

// Copy numbers from the host to constant memory, as a tensor or a packed matrix. SAM_EFORMAT: a
// number is not finite, or rounds to infinity in BF16 if the queue's precision is BF16. Products of
// finite weights may overflow.
struct sam_tensor sam_load_tensor(struct sam_loader *l, const float *host, int h, int w, int c);
struct sam_matrix sam_load_matrix(struct sam_loader *l, const float *host, int out, int in);

// A tensor as (1, 1, rows, c); rows is the product of all extents but the last.
struct sam_tensor sam_load_rows(struct sam_loader *l, int rank, const int64_t *shape,
                                const char *fmt, ...) SAM_PRINTF(4, 5);

// Load <name>.weight and <name>.bias of a norm, a fully connected layer, a convolution
// (out, in, k, k), or a transposed convolution of kernel 2 (in, out, 2, 2).
void sam_load_norm(struct sam_loader *l, struct sam_affine *norm, int c, const char *fmt, ...)
    SAM_PRINTF(4, 5);
void sam_load_linear(struct sam_loader *l, struct sam_product *p, int out, int in,
                     const char *fmt, ...) SAM_PRINTF(5, 6);
// Load <name>.weight only: a fully connected layer without bias.
void sam_load_weight(struct sam_loader *l, struct sam_product *p, int out, int in, const char *fmt,
                     ...) SAM_PRINTF(5, 6);
void sam_load_conv(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                   const char *fmt, ...) SAM_PRINTF(6, 7);
void sam_load_conv_transpose(struct sam_loader *l, struct sam_product *p, int out, int in,
                             const char *fmt, ...) SAM_PRINTF(5, 6);

// Load <name>.weight of a convolution without bias; p->bias is 0.
void sam_load_conv_weight(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                          const char *fmt, ...) SAM_PRINTF(6, 7);
// Copy a linear layer from the host, weight (out, in) and bias (out), to constant memory.
void sam_load_product(struct sam_loader *l, struct sam_product *p, const float *weight,
                      const float *bias, int out, int in);

// Numbers that stand in no file: rows of the same one, and y = factor x + shift of each of c.
struct sam_tensor sam_load_constant(struct sam_loader *l, float value, int rows, int c);
void sam_load_diagonal(struct sam_loader *l, struct sam_product *p, int c, double factor,
                       double shift);

// Load <name>.in_proj_weight and <name>.in_proj_bias of PyTorch's MultiheadAttention: the layers
// (d, d) of q, k and v, one below the other.
void sam_load_in_proj(struct sam_loader *l, struct sam_product *const qkv[3], int d,
                      const char *fmt, ...) SAM_PRINTF(4, 5);

// Read a fully connected layer to the host, to fold it with another. conv: its shape is
// (out, in, 1, 1).
struct sam_load_layer {
    float *weight, *bias; // (out, in), (out); staging
    int out, in;
};
struct sam_load_layer sam_load_layer(struct sam_loader *l, int out, int in, bool conv,
                                     const char *fmt, ...) SAM_PRINTF(5, 6);
// Read a convolution without bias and the BatchNorm after it, <name>.<conv_name>.weight and
// <name>.<norm_name>.*, as one layer: weight (out, in * kernel * kernel), in the file's order. Sums
// are in double.
struct sam_load_layer sam_load_normed(struct sam_loader *l, int out, int in, int kernel,
                                      const char *fmt, ...) SAM_PRINTF(5, 6);
// The same, packed for sam_conv, or for sam_linear if kernel is 1.
void sam_load_conv_normed(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                          const char *fmt, ...) SAM_PRINTF(6, 7);
// Copy a depthwise weight (c, kernel, kernel) to constant memory as (1, kernel, kernel, c).
struct sam_tensor sam_load_depthwise(struct sam_loader *l, const float *weight, int c, int kernel);

// A linear layer, packed for sam_linear; each of its outputs is times its number in the tensor
// `scale`.
void sam_load_scaled(struct sam_loader *l, struct sam_product *p, int out, int in,
                     const char *scale, const char *layer);

// Fold second(first(x)) into one layer. Sums are in double, so that accuracy is not lost.
void sam_load_folded(struct sam_loader *l, struct sam_product *p,
                     const struct sam_load_layer *second, const struct sam_load_layer *first);

#endif // SAM_LOAD_H

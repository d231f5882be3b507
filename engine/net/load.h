// From the weights file to constant memory, for any network. The same code runs twice: over arenas
// without memory behind them, to learn how much is needed, and over the real ones. The first
// failure sticks; what follows it does nothing. Names of tensors are given printf-like.
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
    struct sam_arena host;     // constant, too, but read by the CPU
    struct sam_arena staging;  // numbers on their way from the file to the device
    bool measuring;
    bool exact; // matrices packed from here on are multiplied in F32
    char name[SAM_LOAD_NAME_SIZE]; // of the tensor, or the layer, that was read last
    int status;
    struct sam_error error;
};

// Is there work to do: neither measuring nor failed?
static inline bool sam_load_live(const struct sam_loader *l)
{
    return !l->measuring && !l->status;
}

// Room in staging or host memory; NULL while measuring.
static inline float *sam_load_room(struct sam_arena *a, size_t count)
{
    return sam_arena_bytes(a, count * sizeof(float));
}

// A tensor of the file with exactly this shape, as F32 in `room` (NULL while measuring).
void sam_load_read(struct sam_loader *l, float *room, int rank, const int64_t *shape,
                   const char *fmt, ...) SAM_PRINTF(5, 6);

// Whether the file has a tensor of this name.
bool sam_load_has(const struct sam_loader *l, const char *fmt, ...) SAM_PRINTF(2, 3);

// Numbers on the host to constant memory: a tensor, a packed matrix. SAM_EFORMAT where one is not
// finite, or would not be when it is rounded to BF16 for the queue's precision: what is folded from
// finite weights may overflow.
struct sam_tensor sam_load_tensor(struct sam_loader *l, const float *host, int h, int w, int c);
struct sam_matrix sam_load_matrix(struct sam_loader *l, const float *host, int out, int in);

// A tensor of `rows` rows (the product of all but the last of the shape) as (1, 1, rows, c).
struct sam_tensor sam_load_rows(struct sam_loader *l, int rank, const int64_t *shape,
                                const char *fmt, ...) SAM_PRINTF(4, 5);

// <name>.weight and <name>.bias of: a norm, a fully connected layer, a convolution (out, in, k, k),
// a transposed convolution of kernel 2 (in, out, 2, 2).
void sam_load_norm(struct sam_loader *l, struct sam_affine *norm, int c, const char *fmt, ...)
    SAM_PRINTF(4, 5);
void sam_load_linear(struct sam_loader *l, struct sam_product *p, int out, int in,
                     const char *fmt, ...) SAM_PRINTF(5, 6);
// <name>.weight alone: a fully connected layer without bias.
void sam_load_weight(struct sam_loader *l, struct sam_product *p, int out, int in, const char *fmt,
                     ...) SAM_PRINTF(5, 6);
void sam_load_conv(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                   const char *fmt, ...) SAM_PRINTF(6, 7);
void sam_load_conv_transpose(struct sam_loader *l, struct sam_product *p, int out, int in,
                             const char *fmt, ...) SAM_PRINTF(5, 6);

// A fully connected layer still on the host, to be folded with another. conv: (out, in, 1, 1).
struct sam_load_layer {
    float *weight, *bias; // (out, in), (out); staging
    int out, in;
};
struct sam_load_layer sam_load_layer(struct sam_loader *l, int out, int in, bool conv,
                                     const char *fmt, ...) SAM_PRINTF(5, 6);
// A convolution without bias and the BatchNorm behind it, <name>.c.weight and <name>.bn.*, as one:
// weight (out, in * kernel * kernel), in the file's order. Sums in double.
struct sam_load_layer sam_load_normed(struct sam_loader *l, int out, int in, int kernel,
                                      const char *fmt, ...) SAM_PRINTF(5, 6);
// The same, packed for sam_conv, or for sam_linear where kernel = 1.
void sam_load_conv_normed(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                          const char *fmt, ...) SAM_PRINTF(6, 7);
// A depthwise weight on the host, (c, kernel, kernel), to constant memory: (1, kernel, kernel, c).
struct sam_tensor sam_load_depthwise(struct sam_loader *l, const float *weight, int c, int kernel);

// second(first(x)) as one layer. Sums in double: the fold must cost no accuracy.
void sam_load_folded(struct sam_loader *l, struct sam_product *p,
                     const struct sam_load_layer *second, const struct sam_load_layer *first);

#endif // SAM_LOAD_H

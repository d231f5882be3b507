// SPDX-License-Identifier: MIT
// Private to the fronts in ops.c: describes the arguments that an operation accepts.
#ifndef SAM_OPS_ARGS_H
#define SAM_OPS_ARGS_H

#include "ops/ops.h"

enum {
    ARG_F32        = 1 << 0,
    ARG_BF16       = 1 << 1,
    ARG_I32        = 1 << 2,
    ARG_ACTIVATION = ARG_F32 | ARG_BF16,
    ARG_OUT        = 1 << 3, // shares no byte with any other argument
    ARG_MAY_BE_OUT = 1 << 4, // except this one, if it is the whole of it
    ARG_OPTIONAL   = 1 << 5, // data may be NULL; then the rest of it is not looked at
};

// One argument: a tensor, a packed weight or a number. A list of them ends with name = NULL.
struct arg {
    const char *name;
    const struct sam_tensor *tensor;
    const struct sam_matrix *matrix;
    double number;
    int flags;
};

#define OUT(x, f)     { .name = #x, .tensor = &p->x, .flags = ARG_OUT | (f) }
#define IN(x, f)      { .name = #x, .tensor = &p->x, .flags = (f) }
#define WEIGHT(x)     { .name = #x, .matrix = &p->x }
#define NUMBER(x)     { .name = #x, .number = p->x }
#define END           { .name = NULL }

// Types, extents, presence and overlap of every argument, by its flags. False: the queue has
// failed with a sentence.
bool sam_check_args(struct sam_queue *q, const char *op, const struct arg *args);

// Fail the queue: which operation needed what, and every argument it got.
void sam_refuse(struct sam_queue *q, const char *op, const char *need, const struct arg *args);

// Whether two tensors share a byte.
bool sam_args_overlap(const struct sam_tensor *a, const struct sam_tensor *b);

static inline bool is_shape(const struct sam_tensor *t, int n, int h, int w, int c)
{
    return t->n == n && t->h == h && t->w == w && t->c == c;
}

// Where rows are all the same, it does not matter how they are told apart into n, h and w.
static inline bool same_rows(const struct sam_tensor *a, const struct sam_tensor *b)
{
    return sam_rows(a) == sam_rows(b);
}

static inline bool like(const struct sam_tensor *a, const struct sam_tensor *b)
{
    return a->n == b->n && same_rows(a, b) && a->c == b->c;
}

static inline bool is_vector(const struct sam_tensor *t, int c)
{
    return sam_rows(t) == 1 && t->c == c;
}

// Like t; or one map of it, for every n.
static inline bool repeats_map(const struct sam_tensor *a, const struct sam_tensor *t)
{
    return like(a, t) || (a->n == 1 && a->c == t->c && sam_rows(a) * t->n == sam_rows(t));
}

// Or a single row, for all of its rows.
static inline bool repeats(const struct sam_tensor *a, const struct sam_tensor *t)
{
    return repeats_map(a, t) || is_vector(a, t->c);
}

static inline bool is_absent_or_vector(const struct sam_tensor *t, int c)
{
    return !t->data || is_vector(t, c);
}

// Both expect q, p and args in scope.
#define begin()                                                                                \
    do {                                                                                       \
        if (q->status || !sam_check_args(q, __func__, args))                                   \
            return;                                                                            \
    } while (0)
#define require(cond)                                                                          \
    do {                                                                                       \
        if (!(cond)) {                                                                         \
            sam_refuse(q, __func__, #cond, args);                                              \
            return;                                                                            \
        }                                                                                      \
    } while (0)

// A frame with all of its planes.
#define require_planes(f)                                                                      \
    do {                                                                                       \
        require((unsigned) (f)->format <= SAM_PIXEL_P010);                                     \
        require((f)->width >= 1 && (f)->width <= SAM_MAX_SIDE);                                \
        require((f)->height >= 1 && (f)->height <= SAM_MAX_SIDE);                              \
        for (int i = 0; i < 3; i++) {                                                          \
            const int row_bytes = sam_frame_row_bytes(f, i);                                   \
            require(row_bytes == 0 || ((f)->plane[i] && (f)->stride[i] >= row_bytes));         \
        }                                                                                      \
    } while (0)

// Likewise in a check that several fronts share, which expects the front's name in op.
#define check_begin()                                                                          \
    do {                                                                                       \
        if (q->status || !sam_check_args(q, op, args))                                         \
            return false;                                                                      \
    } while (0)
#define check(cond)                                                                            \
    do {                                                                                       \
        if (!(cond)) {                                                                         \
            sam_refuse(q, op, #cond, args);                                                    \
            return false;                                                                      \
        }                                                                                      \
    } while (0)

#endif // SAM_OPS_ARGS_H

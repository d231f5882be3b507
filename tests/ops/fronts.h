// SPDX-License-Identifier: MIT
// The fronts of the operations: what a contract allows goes to the backend, every breach of it is
// refused with a sentence that says what was wanted and got, before any backend is called.
#ifndef FRONTS_H
#define FRONTS_H

#include "ops/ops.h"

// Where tensors lie; nobody reads it.
extern float front_room[1 << 16];

// The queue, whose table counts calls; and whether its device has memory of its own.
extern struct sam_queue front_queue;
void front_on_device(bool on_device);

// words: NULL, the call before this one must have reached the backend, once. Otherwise it must not
// have, and the queue's sentence names the operation, holds these words, and says what was got.
void front_judge(const char *op, const char *change, const char *words);

// Call the operation with what valid_OP() gives, after a change of it, *p.
#define TAKES(op, change) FRONT_TRY(op, change, NULL)
#define REFUSES(op, change, words) FRONT_TRY(op, change, words)
#define FRONT_TRY(op, change, words)                                                           \
    do {                                                                                       \
        struct sam_##op params = valid_##op(), *p = &params;                                   \
        change;                                                                                \
        sam_op_##op(&front_queue, p);                                                          \
        front_judge(#op, #change, words);                                                      \
    } while (0)

// Tensors 1024 floats apart in the room, so that none overlaps another by accident.
static inline struct sam_tensor place(int i, enum sam_type type, int n, int h, int w, int c)
{
    return (struct sam_tensor) { front_room + 1024 * i, type, n, h, w, c };
}

static inline struct sam_tensor f32(int i, int n, int h, int w, int c)
{
    return place(i, SAM_F32, n, h, w, c);
}

static inline struct sam_tensor i32(int i, int n, int h, int w, int c)
{
    return place(i, SAM_I32, n, h, w, c);
}

static inline struct sam_matrix matrix(int i, int out, int in)
{
    return (struct sam_matrix) { .data = front_room + 1024 * i, .out = out, .in = in };
}

static inline void overlap_by_one(struct sam_tensor *dst, const struct sam_tensor *with)
{
    dst->data = (uint8_t *) with->data + sam_tensor_bytes(with) - 1;
}

#endif // FRONTS_H

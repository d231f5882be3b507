// SPDX-License-Identifier: MIT
// Mutants: the reference with one fault each. The check of an operation must catch every mutant.
#ifndef FAULTY_H
#define FAULTY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ops/ref/ref.h"

struct mutant {
    const char *name;
    void (*fault)(void); // takes the place of the operation's entry
};

// Writes one byte too many; leaves out the last number; changes an input.
#define COMMON(op, out, in)                                                                    \
    static void op##_writes_too_far(struct sam_queue *q, const struct sam_##op *p)             \
    {                                                                                          \
        sam_##op##_ref(q, p);                                                                  \
        ((uint8_t *) p->out.data)[sam_tensor_bytes(&p->out)] ^= 1;                             \
    }                                                                                          \
    static void op##_forgets_the_last(struct sam_queue *q, const struct sam_##op *p)           \
    {                                                                                          \
        const size_t last = sam_count(&p->out) - 1;                                            \
        const float before = sam_load(&p->out, last);                                          \
        sam_##op##_ref(q, p);                                                                  \
        sam_store(&p->out, last, before);                                                      \
    }                                                                                          \
    static void op##_scribbles(struct sam_queue *q, const struct sam_##op *p)                  \
    {                                                                                          \
        sam_##op##_ref(q, p);                                                                  \
        ((uint8_t *) p->in.data)[sam_tensor_bytes(&p->in) - 1] ^= 1;                           \
    }

// Run an operation with some of its parameters changed.
#define CHANGED(op, name, ...)                                                                 \
    static void op##_##name(struct sam_queue *q, const struct sam_##op *p)                     \
    {                                                                                          \
        struct sam_##op m = *p;                                                                \
        __VA_ARGS__;                                                                           \
        sam_##op##_ref(q, &m);                                                                 \
    }

static inline struct sam_tensor without(struct sam_tensor t)
{
    t.data = NULL;
    return t;
}

static inline struct sam_tensor shifted(struct sam_tensor t, size_t elements)
{
    t.data = (uint8_t *) t.data + elements * sam_type_size(t.type);
    return t;
}

// Rounds to bf16 what asked to be exact.
static inline struct sam_tensor rounded_copy(const struct sam_tensor *t, float *room,
                                             size_t capacity)
{
    struct sam_tensor r = *t;
    if (t->type != SAM_F32 || sam_count(t) > capacity)
        return r;
    r.data = room;
    for (size_t i = 0; i < sam_count(t); i++)
        room[i] = sam_bf16_to_float(sam_bf16_from_float(sam_load(t, i)));
    return r;
}

#define ROUNDS_THE_EXACT(op, in)                                                               \
    static void op##_rounds_the_exact(struct sam_queue *q, const struct sam_##op *p)           \
    {                                                                                          \
        static float room[1 << 16];                                                            \
        struct sam_##op m = *p;                                                                \
        if (q->precision == SAM_PRECISION_BF16)                                                \
            m.in = rounded_copy(&p->in, room, 1 << 16);                                        \
        sam_##op##_ref(q, &m);                                                                 \
    }

// A copy of t with every step-th number from `from` on negated.
static inline struct sam_tensor negated(const struct sam_tensor *t, size_t from, size_t step)
{
    static float room[65 * 256];
    for (size_t i = 0; i < sam_count(t); i++)
        room[i] = sam_load(t, i) * (i >= from && (i - from) % step == 0 ? -1.0f : 1.0f);
    struct sam_tensor copy = *t;
    copy.data = room;
    return copy;
}

#define MUTANT(op, name) { #name, (void (*)(void)) op##_##name }
#define COMMON_MUTANTS(op)                                                                     \
    MUTANT(op, writes_too_far), MUTANT(op, forgets_the_last), MUTANT(op, scribbles)

#endif // FAULTY_H

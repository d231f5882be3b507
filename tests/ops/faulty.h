// How mutants.c writes its mutants.
#ifndef FAULTY_H
#define FAULTY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "mutants.h"
#include "ops/ref/ref.h"

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

static struct sam_tensor without(struct sam_tensor t)
{
    t.data = NULL;
    return t;
}

static struct sam_tensor shifted(struct sam_tensor t, size_t elements)
{
    t.data = (uint8_t *) t.data + elements * sam_type_size(t.type);
    return t;
}

#define MUTANT(op, name)                                                                       \
    { #op, #name, offsetof(struct sam_ops, op), (void (*)(void)) op##_##name }
#define COMMON_MUTANTS(op)                                                                     \
    MUTANT(op, writes_too_far), MUTANT(op, forgets_the_last), MUTANT(op, scribbles)

#endif // FAULTY_H

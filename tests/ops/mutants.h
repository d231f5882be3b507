// Operations with one planted fault each. The harness must catch every one of them: a check
// that cannot fail is not a check.
#ifndef MUTANTS_H
#define MUTANTS_H

#include <stddef.h>

struct mutant {
    const char *op, *name;
    size_t entry; // offset into struct sam_ops
    void (*fault)(void);
};

extern const struct mutant mutants[];
extern const int num_mutants;

#endif // MUTANTS_H

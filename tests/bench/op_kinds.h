// SPDX-License-Identifier: MIT
// A table of operations by name and shape, with what they took: of op_times.c and op_times_cpu.c.
#ifndef SAM_OP_KINDS_H
#define SAM_OP_KINDS_H

#include <stdbool.h>
#include <stdio.h>

enum { OP_KINDS = 1024 };

struct op_kind {
    char name[24], shape[96];
    double flop, bytes, ms;
    long calls;
    bool is_library; // cuBLASLt made its products
};

struct op_kinds {
    struct op_kind kind[OP_KINDS];
    int count;
};

// The entry of an operation; its shape is that of its first tensor, `more` is appended. NULL: the
// table is full.
struct op_kind *op_kinds_find(struct op_kinds *kinds, const char *name, const void *contract,
                              const char *more);

// JSON as op_times_write says, each number divided by `frames`.
void op_kinds_write(struct op_kinds *kinds, FILE *f, int frames);

#endif // SAM_OP_KINDS_H

// SPDX-License-Identifier: MIT
// All tests of operations, by the list.
#ifndef SUITE_H
#define SUITE_H

#include "test.h"

struct operation {
    const struct op_test *test;
    size_t entry; // offset into struct sam_ops
    bool on_cuda;
};

extern const struct operation operations[];
extern const int num_operations;

// Each runs what `op` names, or all, prints what is wrong, and returns an exit status. vectors_run:
// the reference, and the fast CPU backend in fp32, against the numbers in `path`.
int fronts_run(const char *op);
int vectors_run(const char *path, const char *op);

#endif // SUITE_H

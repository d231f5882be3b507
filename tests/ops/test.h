// SPDX-License-Identifier: MIT
// The test of an operation is one file, named after it, that ends with TEST(name, ...). This is
// what all of them include.
#ifndef TEST_H
#define TEST_H

#include "check.h"
#include "faulty.h"
#include "fronts.h"
#include "vectors.h"

struct op_test {
    const char *name;
    void (*check)(struct check *t);      // random cases, a backend against the reference: check.h
    void (*fronts)(void);                // what the contract allows, and every breach: fronts.h
    void (*vectors)(struct vectors *v);  // a case that PyTorch computed: vectors.h; NULL: check has
                                         // a second implementation of the contract
    float abs, rel;                      // tolerance of each number of it
    const struct mutant *mutants;        // the reference with one fault each, for check to catch
    int num_mutants;
    bool has_int8;                       // products with weights: a run of their own
    bool fp32_is_another_kernel;         // on CUDA: worth a run of its own on the emulator
};

#define TEST(op, ...)                                                                          \
    const struct op_test test_##op = { .name = #op, .check = check_##op, .fronts = fronts_##op, \
                                       .mutants = mutants,                                     \
                                       .num_mutants = sizeof(mutants) / sizeof(*mutants),      \
                                       __VA_ARGS__ }

// A fault in a kernel, for check to catch: the file in cuda/, and a place in it that is there once,
// with «expression => its fault». tests/emu/mutate.py reads these and plants them. A third argument
// is a part of the names of cases that notice it soon, where the first that would comes late.
#define CUDA_FAULT(file, place, ...)

#endif // TEST_H

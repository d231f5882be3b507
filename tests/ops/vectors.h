// SPDX-License-Identifier: MIT
// Cases that PyTorch computed (against_torch.py). Their file holds for case k of an operation the
// tensors "<op>.<k>/<member>", f32 with four extents: inputs, numbers, outputs, and what an output
// held before ("before").
#ifndef VECTORS_H
#define VECTORS_H

#include "ops/ops.h"

enum { MAX_KEPT = 32, MAX_OUTPUTS = 4 };

struct vectors {
    struct sam_queue queue;

    // Below here: private to vectors.c.
    struct sam_weights *file;
    char at[64]; // "<op>.<k>/"
    void *kept[MAX_KEPT];
    int num_kept, num_outputs;
    struct sam_tensor got[MAX_OUTPUTS], want[MAX_OUTPUTS];
};

// Members of the case. A tensor that it lacks has no data, a number is 0.
struct sam_tensor vec_in(struct vectors *v, const char *member);
struct sam_tensor vec_ints(struct vectors *v, const char *member);
struct sam_matrix vec_matrix(struct vectors *v, const char *member);
float vec_number(struct vectors *v, const char *member);
int vec_int(struct vectors *v, const char *member);

// Room for an output, filled with what it held before the operation, or NaN; compared afterwards.
struct sam_tensor vec_out(struct vectors *v, const char *member);
struct sam_tensor vec_out_after(struct vectors *v, const char *member, const char *before);

// Memory until the end of the case.
void *vec_keep(struct vectors *v, size_t bytes);

#endif // VECTORS_H

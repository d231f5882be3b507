// SPDX-License-Identifier: MIT
// Building blocks of all model families: layers with their weights.
#ifndef SAM_NET_H
#define SAM_NET_H

#include "ops/ops.h"

struct sam_affine {
    struct sam_tensor weight, bias; // of a norm: (1, 1, 1, c) each
};

struct sam_product {
    struct sam_matrix weight;
    struct sam_tensor bias;
    struct sam_tensor bias_bf16; // of linear layers; data is NULL if the backend does not use it
};

// Norm, product, activation, product, and a residual connection: mlp.c.
struct sam_mlp {
    struct sam_affine norm;
    struct sam_product up, down;
};

// x += down act(up norm(x)). u must have room for as many numbers as x, hidden for as many as
// sam_mlp_hidden() returns, in the queue's type.
void sam_mlp_run(struct sam_queue *q, const struct sam_mlp *m, float eps, enum sam_act act,
                 struct sam_tensor x, struct sam_tensor u, struct sam_tensor hidden);
// The same for x that is what a product gives, which is made here.
void sam_mlp_run_behind(struct sam_queue *q, const struct sam_linear *product,
                        const struct sam_mlp *m, float eps, enum sam_act act, struct sam_tensor u,
                        struct sam_tensor hidden);
// The room that `count` hidden numbers need: 0 if the backend does not store them.
size_t sam_mlp_hidden(const struct sam_queue *q, size_t count);

#endif // SAM_NET_H

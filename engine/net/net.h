// What networks are made of, whichever family they belong to: layers with their weights, and who
// listens to their stages.
#ifndef SAM_NET_H
#define SAM_NET_H

#include "ops/ops.h"

struct sam_affine {
    struct sam_tensor weight, bias; // of a norm: (1, 1, 1, c) each
};

struct sam_product {
    struct sam_matrix weight;
    struct sam_tensor bias;
    struct sam_tensor bias_bf16; // of linear layers, where the backend wants it; data NULL: not
};

// Norm, product, activation, product, added to where it began: mlp.c.
struct sam_mlp {
    struct sam_affine norm;
    struct sam_product up, down;
};

// x += down act(up norm(x)). u and hidden: room for one and four (or eight) times the numbers of x,
// hidden for as many as sam_mlp_hidden() says, in the queue's type.
void sam_mlp_run(struct sam_queue *q, const struct sam_mlp *m, float eps, enum sam_act act,
                 struct sam_tensor x, struct sam_tensor u, struct sam_tensor hidden);
// How many of `count` hidden numbers need room: none where the backend keeps them to itself.
size_t sam_mlp_hidden(const struct sam_queue *q, size_t count);

// Called at each stage with its name and output; NULL when nobody listens. For stage tests
// and keep_stages. The tensor lives until the run goes on.
struct sam_probe {
    void (*write)(void *priv, struct sam_queue *q, const char *name, struct sam_tensor t);
    void *priv;
};

#endif // SAM_NET_H

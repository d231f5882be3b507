// SPDX-License-Identifier: MIT
// The feed-forward half of the trunk's and of memory attention's blocks.
#include "forward.h"

size_t sam_mlp_hidden(const struct sam_queue *q, size_t count)
{
    return sam_op_has_feed_forward(q) ? 0 : count;
}

void sam_mlp_run(struct sam_queue *q, const struct sam_mlp *m, float eps, enum sam_act act,
                 struct sam_tensor x, struct sam_tensor u, struct sam_tensor hidden)
{
    if (sam_op_has_feed_forward(q)) {
        feed_forward(q, .x = x, NORM(m->norm), .eps = eps, .up = m->up.weight,
                     .up_bias = m->up.bias, .down = m->down.weight, .down_bias = m->down.bias,
                     .act = act);
        return;
    }
    u = sam_view(u, x.n, x.h, x.w, x.c);
    hidden = sam_view(hidden, x.n, x.h, x.w, m->up.weight.out);
    const struct sam_linear up = { .dst = hidden, .src = u, LINEAR(m->up), .act = act };
    norm_linears(q, .norm = { .dst = u, .src = x, NORM(m->norm), .eps = eps }, .each = &up,
                 .count = 1);
    linear(q, .dst = x, .src = hidden, LINEAR(m->down), .add = x);
}

void sam_mlp_run_behind(struct sam_queue *q, const struct sam_linear *product,
                        const struct sam_mlp *m, float eps, enum sam_act act, struct sam_tensor u,
                        struct sam_tensor hidden)
{
    const struct sam_tensor x = product->dst;

    if (sam_op_has_feed_forward(q)) {
        sam_op_linear(q, product);
        sam_mlp_run(q, m, eps, act, x, u, hidden);
        return;
    }
    u = sam_view(u, x.n, x.h, x.w, x.c);
    hidden = sam_view(hidden, x.n, x.h, x.w, m->up.weight.out);
    product_norm(q, .linear = product,
                 .norm = { .dst = u, .src = x, NORM(m->norm), .eps = eps });
    linear(q, .dst = hidden, .src = u, LINEAR(m->up), .act = act);
    linear(q, .dst = x, .src = hidden, LINEAR(m->down), .add = x);
}

// Short forms, so that a forward reads like the figure it implements. Those of the operations are
// in short_forms.h, which meson.build makes from ops/list.h: linear(q, ...) stands for
// sam_op_linear(q, &(struct sam_linear) { ... }).
#ifndef SAM_FORWARD_H
#define SAM_FORWARD_H

#include <assert.h>

#include "net.h"
#include "net/short_forms.h"

#define PRODUCT(p) .weight = (p).weight, .bias = (p).bias
#define LINEAR(p)  PRODUCT(p), .bias_bf16 = (p).bias_bf16
#define NORM(n)    .gamma = (n).weight, .beta = (n).bias

// Epsilon of the norms: PyTorch's own in the transformers, SAM's in the trunk and of maps.
#define EPS_TRANSFORMER 1e-5f
#define EPS_MAP         1e-6f

// The room of a tensor under smaller or equal extents.
static inline struct sam_tensor sam_view(struct sam_tensor t, int n, int h, int w, int c)
{
    assert((size_t) n * h * w * c <= sam_count(&t));
    t.n = n, t.h = h, t.w = w, t.c = c;
    return t;
}

static inline void sam_probe_write(const struct sam_probe *probe, struct sam_queue *q,
                                   const char *name, struct sam_tensor t)
{
    if (probe && probe->write)
        probe->write(probe->priv, q, name, t);
}

#endif // SAM_FORWARD_H

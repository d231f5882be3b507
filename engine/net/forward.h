// SPDX-License-Identifier: MIT
// Short forms for code that runs a network. short_forms.h has those of the operations; meson.build
// generates it from ops/list.h: linear(q, ...) stands for
// sam_op_linear(q, &(struct sam_linear) { ... }).
#ifndef SAM_FORWARD_H
#define SAM_FORWARD_H

#include <assert.h>

#include "net.h"
#include "net/short_forms.h"

#define PRODUCT(p) .weight = (p).weight, .bias = (p).bias
#define LINEAR(p)  PRODUCT(p), .bias_bf16 = (p).bias_bf16
#define NORM(n)    .gamma = (n).weight, .beta = (n).bias

// Epsilon of LayerNorm: PyTorch's default in the transformers, SAM's in the trunk and on maps.
#define EPS_TRANSFORMER 1e-5f
#define EPS_MAP         1e-6f

// A tensor with other extents, not larger, in the same memory.
static inline struct sam_tensor sam_view(struct sam_tensor t, int n, int h, int w, int c)
{
    assert((size_t) n * h * w * c <= sam_count(&t));
    t.n = n, t.h = h, t.w = w, t.c = c;
    return t;
}

#endif // SAM_FORWARD_H

// Short forms of the operations, so that a forward reads like the figure it implements.
#ifndef SAM_FORWARD_H
#define SAM_FORWARD_H

#include <assert.h>

#include "net.h"

#define copy(q, ...)           sam_op_copy(q, &(struct sam_copy) { __VA_ARGS__ })
#define copy_rows(q, ...)      sam_op_copy_rows(q, &(struct sam_copy_rows) { __VA_ARGS__ })
#define add(q, ...)            sam_op_add(q, &(struct sam_add) { __VA_ARGS__ })
#define layernorm(q, ...)      sam_op_layernorm(q, &(struct sam_layernorm) { __VA_ARGS__ })
#define linear(q, ...)         sam_op_linear(q, &(struct sam_linear) { __VA_ARGS__ })
#define feed_forward(q, ...)   sam_op_feed_forward(q, &(struct sam_feed_forward) { __VA_ARGS__ })
#define conv(q, ...)           sam_op_conv(q, &(struct sam_conv) { __VA_ARGS__ })
#define depthwise(q, ...)      sam_op_depthwise(q, &(struct sam_depthwise) { __VA_ARGS__ })
#define conv_transpose(q, ...) \
    sam_op_conv_transpose(q, &(struct sam_conv_transpose) { __VA_ARGS__ })
#define maxpool(q, ...)        sam_op_maxpool(q, &(struct sam_maxpool) { __VA_ARGS__ })
#define window_attention(q, ...) \
    sam_op_window_attention(q, &(struct sam_window_attention) { __VA_ARGS__ })
#define attention(q, ...)      sam_op_attention(q, &(struct sam_attention) { __VA_ARGS__ })
#define rope(q, ...)           sam_op_rope(q, &(struct sam_rope) { __VA_ARGS__ })
#define rope_attention(q, ...) \
    sam_op_rope_attention(q, &(struct sam_rope_attention) { __VA_ARGS__ })
#define upsample_add(q, ...)   sam_op_upsample_add(q, &(struct sam_upsample_add) { __VA_ARGS__ })
#define resize(q, ...)         sam_op_resize(q, &(struct sam_resize) { __VA_ARGS__ })
#define mask_signal(q, ...)    sam_op_mask_signal(q, &(struct sam_mask_signal) { __VA_ARGS__ })
#define matmul(q, ...)         sam_op_matmul(q, &(struct sam_matmul) { __VA_ARGS__ })
#define select_mask(q, ...)    sam_op_select_mask(q, &(struct sam_select_mask) { __VA_ARGS__ })
#define gate(q, ...)           sam_op_gate(q, &(struct sam_gate) { __VA_ARGS__ })

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

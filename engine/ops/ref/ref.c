// The tables of the reference. Everything is done when a call returns; memory is the host's.

#include "ops/ref/ref.h"

#include <string.h>

#include "device/device.h"
#include "ops/backends.h"

static size_t pack_bytes(const struct sam_queue *q, int out, int in, bool exact)
{
    return (size_t) out * in * sizeof(float);
}

static void pack(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    memcpy(dst.data, weight, pack_bytes(q, dst.out, dst.in, dst.exact));
}

static const struct sam_ops table = {
    .pack_bytes       = pack_bytes,
    .pack             = pack,
    .copy             = sam_copy_ref,
    .copy_rows        = sam_copy_rows_ref,
    .add              = sam_add_ref,
    .layernorm        = sam_layernorm_ref,
    .linear           = sam_linear_ref,
    .feed_forward     = sam_feed_forward_ref,
    .conv             = sam_conv_ref,
    .depthwise        = sam_depthwise_ref,
    .conv_transpose   = sam_conv_transpose_ref,
    .maxpool          = sam_maxpool_ref,
    .window_attention = sam_window_attention_ref,
    .attention        = sam_attention_ref,
    .rope             = sam_rope_ref,
    .rope_attention   = sam_rope_attention_ref,
    .upsample_add     = sam_upsample_add_ref,
    .resize           = sam_resize_ref,
    .mask_signal      = sam_mask_signal_ref,
    .matmul           = sam_matmul_ref,
    .select_mask      = sam_select_mask_ref,
    .gate             = sam_gate_ref,
    .scatter          = sam_scatter_ref,
    .gather_memory    = sam_gather_memory_ref,
    .topk             = sam_topk_ref,
    .fill_holes       = sam_fill_holes_ref,
    .preprocess       = sam_preprocess_ref,
    .draw_masks       = sam_draw_masks_ref,
    .paint            = sam_paint_ref,
};

const struct sam_ops *sam_ops_ref(void)
{
    return &table;
}

static int open_ref(struct sam_queue *q, int ordinal, int threads)
{
    q->ops = &table;
    q->precision = SAM_PRECISION_FP32; // the only one there is, whatever was asked
    q->threads = 1;
    q->device_name = "reference";
    return SAM_OK;
}

const struct sam_device *sam_device_ref(void)
{
    static const struct sam_device device = { .name = "ref", .open = open_ref };
    return &device;
}

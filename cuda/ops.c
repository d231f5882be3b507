// The CUDA backend's table of operations.

#include "backend.h"

const struct sam_ops *sam_cuda_ops(void)
{
    static const struct sam_ops table = {
        .pack_bytes       = sam_pack_bytes_cuda,
        .pack             = sam_pack_cuda,
        .wants_bias_bf16  = true,
        .copy             = sam_copy_cuda,
        .copy_rows        = sam_copy_rows_cuda,
        .add              = sam_add_cuda,
        .layernorm        = sam_layernorm_cuda,
        .linear           = sam_linear_cuda,
        .conv             = sam_conv_cuda,
        .depthwise        = sam_depthwise_cuda,
        .conv_transpose   = sam_conv_transpose_cuda,
        .maxpool          = sam_maxpool_cuda,
        .window_attention = sam_window_attention_cuda,
        .attention        = sam_attention_cuda,
        .rope             = sam_rope_cuda,
        .upsample_add     = sam_upsample_add_cuda,
        .resize           = sam_resize_cuda,
        .mask_signal      = sam_mask_signal_cuda,
        .matmul           = sam_matmul_cuda,
        .select_mask      = sam_select_mask_cuda,
        .gate             = sam_gate_cuda,
        .scatter          = sam_scatter_cuda,
        .gather_memory    = sam_gather_memory_cuda,
        .topk             = sam_topk_cuda,
        .fill_holes       = sam_fill_holes_cuda,
        .preprocess       = sam_preprocess_cuda,
        .draw_masks       = sam_draw_masks_cuda,
        .paint            = sam_paint_cuda,
    };
    return &table;
}

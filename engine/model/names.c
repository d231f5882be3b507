// SPDX-License-Identifier: MIT
// Hugging Face's names of the parts that all families share, from the conversion that transformers
// ships.
#include "family.h"

#define DOWN  "memory_encoder.mask_downsampler."
#define FUSER "memory_encoder.memory_fuser.layers.*."
#define WAY   "mask_decoder.transformer."

static const struct sam_name_rule rules[] = {
    { "vision_encoder.neck.convs.*.*", "image_encoder.neck.convs.*.conv.*", 0 },

    { "memory_temporal_positional_encoding", "maskmem_tpos_enc", 0 },
    { "no_memory_embedding", "no_mem_embed", 0 },
    { "no_memory_positional_encoding", "no_mem_pos_enc", 0 },
    { "no_object_pointer", "no_obj_ptr", 0 },
    { "occlusion_spatial_embedding_parameter", "no_obj_embed_spatial", 0 },
    { "object_pointer_proj.proj_in.*", "obj_ptr_proj.layers.0.*", 0 },
    { "object_pointer_proj.layers.0.*", "obj_ptr_proj.layers.1.*", 0 },
    { "object_pointer_proj.proj_out.*", "obj_ptr_proj.layers.2.*", 0 },
    { "temporal_positional_encoding_projection_layer.*", "obj_ptr_tpos_proj.*", 0 },

    { "memory_attention.layers.*.*.o_proj.*", "memory_attention.layers.*.*.out_proj.*", 0 },
    { "memory_attention.layers.*.layer_norm*.*", "memory_attention.layers.*.norm*.*", 0 },
    { "memory_attention.layer_norm.*", "memory_attention.norm.*", 0 },

    { DOWN "layers.0.conv.*", DOWN "encoder.0.*", 0 },
    { DOWN "layers.0.layer_norm.*", DOWN "encoder.1.*", 0 },
    { DOWN "layers.1.conv.*", DOWN "encoder.3.*", 0 },
    { DOWN "layers.1.layer_norm.*", DOWN "encoder.4.*", 0 },
    { DOWN "layers.2.conv.*", DOWN "encoder.6.*", 0 },
    { DOWN "layers.2.layer_norm.*", DOWN "encoder.7.*", 0 },
    { DOWN "layers.3.conv.*", DOWN "encoder.9.*", 0 },
    { DOWN "layers.3.layer_norm.*", DOWN "encoder.10.*", 0 },
    { DOWN "final_conv.*", DOWN "encoder.12.*", 0 },
    { "memory_encoder.feature_projection.*", "memory_encoder.pix_feat_proj.*", 0 },
    { FUSER "scale", "memory_encoder.fuser.layers.*.gamma", 0 },
    { FUSER "depthwise_conv.*", "memory_encoder.fuser.layers.*.dwconv.*", 0 },
    { FUSER "layer_norm.*", "memory_encoder.fuser.layers.*.norm.*", 0 },
    { FUSER "pointwise_conv1.*", "memory_encoder.fuser.layers.*.pwconv1.*", 0 },
    { FUSER "pointwise_conv2.*", "memory_encoder.fuser.layers.*.pwconv2.*", 0 },
    { "memory_encoder.projection.*", "memory_encoder.out_proj.*", 0 },

    // The matrix is there twice, tied; writers may drop either.
    { "prompt_encoder.shared_embedding.positional_embedding",
      "sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix", 0 },
    { "shared_image_embedding.positional_embedding",
      "sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix", 0 },
    // Four embeddings of point labels are rows of one tensor.
    { "prompt_encoder.point_embed.weight", "sam_prompt_encoder.point_embeddings.%d.weight", 4 },
    { "prompt_encoder.not_a_point_embed.weight", "sam_prompt_encoder.not_a_point_embed.weight", 0 },
    { "prompt_encoder.no_mask_embed.weight", "sam_prompt_encoder.no_mask_embed.weight", 0 },
    { "prompt_encoder.mask_embed.conv1.*", "sam_prompt_encoder.mask_downscaling.0.*", 0 },
    { "prompt_encoder.mask_embed.layer_norm1.*", "sam_prompt_encoder.mask_downscaling.1.*", 0 },
    { "prompt_encoder.mask_embed.conv2.*", "sam_prompt_encoder.mask_downscaling.3.*", 0 },
    { "prompt_encoder.mask_embed.layer_norm2.*", "sam_prompt_encoder.mask_downscaling.4.*", 0 },
    { "prompt_encoder.mask_embed.conv3.*", "sam_prompt_encoder.mask_downscaling.6.*", 0 },

    { WAY "layers.*.*.o_proj.*", "sam_mask_decoder.transformer.layers.*.*.out_proj.*", 0 },
    { WAY "layers.*.layer_norm*.*", "sam_mask_decoder.transformer.layers.*.norm*.*", 0 },
    { WAY "layers.*.mlp.proj_in.*", "sam_mask_decoder.transformer.layers.*.mlp.layers.0.*", 0 },
    { WAY "layers.*.mlp.proj_out.*", "sam_mask_decoder.transformer.layers.*.mlp.layers.1.*", 0 },
    { WAY "layers.*.*.*.*", "sam_mask_decoder.transformer.layers.*.*.*.*", 0 }, // q, k, v
    { WAY "layer_norm_final_attn.*", "sam_mask_decoder.transformer.norm_final_attn.*", 0 },
    { WAY "*.o_proj.*", "sam_mask_decoder.transformer.*.out_proj.*", 0 },
    { WAY "*.*.*", "sam_mask_decoder.transformer.*.*.*", 0 }, // q, k, v
    { "mask_decoder.upscale_conv1.*", "sam_mask_decoder.output_upscaling.0.*", 0 },
    { "mask_decoder.upscale_layer_norm.*", "sam_mask_decoder.output_upscaling.1.*", 0 },
    { "mask_decoder.upscale_conv2.*", "sam_mask_decoder.output_upscaling.3.*", 0 },
    { "mask_decoder.output_hypernetworks_mlps.*.proj_in.*",
      "sam_mask_decoder.output_hypernetworks_mlps.*.layers.0.*", 0 },
    { "mask_decoder.output_hypernetworks_mlps.*.layers.0.*",
      "sam_mask_decoder.output_hypernetworks_mlps.*.layers.1.*", 0 },
    { "mask_decoder.output_hypernetworks_mlps.*.proj_out.*",
      "sam_mask_decoder.output_hypernetworks_mlps.*.layers.2.*", 0 },
    { "mask_decoder.*_head.proj_in.*", "sam_mask_decoder.*_head.layers.0.*", 0 },
    { "mask_decoder.*_head.layers.0.*", "sam_mask_decoder.*_head.layers.1.*", 0 },
    { "mask_decoder.*_head.proj_out.*", "sam_mask_decoder.*_head.layers.2.*", 0 },
    { "mask_decoder.*.*", "sam_mask_decoder.*.*", 0 }, // tokens, conv_s0, conv_s1
};

const struct sam_name_map sam_shared_names = { rules, sizeof(rules) / sizeof(rules[0]) };

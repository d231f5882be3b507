// SPDX-License-Identifier: MIT
// Hugging Face's names of the parts that only EdgeTAM has.
#include "sizes.h"

#define HF_BODY "vision_encoder.backbone.timm_model."
#define BODY    "image_encoder.trunk.body."
#define LAYER   "spatial_perceiver.layers.*."

static const struct sam_name_rule rules[] = {
    { HF_BODY "*.*.*.*", BODY "*.*.*.*", 0 },
    { HF_BODY "*.*.*.*.*", BODY "*.*.*.*.*", 0 },
    { HF_BODY "*.*.*.*.*.*", BODY "*.*.*.*.*.*", 0 },
    { HF_BODY "*.*.*.*.*.*.*", BODY "*.*.*.*.*.*.*", 0 },

    { "memory_attention.layers.*.mlp.up_proj.*", "memory_attention.layers.*.linear1.*", 0 },
    { "memory_attention.layers.*.mlp.down_proj.*", "memory_attention.layers.*.linear2.*", 0 },

    { "spatial_perceiver.latents_1d", "spatial_perceiver.latents", 0 },
    { LAYER "layer_norm_input.*", LAYER "attn.norm_x.*", 0 },
    { LAYER "layer_norm_latents.*", LAYER "attn.norm_latents.*", 0 },
    { LAYER "layer_norm_self.*", LAYER "self_attn.norm.*", 0 },
    // Meta keeps the rows of k and v in one tensor, to_kv; perceiver.c reads either.
    { LAYER "cross_attention.q_proj.*", LAYER "attn.to_q.*", 0 },
    { LAYER "cross_attention.k_proj.*", LAYER "attn.to_k.*", 0 },
    { LAYER "cross_attention.v_proj.*", LAYER "attn.to_v.*", 0 },
    { LAYER "cross_attention.o_proj.*", LAYER "attn.to_out.*", 0 },
    { LAYER "self_attention.q_proj.*", LAYER "self_attn.to_q.*", 0 },
    { LAYER "self_attention.k_proj.*", LAYER "self_attn.to_k.*", 0 },
    { LAYER "self_attention.v_proj.*", LAYER "self_attn.to_v.*", 0 },
    { LAYER "self_attention.o_proj.*", LAYER "self_attn.to_out.*", 0 },
    { LAYER "mlp.layer_norm.*", LAYER "ff.0.*", 0 },
    { LAYER "mlp.up_proj.*", LAYER "ff.1.*", 0 },
    { LAYER "mlp.down_proj.*", LAYER "ff.3.*", 0 },
    { LAYER "self_mlp.layer_norm.*", LAYER "self_ff.0.*", 0 },
    { LAYER "self_mlp.up_proj.*", LAYER "self_ff.1.*", 0 },
    { LAYER "self_mlp.down_proj.*", LAYER "self_ff.3.*", 0 },
    { "spatial_perceiver.layer_norm.*", "spatial_perceiver.norm.*", 0 },
};

const struct sam_name_map sam_edgetam_names = { rules, sizeof(rules) / sizeof(rules[0]) };

// SPDX-License-Identifier: MIT
// Hugging Face's names of the trunk.
#include "hiera.h"

#define TRUNK "vision_encoder.backbone."
#define BLOCK "vision_encoder.backbone.blocks.*."

static const struct sam_name_rule rules[] = {
    { TRUNK "pos_embed", "image_encoder.trunk.pos_embed", 0 },
    { TRUNK "pos_embed_window", "image_encoder.trunk.pos_embed_window", 0 },
    { TRUNK "patch_embed.projection.*", "image_encoder.trunk.patch_embed.proj.*", 0 },
    { BLOCK "layer_norm*.*", "image_encoder.trunk.blocks.*.norm*.*", 0 },
    { BLOCK "attn.*.*", "image_encoder.trunk.blocks.*.attn.*.*", 0 },
    { BLOCK "mlp.proj_in.*", "image_encoder.trunk.blocks.*.mlp.layers.0.*", 0 },
    { BLOCK "mlp.proj_out.*", "image_encoder.trunk.blocks.*.mlp.layers.1.*", 0 },
    { BLOCK "proj.*", "image_encoder.trunk.blocks.*.proj.*", 0 },
};

const struct sam_name_map sam_hiera_names = { rules, sizeof(rules) / sizeof(rules[0]) };

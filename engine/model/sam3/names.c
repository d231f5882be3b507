// SPDX-License-Identifier: MIT
// The two ways that SAM 3's files call the trunk, the tracker's neck and what the shared rules do
// not know: the publisher's (sam3.pt) and Hugging Face's, whole (detector_model, tracker_model,
// tracker_neck), of the tracker alone or of the detector alone. The detector's other tensors keep
// the names that they have in the whole file.
#include "weights/names.h"

#define TRUNK        "image_encoder.trunk."
#define NECK         "image_encoder.neck.levels."
#define META         "detector.backbone.vision_backbone."
#define META_DECODER "tracker.sam_mask_decoder.transformer.layers.*.mlp."
#define OUR_DECODER  "sam_mask_decoder.transformer.layers.*.mlp.layers."

#define HF_TRUNK(from)                                                                             \
    { from "embeddings.position_embeddings", TRUNK "pos_embed", 0 },                               \
        { from "embeddings.patch_embeddings.projection.*", TRUNK "patch_embed.proj.*", 0 },        \
        { from "layer_norm.*", TRUNK "ln_pre.*", 0 },                                              \
        { from "layers.*.layer_norm*.*", TRUNK "blocks.*.norm*.*", 0 },                            \
        { from "layers.*.attention.o_proj.*", TRUNK "blocks.*.attn.proj.*", 0 },                   \
        { from "layers.*.attention.*.*", TRUNK "blocks.*.attn.*.*", 0 },                           \
    {                                                                                              \
        from "layers.*.mlp.*.*", TRUNK "blocks.*.mlp.*.*", 0                                       \
    }

#define HF_NECK(from, to)                                                                          \
    { from "0.scale_layers.0.*", to "0.dconv_2x2_0.*", 0 },                                        \
        { from "0.scale_layers.2.*", to "0.dconv_2x2_1.*", 0 },                                    \
        { from "1.scale_layers.0.*", to "1.dconv_2x2.*", 0 },                                      \
        { from "*.proj1.*", to "*.conv_1x1.*", 0 },                                                \
    {                                                                                              \
        from "*.proj2.*", to "*.conv_3x3.*", 0                                                     \
    }

static const struct sam_name_rule rules[] = {
    { META "trunk.pos_embed", TRUNK "pos_embed", 0 },
    { META "trunk.*.*", TRUNK "*.*", 0 },
    { META "trunk.*.*.*", TRUNK "*.*.*", 0 },
    { META "trunk.blocks.*.*.*", TRUNK "blocks.*.*.*", 0 },
    { META "trunk.blocks.*.*.*.*", TRUNK "blocks.*.*.*.*", 0 },
    { META "sam2_convs.*.*.*", NECK "*.*.*", 0 },

    { "tracker.transformer.encoder.norm.*", "memory_attention.norm.*", 0 },
    { "tracker.transformer.encoder.layers.*.*.*", "memory_attention.layers.*.*.*", 0 },
    { "tracker.transformer.encoder.layers.*.*.*.*", "memory_attention.layers.*.*.*.*", 0 },
    { "tracker.maskmem_backbone.*.*", "memory_encoder.*.*", 0 },
    { "tracker.maskmem_backbone.*.*.*.*", "memory_encoder.*.*.*.*", 0 },
    { "tracker.maskmem_backbone.*.*.*.*.*", "memory_encoder.*.*.*.*.*", 0 },
    { META_DECODER "lin1.*", OUR_DECODER "0.*", 0 },
    { META_DECODER "lin2.*", OUR_DECODER "1.*", 0 },

    HF_TRUNK("detector_model.vision_encoder.backbone."),
    HF_NECK("tracker_neck.fpn_layers.", NECK),
    HF_NECK("detector_model.vision_encoder.neck.fpn_layers.", "detector_neck.levels."),
    HF_TRUNK("vision_encoder.backbone."),
    HF_NECK("vision_encoder.neck.fpn_layers.", NECK),
};

const struct sam_name_map sam_sam3_names = { rules, sizeof(rules) / sizeof(rules[0]) };

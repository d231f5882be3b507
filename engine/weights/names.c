#include "names.h"

#include <string.h>

// One rule: a whole name, where each * stands for one or more characters other than a dot, the
// same text on both sides in the same order. From the conversion that transformers ships.
struct rule {
    const char *hf, *meta;
};

#define TRUNK "vision_encoder.backbone."
#define BLOCK "vision_encoder.backbone.blocks.*."
#define DOWN  "memory_encoder.mask_downsampler."
#define FUSER "memory_encoder.memory_fuser.layers.*."
#define WAY   "mask_decoder.transformer."

static const struct rule rules[] = {
    { TRUNK "pos_embed", "image_encoder.trunk.pos_embed" },
    { TRUNK "pos_embed_window", "image_encoder.trunk.pos_embed_window" },
    { TRUNK "patch_embed.projection.*", "image_encoder.trunk.patch_embed.proj.*" },
    { BLOCK "layer_norm*.*", "image_encoder.trunk.blocks.*.norm*.*" },
    { BLOCK "attn.*.*", "image_encoder.trunk.blocks.*.attn.*.*" },
    { BLOCK "mlp.proj_in.*", "image_encoder.trunk.blocks.*.mlp.layers.0.*" },
    { BLOCK "mlp.proj_out.*", "image_encoder.trunk.blocks.*.mlp.layers.1.*" },
    { BLOCK "proj.*", "image_encoder.trunk.blocks.*.proj.*" },
    { "vision_encoder.neck.convs.*.*", "image_encoder.neck.convs.*.conv.*" },

    { "memory_temporal_positional_encoding", "maskmem_tpos_enc" },
    { "no_memory_embedding", "no_mem_embed" },
    { "no_memory_positional_encoding", "no_mem_pos_enc" },
    { "no_object_pointer", "no_obj_ptr" },
    { "occlusion_spatial_embedding_parameter", "no_obj_embed_spatial" },
    { "object_pointer_proj.proj_in.*", "obj_ptr_proj.layers.0.*" },
    { "object_pointer_proj.layers.0.*", "obj_ptr_proj.layers.1.*" },
    { "object_pointer_proj.proj_out.*", "obj_ptr_proj.layers.2.*" },
    { "temporal_positional_encoding_projection_layer.*", "obj_ptr_tpos_proj.*" },

    { "memory_attention.layers.*.*.o_proj.*", "memory_attention.layers.*.*.out_proj.*" },
    { "memory_attention.layers.*.layer_norm*.*", "memory_attention.layers.*.norm*.*" },
    { "memory_attention.layer_norm.*", "memory_attention.norm.*" },

    { DOWN "layers.0.conv.*", DOWN "encoder.0.*" },
    { DOWN "layers.0.layer_norm.*", DOWN "encoder.1.*" },
    { DOWN "layers.1.conv.*", DOWN "encoder.3.*" },
    { DOWN "layers.1.layer_norm.*", DOWN "encoder.4.*" },
    { DOWN "layers.2.conv.*", DOWN "encoder.6.*" },
    { DOWN "layers.2.layer_norm.*", DOWN "encoder.7.*" },
    { DOWN "layers.3.conv.*", DOWN "encoder.9.*" },
    { DOWN "layers.3.layer_norm.*", DOWN "encoder.10.*" },
    { DOWN "final_conv.*", DOWN "encoder.12.*" },
    { "memory_encoder.feature_projection.*", "memory_encoder.pix_feat_proj.*" },
    { FUSER "scale", "memory_encoder.fuser.layers.*.gamma" },
    { FUSER "depthwise_conv.*", "memory_encoder.fuser.layers.*.dwconv.*" },
    { FUSER "layer_norm.*", "memory_encoder.fuser.layers.*.norm.*" },
    { FUSER "pointwise_conv1.*", "memory_encoder.fuser.layers.*.pwconv1.*" },
    { FUSER "pointwise_conv2.*", "memory_encoder.fuser.layers.*.pwconv2.*" },
    { "memory_encoder.projection.*", "memory_encoder.out_proj.*" },

    // The matrix is there twice, tied; writers may drop either.
    { "prompt_encoder.shared_embedding.positional_embedding",
      "sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix" },
    { "shared_image_embedding.positional_embedding",
      "sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix" },
    { "prompt_encoder.not_a_point_embed.weight", "sam_prompt_encoder.not_a_point_embed.weight" },
    { "prompt_encoder.no_mask_embed.weight", "sam_prompt_encoder.no_mask_embed.weight" },
    { "prompt_encoder.mask_embed.conv1.*", "sam_prompt_encoder.mask_downscaling.0.*" },
    { "prompt_encoder.mask_embed.layer_norm1.*", "sam_prompt_encoder.mask_downscaling.1.*" },
    { "prompt_encoder.mask_embed.conv2.*", "sam_prompt_encoder.mask_downscaling.3.*" },
    { "prompt_encoder.mask_embed.layer_norm2.*", "sam_prompt_encoder.mask_downscaling.4.*" },
    { "prompt_encoder.mask_embed.conv3.*", "sam_prompt_encoder.mask_downscaling.6.*" },

    { WAY "layers.*.*.o_proj.*", "sam_mask_decoder.transformer.layers.*.*.out_proj.*" },
    { WAY "layers.*.layer_norm*.*", "sam_mask_decoder.transformer.layers.*.norm*.*" },
    { WAY "layers.*.mlp.proj_in.*", "sam_mask_decoder.transformer.layers.*.mlp.layers.0.*" },
    { WAY "layers.*.mlp.proj_out.*", "sam_mask_decoder.transformer.layers.*.mlp.layers.1.*" },
    { WAY "layers.*.*.*.*", "sam_mask_decoder.transformer.layers.*.*.*.*" }, // q, k, v
    { WAY "layer_norm_final_attn.*", "sam_mask_decoder.transformer.norm_final_attn.*" },
    { WAY "*.o_proj.*", "sam_mask_decoder.transformer.*.out_proj.*" },
    { WAY "*.*.*", "sam_mask_decoder.transformer.*.*.*" }, // q, k, v
    { "mask_decoder.upscale_conv1.*", "sam_mask_decoder.output_upscaling.0.*" },
    { "mask_decoder.upscale_layer_norm.*", "sam_mask_decoder.output_upscaling.1.*" },
    { "mask_decoder.upscale_conv2.*", "sam_mask_decoder.output_upscaling.3.*" },
    { "mask_decoder.output_hypernetworks_mlps.*.proj_in.*",
      "sam_mask_decoder.output_hypernetworks_mlps.*.layers.0.*" },
    { "mask_decoder.output_hypernetworks_mlps.*.layers.0.*",
      "sam_mask_decoder.output_hypernetworks_mlps.*.layers.1.*" },
    { "mask_decoder.output_hypernetworks_mlps.*.proj_out.*",
      "sam_mask_decoder.output_hypernetworks_mlps.*.layers.2.*" },
    { "mask_decoder.*_head.proj_in.*", "sam_mask_decoder.*_head.layers.0.*" },
    { "mask_decoder.*_head.layers.0.*", "sam_mask_decoder.*_head.layers.1.*" },
    { "mask_decoder.*_head.proj_out.*", "sam_mask_decoder.*_head.layers.2.*" },
    { "mask_decoder.*.*", "sam_mask_decoder.*.*" }, // tokens, conv_s0, conv_s1
};

#undef TRUNK
#undef BLOCK
#undef DOWN
#undef FUSER
#undef WAY

enum { MAX_STARS = 4 };

struct span {
    const char *text;
    size_t bytes;
};

// Each * takes the longest run that ends before a dot or the literal behind the *; a literal
// character behind a * (as in "*_head") is found from the right.
static bool match(const char *pattern, const char *name, struct span *stars)
{
    int n = 0;
    while (*pattern) {
        if (*pattern != '*') {
            if (*pattern++ != *name++)
                return false;
            continue;
        }
        const size_t literal = strcspn(++pattern, ".*");
        size_t run = strcspn(name, ".");
        if (run <= literal)
            return false;
        run -= literal;
        if (memcmp(name + run, pattern, literal) != 0 || n == MAX_STARS)
            return false;
        stars[n++] = (struct span){ name, run };
        name += run;
    }
    return !*name;
}

static bool fill(const char *pattern, const struct span *stars, char *out, size_t size)
{
    size_t used = 0;
    for (; *pattern; pattern++) {
        struct span s = { pattern, 1 };
        if (*pattern == '*')
            s = *stars++;
        if (used + s.bytes >= size)
            return false;
        memcpy(out + used, s.text, s.bytes);
        used += s.bytes;
    }
    out[used] = 0;
    return true;
}

bool sam_name_to_meta(const char *name, char *out, size_t size)
{
    struct span stars[MAX_STARS];
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (match(rules[i].hf, name, stars))
            return fill(rules[i].meta, stars, out, size);
    return false;
}

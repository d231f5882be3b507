// SPDX-License-Identifier: MIT
// Hugging Face's config.json beside the weights.
#include "mask2former.h"
#include "model/json.h"

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_ROOT, "model_type", "\"mask2former\"" },
    { SAM_JSON_ROOT, "activation_function", "\"relu\"" },
    { SAM_JSON_ROOT, "pre_norm", "false" },
    { SAM_JSON_ROOT, "enforce_input_projection", "false" },
    { SAM_JSON_ROOT, "common_stride", "4" },
    { SAM_JSON_ROOT, "feature_strides", "[4, 8, 16, 32]" },
    { SAM_JSON_BACKBONE, "num_channels", "3" },
    { SAM_JSON_BACKBONE, "out_features", "[\"stage1\", \"stage2\", \"stage3\", \"stage4\"]" },
};

static const struct sam_json_fixed fixed_swin[] = {
    { SAM_JSON_BACKBONE, "model_type", "\"swin\"" },
    { SAM_JSON_BACKBONE, "patch_size", "4" },
    { SAM_JSON_BACKBONE, "hidden_act", "\"gelu\"" },
    { SAM_JSON_BACKBONE, "layer_norm_eps", "1e-5" },
    { SAM_JSON_BACKBONE, "qkv_bias", "true" },
    { SAM_JSON_BACKBONE, "use_absolute_embeddings", "false" },
};

static const struct sam_json_fixed fixed_resnet[] = {
    { SAM_JSON_BACKBONE, "model_type", "\"resnet\"" },
    { SAM_JSON_BACKBONE, "layer_type", "\"bottleneck\"" },
    { SAM_JSON_BACKBONE, "hidden_act", "\"relu\"" },
    { SAM_JSON_BACKBONE, "downsample_in_first_stage", "false" },
    { SAM_JSON_BACKBONE, "downsample_in_bottleneck", "false" },
};

#define CHECK(in, list) sam_json_check_fixed(in, list, sizeof(list) / sizeof((list)[0]))

static int check_trunk(const struct m2f_sizes *s, const struct sam_json *in)
{
    const struct sam_json *backbone = &in[SAM_JSON_BACKBONE];
    int status;

    if (s->trunk == M2F_RESNET) {
        if ((status = CHECK(in, fixed_resnet)) ||
            (status = sam_json_agree(backbone, "embedding_size", s->stem)) ||
            (status = sam_json_agree_four(backbone, "hidden_sizes", s->width)))
            return status;
    } else if ((status = CHECK(in, fixed_swin)) ||
               (status = sam_json_agree(backbone, "embed_dim", s->stem)) ||
               (status = sam_json_agree(backbone, "window_size", s->window)) ||
               (status = sam_json_agree_four(backbone, "num_heads", s->heads))) {
        return status;
    }
    return sam_json_agree_four(backbone, "depths", s->blocks);
}

static int read_object(void *priv, const struct sam_json *r)
{
    const struct m2f_sizes *s = m2f_sizes(priv);
    struct sam_json in[SAM_JSON_PLACES] = { [SAM_JSON_ROOT] = *r };
    int status;

    if ((status = sam_json_enter(&in[SAM_JSON_BACKBONE], r, "backbone_config",
                                 "backbone_config.")) ||
        (status = CHECK(in, fixed)) || (status = check_trunk(s, in)))
        return status;
    const struct {
        const char *key;
        int shapes;
    } agree[] = {
        { "feature_size", s->d },
        { "hidden_dim", s->d },
        { "mask_feature_size", s->mask_width },
        { "encoder_layers", s->encoder_layers },
        { "encoder_feedforward_dim", s->encoder_hidden },
        { "decoder_layers", s->layers + 1 }, // counts the first prediction, too
        { "dim_feedforward", s->hidden },
        { "num_attention_heads", s->decoder_heads },
        { "num_queries", s->queries },
    };
    for (size_t i = 0; i < sizeof(agree) / sizeof(agree[0]) && !status; i++)
        status = sam_json_agree(r, agree[i].key, agree[i].shapes);
    return status;
}

int m2f_read_json(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    return sam_json_read(w, read_object, c, error);
}

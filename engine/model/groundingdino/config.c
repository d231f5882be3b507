// SPDX-License-Identifier: MIT
// Hugging Face's config.json beside the weights.
#include "groundingdino.h"
#include "model/json.h"

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_ROOT, "activation_function", "\"relu\"" },
    { SAM_JSON_ROOT, "encoder_attention_heads", "8" },
    { SAM_JSON_ROOT, "decoder_attention_heads", "8" },
    { SAM_JSON_ROOT, "layer_norm_eps", "1e-5" },
    { SAM_JSON_ROOT, "position_embedding_type", "\"sine\"" },
    { SAM_JSON_ROOT, "positional_embedding_temperature", "20" },
    { SAM_JSON_ROOT, "query_dim", "4" },
    { SAM_JSON_ROOT, "two_stage", "true" },
    { SAM_JSON_ROOT, "embedding_init_target", "true" },
    { SAM_JSON_BACKBONE, "model_type", "\"swin\"" },
    { SAM_JSON_BACKBONE, "num_channels", "3" },
    { SAM_JSON_BACKBONE, "patch_size", "4" },
    { SAM_JSON_BACKBONE, "hidden_act", "\"gelu\"" },
    { SAM_JSON_BACKBONE, "layer_norm_eps", "1e-5" },
    { SAM_JSON_BACKBONE, "qkv_bias", "true" },
    { SAM_JSON_BACKBONE, "use_absolute_embeddings", "false" },
    { SAM_JSON_PROMPT, "model_type", "\"bert\"" }, // the text's
    { SAM_JSON_PROMPT, "hidden_act", "\"gelu\"" },
    { SAM_JSON_PROMPT, "layer_norm_eps", "1e-12" },
};

static int read_trunk(const struct gdino_sizes *s, const struct sam_json *backbone)
{
    int status;

    if ((status = sam_json_agree(backbone, "embed_dim", s->swin.stem)) ||
        (status = sam_json_agree(backbone, "window_size", s->swin.window)) ||
        (status = sam_json_agree_four(backbone, "num_heads", s->swin.heads)))
        return status;
    return sam_json_agree_four(backbone, "depths", s->swin.blocks);
}

// How many heads BERT has is in no tensor.
static int read_text(struct gdino_sizes *s, const struct sam_json *text)
{
    int status = SAM_OK;

    if (sam_json_get(text, "num_attention_heads"))
        status = sam_json_required(text, "num_attention_heads", &s->bert_heads);
    if (!status && (s->bert_heads < 1 || s->bert % s->bert_heads))
        return sam_fail(text->error, SAM_EFORMAT,
                        "%s: key 'text_config.num_attention_heads': expected a divisor of the "
                        "width %d, got %d", text->file, s->bert, s->bert_heads);
    return status ? status : sam_json_agree(text, "vocab_size", s->words);
}

static int read_object(void *priv, const struct sam_json *r)
{
    struct sam_config *c = priv;
    struct gdino_sizes *s = (struct gdino_sizes *) c->trunk;
    const struct sam_json_fixed type = { SAM_JSON_ROOT, "model_type", s->is_mm
                                             ? "\"mm-grounding-dino\"" : "\"grounding-dino\"" };
    struct sam_json in[SAM_JSON_PLACES] = { [SAM_JSON_ROOT] = *r };
    int status;

    if ((status = sam_json_enter(&in[SAM_JSON_BACKBONE], r, "backbone_config",
                                 "backbone_config.")) ||
        (status = sam_json_enter(&in[SAM_JSON_PROMPT], r, "text_config", "text_config.")) ||
        (status = sam_json_check_fixed(in, &type, 1)) ||
        (status = sam_json_check_fixed(in, fixed, sizeof(fixed) / sizeof(fixed[0]))) ||
        (status = read_trunk(s, &in[SAM_JSON_BACKBONE])) ||
        (status = read_text(s, &in[SAM_JSON_PROMPT])))
        return status;
    const struct {
        const char *key;
        int shapes;
    } agree[] = {
        { "d_model", s->d },
        { "num_queries", s->queries },
        { "num_feature_levels", s->levels },
        { "encoder_layers", s->encoder_layers },
        { "encoder_ffn_dim", s->encoder_hidden },
        { "encoder_n_points", s->encoder_points },
        { "decoder_layers", s->decoder_layers },
        { "decoder_ffn_dim", s->decoder_hidden },
        { "decoder_n_points", s->decoder_points },
    };
    for (size_t i = 0; i < sizeof(agree) / sizeof(agree[0]) && !status; i++)
        status = sam_json_agree(r, agree[i].key, agree[i].shapes);
    return status;
}

int gdino_read_json(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    return sam_json_read(w, read_object, c, error);
}

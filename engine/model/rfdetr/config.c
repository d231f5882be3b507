// SPDX-License-Identifier: MIT
// Hugging Face's config.json beside the weights.
#include <stdio.h>

#include "model/json.h"
#include "rfdetr.h"

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_ROOT, "model_type", "\"rf_detr\"" },
    { SAM_JSON_ROOT, "activation_function", "\"silu\"" },
    { SAM_JSON_ROOT, "hidden_expansion", "0.5" },
    { SAM_JSON_ROOT, "decoder_activation_function", "\"relu\"" },
    { SAM_JSON_ROOT, "decoder_self_attention_heads", "8" },
    { SAM_JSON_ROOT, "decoder_cross_attention_heads", "16" },
    { SAM_JSON_ROOT, "attention_bias", "true" },
    { SAM_JSON_ROOT, "num_feature_levels", "1" },
    { SAM_JSON_ROOT, "mask_downsample_ratio", "4" },
    { SAM_JSON_ROOT, "segmentation_head_activation_function", "\"gelu\"" },
    { SAM_JSON_BACKBONE, "hidden_act", "\"gelu\"" },
    { SAM_JSON_BACKBONE, "layer_norm_eps", "1e-6" },
    { SAM_JSON_BACKBONE, "qkv_bias", "true" },
    { SAM_JSON_BACKBONE, "use_swiglu_ffn", "false" },
    { SAM_JSON_BACKBONE, "apply_layernorm", "true" },
    { SAM_JSON_BACKBONE, "num_channels", "3" },
};

static int read_eps(struct rfdetr_sizes *s, const struct sam_json *r)
{
    const json_t *v = sam_json_get(r, "layer_norm_eps");

    if (!v)
        return SAM_OK;
    if (!json_is_number(v))
        return sam_json_wrong(r, "layer_norm_eps", "a number", v);
    const double eps = json_number_value(v);
    if (!(eps >= 1e-12 && eps <= 0.1))
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: key 'layer_norm_eps': expected 1e-12 to 0.1, got %g", r->file, eps);
    s->projector_eps = (float) eps;
    return SAM_OK;
}

// Windows on a side, which no tensor tells.
static int read_windows(struct rfdetr_sizes *s, const struct sam_json *r)
{
    const json_t *v = sam_json_get(r, "num_windows");
    int windows = 0, status;

    if (!v)
        return SAM_OK;
    if ((status = sam_json_to_int(r, "num_windows", v, &windows)))
        return status;
    if ((windows != 1 && windows != 2) || s->grid % windows)
        return sam_fail(r->error, SAM_EUNSUPPORTED,
                        "%s: key '%snum_windows': only %s supported with %d positions on a side, "
                        "got %d", r->file, r->path, s->grid % 2 ? "1 is" : "1 and 2 are", s->grid,
                        windows);
    s->windows = windows;
    return SAM_OK;
}

// The outputs are those of the last block of each quarter; block 0 is called stage1.
static int check_outputs(const struct rfdetr_sizes *s, const struct sam_json *in)
{
    const int q = rfdetr_quarter(s);
    char indices[64], features[128];
    const struct sam_json_fixed outputs[] = {
        { SAM_JSON_BACKBONE, "out_indices", indices },
        { SAM_JSON_BACKBONE, "out_features", features },
    };

    snprintf(indices, sizeof(indices), "[%d, %d, %d, %d]", q, 2 * q, 3 * q, 4 * q);
    snprintf(features, sizeof(features), "[\"stage%d\", \"stage%d\", \"stage%d\", \"stage%d\"]", q,
             2 * q, 3 * q, 4 * q);
    return sam_json_check_fixed(in, outputs, 2);
}

static int read_object(void *priv, const struct sam_json *r)
{
    struct sam_config *c = priv;
    struct rfdetr_sizes *s = (struct rfdetr_sizes *) c->trunk;
    struct sam_json in[SAM_JSON_PLACES] = { [SAM_JSON_ROOT] = *r };
    const struct sam_json *backbone = &in[SAM_JSON_BACKBONE];
    int status;

    if ((status = sam_json_enter(&in[SAM_JSON_BACKBONE], r, "backbone_config",
                                 "backbone_config.")) ||
        (status = sam_json_check_fixed(in, fixed, sizeof(fixed) / sizeof(fixed[0]))) ||
        (status = check_outputs(s, in)) || (status = read_eps(s, r)) ||
        (status = read_windows(s, backbone)))
        return status;
    const struct {
        const struct sam_json *place;
        const char *key;
        int shapes;
    } agree[] = {
        { r, "d_model", s->d },
        { r, "c2f_num_blocks", s->bottlenecks },
        { r, "decoder_layers", s->layers },
        { r, "decoder_ffn_dim", s->feed_forward },
        { r, "decoder_n_points", s->points },
        { r, "num_queries", s->queries },
        { r, "group_detr", s->groups },
        { backbone, "patch_size", s->patch },
        { backbone, "hidden_size", s->width },
        { backbone, "num_hidden_layers", s->blocks },
        { backbone, "num_attention_heads", s->width / RFDETR_HEAD },
        { backbone, "image_size", c->image_size },
    };
    for (size_t i = 0; i < sizeof(agree) / sizeof(agree[0]) && !status; i++)
        status = sam_json_agree(agree[i].place, agree[i].key, agree[i].shapes);
    return status;
}

int rfdetr_read_json(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    // The authors' own files come without JSON: their code has this constant.
    ((struct rfdetr_sizes *) c->trunk)->projector_eps = 1e-6f;
    return sam_json_read(w, read_object, c, error);
}

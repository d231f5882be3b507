// SPDX-License-Identifier: MIT
// Hugging Face's config.json beside the weights: of the detector alone, or with a tracker's.
#include "model/json.h"
#include "sam3words.h"

struct reading {
    struct sam_config *c;
    bool is_there;
};

static const struct sam_json_fixed fixed_text[] = {
    { SAM_JSON_PROMPT, "hidden_act", "\"gelu\"" },
    { SAM_JSON_PROMPT, "layer_norm_eps", "1e-05" },
};
static const struct sam_json_fixed fixed_heads[] = {
    { SAM_JSON_DECODER, "num_attention_heads", "8" },
};

// How many heads the text encoder has is in no tensor.
static int read_text(struct sam3w_sizes *s, const struct sam_json *in)
{
    const struct sam_json *text = &in[SAM_JSON_PROMPT];
    int status = SAM_OK;

    if (sam_json_get(text, "num_attention_heads"))
        status = sam_json_required(text, "num_attention_heads", &s->text_heads);
    if (!status && (s->text_heads < 1 || s->text % s->text_heads))
        return sam_fail(text->error, SAM_EFORMAT,
                        "%s: key '%snum_attention_heads': expected a divisor of the width %d, got "
                        "%d",
                        text->file, text->path, s->text, s->text_heads);
    if (status || (status = sam_json_agree(text, "vocab_size", s->words)) ||
        (status = sam_json_agree(text, "max_position_embeddings", s->places)))
        return status;
    return sam_json_check_fixed(in, fixed_text, sizeof(fixed_text) / sizeof(fixed_text[0]));
}

// A part of the network: what it agrees on with the shapes.
static int read_part(const struct sam_json *r, const char *key, const char *path, int layers,
                     int hidden, int d)
{
    struct sam_json in[SAM_JSON_PLACES] = { { 0 } };
    struct sam_json *part = &in[SAM_JSON_DECODER];
    int status = sam_json_enter(part, r, key, path);

    if (status || (status = sam_json_agree(part, "hidden_size", d)) ||
        (status = sam_json_agree(part, "num_layers", layers)) ||
        (status = sam_json_agree(part, "intermediate_size", hidden)))
        return status;
    return sam_json_check_fixed(in, fixed_heads, 1);
}

static int read_parts(const struct sam3w_sizes *s, const struct sam_json *r)
{
    int status;

    if ((status = read_part(r, "geometry_encoder_config", "geometry_encoder_config.",
                            s->geometry_layers, s->geometry_hidden, s->d)) ||
        (status = read_part(r, "detr_encoder_config", "detr_encoder_config.", s->encoder_layers,
                            s->encoder_hidden, s->d)))
        return status;
    return read_part(r, "detr_decoder_config", "detr_decoder_config.", s->decoder_layers,
                     s->decoder_hidden, s->d);
}

static int read_detector(struct sam_config *c, const struct sam_json *r)
{
    struct sam3w_sizes *s = (struct sam3w_sizes *) c->trunk;
    struct sam_json in[SAM_JSON_PLACES] = { [SAM_JSON_ROOT] = *r };
    struct sam_json *vision = &in[SAM_JSON_VISION], *backbone = &in[SAM_JSON_BACKBONE];
    int status;

    if ((status = sam_json_enter(vision, r, "vision_config", "vision_config.")) ||
        (status = sam_json_enter(backbone, vision, "backbone_config",
                                 "vision_config.backbone_config.")) ||
        (status = sam_json_enter(&in[SAM_JSON_PROMPT], r, "text_config", "text_config.")) ||
        (status = sam_sam3_trunk_read_json(c, backbone)) ||
        (status = sam_json_agree(vision, "fpn_hidden_size", s->d)) || (status = read_text(s, in)))
        return status;
    if (sam_json_get(backbone, "image_size") &&
        (status = sam_json_square(backbone, "image_size", &c->image_size)))
        return status;
    return read_parts(s, r);
}

// The file may be of a whole model, of its detector, or of its tracker.
static int read_object(void *priv, const struct sam_json *r)
{
    struct reading *reading = priv;
    struct sam_json inner = *r;
    int status = SAM_OK;

    if (sam_json_get(r, "detector_config"))
        status = sam_json_enter(&inner, r, "detector_config", "detector_config.");
    else if (!sam_json_get(r, "vision_config"))
        return SAM_OK;
    reading->is_there = true;
    return status ? status : read_detector(reading->c, &inner);
}

int sam3w_read_json(struct sam_config *c, const struct sam_weights *w, bool *is_there,
                    struct sam_error *error)
{
    struct reading reading = { c, false };
    const int status = sam_json_read(w, read_object, &reading, error);

    *is_there = reading.is_there;
    return status;
}

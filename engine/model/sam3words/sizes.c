// SPDX-License-Identifier: MIT
// The family's sizes, most of which stand in the shapes of tensors.
#include "sam3words.h"

#include <stdio.h>

#define TEXT     "text_encoder.text_model."
#define GEOMETRY "geometry_encoder.layers."
#define ENCODER  "detr_encoder.layers."
#define DECODER  "detr_decoder.layers."

enum { TEXT_HEAD = 64 };

static int count_layers(struct sam3w_sizes *s, const struct sam_weights *w, struct sam_error *error)
{
    const struct {
        const char *prefix, *mark, *other;
        int limit, *out;
    } parts[] = {
        { TEXT "encoder.layers.", ".mlp.fc1.weight", ".mlp.fc2.weight", SAM3W_MAX_TEXT,
          &s->text_layers },
        { GEOMETRY, ".mlp.fc1.weight", ".mlp.fc2.weight", SAM3W_MAX_LAYERS, &s->geometry_layers },
        { ENCODER, ".mlp.fc1.weight", ".mlp.fc2.weight", SAM3W_MAX_LAYERS, &s->encoder_layers },
        { DECODER, ".mlp.fc1.weight", ".mlp.fc2.weight", SAM3W_MAX_LAYERS, &s->decoder_layers },
    };
    int status = SAM_OK;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !status; i++)
        status = sam_config_count(w, parts[i].prefix, parts[i].mark, parts[i].other, parts[i].limit,
                                  parts[i].out, error);
    return status;
}

static int read_shapes(struct sam3w_sizes *s, const struct sam_weights *w, struct sam_error *error)
{
    int status = sam_config_size(
        w, &(struct sam_size_from){ "detr_decoder.output_layer_norm.weight", 0, 1, { 0 } }, &s->d,
        error);

    if (!status)
        status = sam_config_size(
            w, &(struct sam_size_from){ "text_projection.weight", 1, 2, { s->d, 0 } }, &s->text,
            error);
    if (status)
        return status;
    const struct {
        struct sam_size_from from;
        int *out;
    } sizes[] = {
        { { TEXT "embeddings.token_embedding.weight", 0, 2, { 0, s->text } }, &s->words },
        { { TEXT "embeddings.position_embedding.weight", 0, 2, { 0, s->text } }, &s->places },
        { { TEXT "encoder.layers.0.mlp.fc1.weight", 0, 2, { 0, s->text } }, &s->text_hidden },
        { { GEOMETRY "0.mlp.fc1.weight", 0, 2, { 0, s->d } }, &s->geometry_hidden },
        { { ENCODER "0.mlp.fc1.weight", 0, 2, { 0, s->d } }, &s->encoder_hidden },
        { { DECODER "0.mlp.fc1.weight", 0, 2, { 0, s->d } }, &s->decoder_hidden },
        { { "detr_decoder.query_embed.weight", 0, 2, { 0, s->d } }, &s->queries },
        { { "dot_product_scoring.text_mlp.layer1.weight", 0, 2, { 0, s->d } }, &s->score_hidden },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !status; i++)
        status = sam_config_size(w, &sizes[i].from, sizes[i].out, error);
    return status;
}

static int check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam3w_sizes *s = sam3w_sizes(c);
    const struct sam_size_range ranges[] = {
        { "the width of encoder and decoder", s->d, SAM3W_HEADS, 1024, SAM3W_HEADS },
        { "the number of queries", s->queries, 1, SAM3W_MAX_QUERIES, 1 },
        { "the number of the encoder's layers", s->encoder_layers, 1, SAM3W_MAX_LAYERS, 1 },
        { "the hidden width of the encoder", s->encoder_hidden, 1, 4096, 1 },
        { "the number of the decoder's layers", s->decoder_layers, 1, SAM3W_MAX_LAYERS, 1 },
        { "the hidden width of the decoder", s->decoder_hidden, 1, 8192, 1 },
        { "the number of the geometry encoder's layers", s->geometry_layers, 1, SAM3W_MAX_LAYERS,
          1 },
        { "the hidden width of the geometry encoder", s->geometry_hidden, 1, 4096, 1 },
        { "the hidden width of scores", s->score_hidden, 1, 8192, 1 },
        { "the number of words", s->words, 1, 1 << 18, 1 },
        { "the number of words' places", s->places, 3, SAM_MAX_TOKENS, 1 },
        { "the width of the text encoder", s->text, 1, 4096, 1 },
        { "the channels of the neck's first map", s->trunk.wide, 1, 4096, 1 },
        { "the channels of the neck's second map", s->trunk.mid, 1, 4096, 1 },
        { "the channels of the neck's finest map", s->trunk.fine, 1, 4096, 1 },
        { "the hidden width of the text encoder", s->text_hidden, 1, 16384, 1 },
        { "the number of the text encoder's layers", s->text_layers, 1, SAM3W_MAX_TEXT, 1 },
    };
    const int status = sam_sam3_trunk_check(c, file, error);

    return status ? status
                  : sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
}

// Channels of the neck's finer maps between their layers.
static int read_neck(struct sam3w_sizes *s, const struct sam_weights *w, struct sam_error *error)
{
    struct sam_sam3_sizes *v = &s->trunk;
    const char *neck = s->shares_neck ? "image_encoder.neck" : "detector_neck";
    const struct {
        const char *layer;
        int *out;
    } sizes[] = { { "0.dconv_2x2_0", &v->wide },
                  { "0.dconv_2x2_1", &v->fine },
                  { "1.dconv_2x2", &v->mid } };
    int status = SAM_OK;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !status; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s.levels.%s.bias", neck, sizes[i].layer);
        status =
            sam_config_size(w, &(struct sam_size_from){ name, 0, 1, { 0 } }, sizes[i].out, error);
    }
    return status;
}

// The one published model, without a config.json; its shapes tell all but the trunk's heads, window
// and global blocks.
static bool use_published(struct sam3w_sizes *s)
{
    return s->trunk.width == 1024 && s->trunk.depth == 32 && s->trunk.hidden == 4736 &&
           s->trunk.position_side == 24 && s->d == 256 && s->text == 1024 &&
           sam_sam3_trunk_use_published(&s->trunk);
}

int sam3w_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct sam3w_sizes *s = (struct sam3w_sizes *) c->trunk;
    const char *file = sam_weights_file(w);
    bool has_json = false;
    int status;

    c->patch = SAM_SAM3_PATCH;
    c->image_size = SAM3W_SIDE;
    if ((status = sam_sam3_trunk_read(c, w, error)) || (status = count_layers(s, w, error)) ||
        (status = read_shapes(s, w, error)))
        return status;
    c->d_model = s->d;
    s->text_heads = s->text % TEXT_HEAD ? 1 : s->text / TEXT_HEAD;
    s->shares_neck = !sam_weights_find(w, "detector_neck.levels.2.conv_1x1.weight");
    snprintf(c->variant, sizeof(c->variant), "%s",
             s->trunk.depth == 32 && s->d == 256 ? "sam3" : "custom");
    if ((status = read_neck(s, w, error)) || (status = sam3w_read_json(c, w, &has_json, error)))
        return status;
    if (!has_json && !use_published(s))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: the tensors' shapes are not those of the published SAM 3: expected a "
                        "config.json with detector_config beside it, which tells the trunk's "
                        "heads, window and global blocks",
                        file);
    return check(c, file, error);
}

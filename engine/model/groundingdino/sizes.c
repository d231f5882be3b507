// SPDX-License-Identifier: MIT
// The family's sizes, most of which stand in the shapes of tensors.
#include "groundingdino.h"

#include <stdio.h>
#include <string.h>

#define TRUNK   "model.backbone.conv_encoder.model."
#define BERT    "model.text_backbone."
#define ENCODER "model.encoder.layers."
#define DECODER "model.decoder.layers."
#define TABLE   BERT "embeddings."

enum { NAME = 128, BERT_HEAD = 64 };

void gdino_maps(const struct sam_config *c, const struct sam_shape *shape,
                struct gdino_maps *maps)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    int h = (shape->height + 3) / 4, w = (shape->width + 3) / 4;

    for (int i = 0; i < s->first; i++)
        h = (h + 1) / 2, w = (w + 1) / 2;
    maps->start[0] = 0;
    for (int i = 0; i < s->levels; i++, h = (h + 1) / 2, w = (w + 1) / 2) {
        maps->height[i] = h;
        maps->width[i] = w;
        maps->start[i + 1] = maps->start[i] + h * w;
    }
}

static int count_layers(struct gdino_sizes *s, const struct sam_weights *w, struct sam_error *error)
{
    int status;

    if ((status = sam_config_count(w, ENCODER, ".deformable_layer.fc1.weight",
                                   ".deformable_layer.fc2.weight", GDINO_MAX_LAYERS,
                                   &s->encoder_layers, error)) ||
        (status = sam_config_count(w, DECODER, ".fc1.weight", ".fc2.weight", GDINO_MAX_LAYERS,
                                   &s->decoder_layers, error)) ||
        (status = sam_config_count(w, BERT "encoder.layer.", ".intermediate.dense.weight",
                                   ".output.dense.weight", GDINO_MAX_BERT, &s->bert_layers, error)))
        return status;
    s->is_mm = sam_weights_find(w, "class_embed.0.bias") ||
               sam_weights_find(w, "model.encoder_output_class_embed.bias");
    // Either: one that is missing is an error, not another model.
    s->has_one_box_head = !sam_weights_find(w, "bbox_embed.1.layers.0.weight") &&
                          !sam_weights_find(w, "bbox_embed.1.layers.0.bias");
    for (s->first = 0; s->first < SAM_STAGES - 1; s->first++) {
        char name[NAME];
        snprintf(name, sizeof(name), TRUNK "hidden_states_norms.stage%d.weight", s->first + 1);
        if (sam_weights_find(w, name))
            break;
    }
    return SAM_OK;
}

static int read_shapes(struct gdino_sizes *s, const struct sam_weights *w, int samples[2],
                       struct sam_error *error)
{
    int status = sam_config_size(w, &(struct sam_size_from) {
        "model.enc_output_norm.weight", 0, 1, { 0 } }, &s->d, error);
    if (!status)
        status = sam_config_size(w, &(struct sam_size_from) { "model.text_projection.weight", 1, 2,
                                                              { s->d, 0 } }, &s->bert, error);

    if (status)
        return status;
    const struct {
        struct sam_size_from from;
        int *out;
    } sizes[] = {
        { { "model.level_embed", 0, 2, { 0, s->d } }, &s->levels },
        { { "model.query_position_embeddings.weight", 0, 2, { 0, s->d } }, &s->queries },
        { { ENCODER "0.deformable_layer.fc1.weight", 0, 2, { 0, s->d } }, &s->encoder_hidden },
        { { ENCODER "0.deformable_layer.self_attn.attention_weights.weight", 0, 2, { 0, s->d } },
          &samples[0] },
        { { ENCODER "0.fusion_layer.attn.vision_proj.weight", 0, 2, { 0, s->d } }, &s->fusion },
        { { ENCODER "0.text_enhancer_layer.fc1.weight", 0, 2, { 0, s->d } }, &s->text_hidden },
        { { DECODER "0.fc1.weight", 0, 2, { 0, s->d } }, &s->decoder_hidden },
        { { DECODER "0.encoder_attn.attention_weights.weight", 0, 2, { 0, s->d } }, &samples[1] },
        { { TABLE "word_embeddings.weight", 0, 2, { 0, s->bert } }, &s->words },
        { { TABLE "position_embeddings.weight", 0, 2, { 0, s->bert } }, &s->places },
        { { BERT "encoder.layer.0.intermediate.dense.weight", 0, 2, { 0, s->bert } },
          &s->bert_hidden },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !status; i++)
        status = sam_config_size(w, &sizes[i].from, sizes[i].out, error);
    return status;
}

static int check_ranges(const struct gdino_sizes *s, const char *file, const int samples[2],
                        struct sam_error *error)
{
    const int places = GDINO_HEADS * s->levels;
    const struct sam_size_range ranges[] = {
        { "the number of maps", s->levels, SAM_STAGES - s->first, GDINO_MAX_LEVELS, 1 },
        { "the width of encoder and decoder", s->d, GDINO_GROUPS, 1024, GDINO_GROUPS },
        { "the number of queries", s->queries, 1, GDINO_MAX_QUERIES, 1 },
        { "the number of the encoder's layers", s->encoder_layers, 1, GDINO_MAX_LAYERS, 1 },
        { "the hidden width of the encoder", s->encoder_hidden, 1, 8192, 1 },
        { "the number of places that a position looks at", samples[0], places,
          GDINO_HEADS * SAM_MAX_SAMPLES, places },
        { "the width in which image and words meet", s->fusion, GDINO_TEXT_HEADS, 4096,
          GDINO_TEXT_HEADS },
        { "the hidden width of words in the encoder", s->text_hidden, 1, 8192, 1 },
        { "the number of the decoder's layers", s->decoder_layers, 1, GDINO_MAX_LAYERS, 1 },
        { "the hidden width of the decoder", s->decoder_hidden, 1, 8192, 1 },
        { "the number of places that a query looks at", samples[1], places,
          GDINO_HEADS * SAM_MAX_SAMPLES, places },
        { "the number of words", s->words, 1, 1 << 18, 1 },
        { "the number of words' positions", s->places, 16, 1 << 16, 1 },
        { "the width of BERT", s->bert, 1, 4096, 1 },
        { "the hidden width of BERT", s->bert_hidden, 1, 16384, 1 },
        { "the number of BERT's layers", s->bert_layers, 1, GDINO_MAX_BERT, 1 },
    };
    return sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
}

static void name_variant(struct sam_config *c)
{
    static const struct {
        const char *name;
        int stem;
    } known[] = { { "tiny", 96 }, { "base", 128 }, { "large", 192 } };
    const struct gdino_sizes *s = gdino_sizes(c);

    snprintf(c->variant, sizeof(c->variant), "custom");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (s->swin.stem == known[i].stem && s->d == 256 && s->bert == 768)
            snprintf(c->variant, sizeof(c->variant), "%sgrounding-dino-%s", s->is_mm ? "mm-" : "",
                     known[i].name);
}

int gdino_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct gdino_sizes *s = (struct gdino_sizes *) c->trunk;
    const char *file = sam_weights_file(w);
    int samples[2] = { 0 }, status;

    _Static_assert(sizeof(*s) <= SAM_TRUNK_BYTES, "a family's sizes must fit their room");
    if ((status = sam_swin_read(&s->swin, w, TRUNK, error)) ||
        (status = count_layers(s, w, error)) || (status = read_shapes(s, w, samples, error)) ||
        (status = check_ranges(s, file, samples, error)))
        return status;
    s->encoder_points = samples[0] / (GDINO_HEADS * s->levels);
    s->decoder_points = samples[1] / (GDINO_HEADS * s->levels);
    s->bert_heads = s->bert % BERT_HEAD ? 1 : s->bert / BERT_HEAD;
    c->image_size = GDINO_SIDE;
    name_variant(c);
    return gdino_read_json(c, w, error);
}

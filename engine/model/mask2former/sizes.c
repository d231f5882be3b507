// SPDX-License-Identifier: MIT
// The family's sizes, all of which stand in the shapes of tensors.
#include "mask2former.h"

#include <stdio.h>
#include <string.h>

#define ENCODER "model.pixel_level_module.encoder."
#define PIXELS  "model.pixel_level_module.decoder."
#define MODULE  "model.transformer_module."

enum { NAME = 128 };

// Extent `axis` of a tensor of a stage; other extents as given, 0 standing for any.
static int read_of_stage(const struct sam_weights *w, int stage, const char *part,
                         struct sam_size_from from, int *out, struct sam_error *error)
{
    char name[NAME];

    snprintf(name, sizeof(name), ENCODER "encoder.stages.%d.%s", stage, part);
    from.name = name;
    return sam_config_size(w, &from, out, error);
}

static int count_of_stage(const struct sam_weights *w, int stage, int *out,
                          struct sam_error *error)
{
    char prefix[NAME];

    snprintf(prefix, sizeof(prefix), ENCODER "encoder.stages.%d.layers.", stage);
    return sam_config_count(w, prefix, ".layer.0.convolution.weight", ".layer.2.convolution.weight",
                            M2F_MAX_BLOCKS, out, error);
}

static int read_swin(struct m2f_sizes *s, const struct sam_weights *w, struct sam_error *error)
{
    struct sam_swin_sizes swin = { 0 };
    const int status = sam_swin_read(&swin, w, ENCODER, error);

    s->stem = swin.stem;
    s->window = swin.window;
    memcpy(s->width, swin.width, sizeof(s->width));
    memcpy(s->inner, swin.inner, sizeof(s->inner));
    memcpy(s->blocks, swin.blocks, sizeof(s->blocks));
    memcpy(s->heads, swin.heads, sizeof(s->heads));
    return status;
}

static int read_resnet(struct m2f_sizes *s, const struct sam_weights *w, struct sam_error *error)
{
    int status = sam_config_size(w, &(struct sam_size_from) {
        ENCODER "embedder.embedder.convolution.weight", 0, 4, { 0, 3, 7, 7 } }, &s->stem, error);

    for (int i = 0; i < SAM_STAGES && !status; i++) {
        s->heads[i] = 1;
        if ((status = count_of_stage(w, i, &s->blocks[i], error)) ||
            (status = read_of_stage(w, i, "layers.0.layer.2.convolution.weight",
                                    (struct sam_size_from) { NULL, 0, 4, { 0, 0, 1, 1 } },
                                    &s->width[i], error)))
            break;
        status = read_of_stage(w, i, "layers.0.layer.2.convolution.weight",
                               (struct sam_size_from) { NULL, 1, 4, { s->width[i], 0, 1, 1 } },
                               &s->inner[i], error);
    }
    s->window = 1;
    return status;
}

static int read_decoders(struct m2f_sizes *s, const struct sam_weights *w, int *samples,
                         struct sam_error *error)
{
    int status, classes = 0;

    if ((status = sam_config_size(w,
                                  &(struct sam_size_from){ PIXELS "input_projections.0.0.weight",
                                                           0,
                                                           4,
                                                           { 0, s->width[SAM_STAGES - 1], 1, 1 } },
                                  &s->d, error)) ||
        (status = sam_config_count(w, PIXELS "encoder.layers.", ".fc1.weight", ".fc2.weight",
                                   M2F_MAX_ENCODER, &s->encoder_layers, error)) ||
        (status = sam_config_count(w, MODULE "decoder.layers.", ".fc1.weight", ".fc2.weight",
                                   M2F_MAX_LAYERS, &s->layers, error)))
        return status;
    const struct {
        struct sam_size_from from;
        int *out;
    } sizes[] = {
        { { PIXELS "mask_projection.weight", 0, 4, { 0, s->d, 1, 1 } }, &s->mask_width },
        { { PIXELS "encoder.layers.0.fc1.weight", 0, 2, { 0, s->d } }, &s->encoder_hidden },
        { { PIXELS "encoder.layers.0.self_attn.attention_weights.weight", 0, 2, { 0, s->d } },
          samples },
        { { MODULE "decoder.layers.0.fc1.weight", 0, 2, { 0, s->d } }, &s->hidden },
        { { MODULE "queries_features.weight", 0, 2, { 0, s->d } }, &s->queries },
        { { "class_predictor.weight", 0, 2, { 0, s->d } }, &classes },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if ((status = sam_config_size(w, &sizes[i].from, sizes[i].out, error)))
            return status;
    s->classes = classes - 1; // the last one is no object
    return SAM_OK;
}

static int check_stages(const struct m2f_sizes *s, const char *file, struct sam_error *error)
{
    int status = SAM_OK;

    for (int i = 0; i < SAM_STAGES && !status; i++) {
        const struct sam_size_range ranges[] = {
            { "the width of a stage", s->width[i], 1, 4096, s->heads[i] > 0 ? s->heads[i] : 1 },
            { "the inner width of a stage", s->inner[i], 1, 16384, 1 },
            { "the number of a stage's blocks", s->blocks[i], 1, M2F_MAX_BLOCKS, 1 },
            { "the number of a stage's heads", s->heads[i], 1, 256, 1 },
        };
        status = sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
    }
    return status;
}

static int check_ranges(const struct m2f_sizes *s, const char *file, int samples,
                        struct sam_error *error)
{
    const struct sam_size_range ranges[] = {
        { "the width before the first stage", s->stem, 1, 1024, 1 },
        { "the side of a window", s->window, 1, SAM_MAX_WINDOW, 1 },
        { "the width of the decoders", s->d, M2F_GROUPS, 1024, M2F_GROUPS },
        { "the number of the pixel decoder's layers", s->encoder_layers, 1, M2F_MAX_ENCODER, 1 },
        { "the hidden width of the pixel decoder", s->encoder_hidden, 1, 8192, 1 },
        { "the number of places that a position looks at", samples, M2F_LEVELS * M2F_POINTS,
          64 * M2F_LEVELS * M2F_POINTS, M2F_LEVELS * M2F_POINTS },
        { "the width of mask features", s->mask_width, 1, 1024, 1 },
        { "the number of the decoder's layers", s->layers, 1, M2F_MAX_LAYERS, 1 },
        { "the hidden width of the decoder", s->hidden, 1, 8192, 1 },
        { "the number of queries", s->queries, 1, M2F_MOST, 1 },
        { "the number of classes", s->classes, 1, 4096, 1 },
    };
    const int status = sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);

    if (!status && s->d % (samples / (M2F_LEVELS * M2F_POINTS)))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: the decoders' width %d is not a multiple of their %d heads", file,
                        s->d, samples / (M2F_LEVELS * M2F_POINTS));
    return status;
}

static void name_variant(struct sam_config *c)
{
    static const struct {
        const char *name;
        enum m2f_trunk trunk;
        int stem, third; // channels, blocks of the third stage
    } known[] = { { "swin-tiny", M2F_SWIN, 96, 6 },    { "swin-small", M2F_SWIN, 96, 18 },
                  { "swin-base", M2F_SWIN, 128, 18 },  { "swin-large", M2F_SWIN, 192, 18 },
                  { "resnet-50", M2F_RESNET, 64, 6 }, { "resnet-101", M2F_RESNET, 64, 23 } };
    const struct m2f_sizes *s = m2f_sizes(c);

    snprintf(c->variant, sizeof(c->variant), "custom");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (s->trunk == known[i].trunk && s->stem == known[i].stem && s->d == 256 &&
            s->blocks[2] == known[i].third)
            snprintf(c->variant, sizeof(c->variant), "mask2former-%s", known[i].name);
}

int m2f_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct m2f_sizes *s = (struct m2f_sizes *) c->trunk;
    const char *file = sam_weights_file(w);
    int samples = 0, status;

    _Static_assert(sizeof(*s) <= SAM_TRUNK_BYTES, "a family's sizes must fit their room");
    s->trunk = sam_weights_find(w, ENCODER "embedder.embedder.convolution.weight") ? M2F_RESNET
                                                                                  : M2F_SWIN;
    if (sam_weights_find(w, MODULE "input_projections.0.weight"))
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: tensor '" MODULE "input_projections.0.weight': only models whose "
                        "decoders have the same width are supported", file);
    if ((status = (s->trunk == M2F_SWIN ? read_swin : read_resnet)(s, w, error)) ||
        (status = check_stages(s, file, error)) ||
        (status = read_decoders(s, w, &samples, error)) ||
        (status = check_ranges(s, file, samples, error)))
        return status;
    s->decoder_heads = samples / (M2F_LEVELS * M2F_POINTS);
    c->image_size = M2F_SIDE;
    name_variant(c);
    return m2f_read_json(c, w, error);
}

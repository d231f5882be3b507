// SPDX-License-Identifier: MIT
// The family's sizes, almost all of which stand in the shapes of tensors.
#include "rfdetr.h"

#include <stdio.h>
#include <string.h>

#define BACKBONE  "backbone.0.encoder.encoder."
#define PROJECTOR "backbone.0.projector.stages.0.0."
#define DECODER   "transformer.decoder.layers."
#define PATCHES   BACKBONE "embeddings.patch_embeddings.projection.weight"

// A layer that lacks the tensor by which layers are counted would shorten the model unseen.
static int check_count(const struct sam_weights *w, const char *prefix, int count, int limit,
                       struct sam_error *error)
{
    if (sam_config_layers(w, prefix, ".norm2.weight", limit) <= count)
        return SAM_OK;
    return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s%d.norm1.weight' is missing",
                    sam_weights_file(w), prefix, count);
}

static int read_shapes(struct rfdetr_sizes *s, const struct sam_weights *w, int *positions,
                       int *rows, int *samples, struct sam_error *error)
{
    int inner = 0, status;

    if ((status = sam_config_size(w, &(struct sam_size_from) { PATCHES, 3, 4, { 0, 3, 0, 0 } },
                                  &s->patch, error)) ||
        (status = sam_config_size(w, &(struct sam_size_from) { PATCHES, 0, 4,
             { 0, 3, s->patch, s->patch } }, &s->width, error)) ||
        (status = sam_config_size(w, &(struct sam_size_from) {
             PROJECTOR "cv1.conv.weight", 0, 4, { 0, RFDETR_OUTS * s->width, 1, 1 } }, &inner,
             error)))
        return status;
    s->inner = inner / 2;
    s->blocks = sam_config_layers(w, BACKBONE "encoder.layer.", ".norm1.weight", RFDETR_MAX_BLOCKS);
    s->bottlenecks = sam_config_layers(w, PROJECTOR "m.", ".cv1.conv.weight",
                                       RFDETR_MAX_BOTTLENECKS);
    s->layers = sam_config_layers(w, DECODER, ".norm1.weight", RFDETR_MAX_LAYERS);
    s->groups = sam_config_layers(w, "transformer.enc_output.", ".weight", RFDETR_MAX_GROUPS);
    if ((status = check_count(w, BACKBONE "encoder.layer.", s->blocks, RFDETR_MAX_BLOCKS, error)) ||
        (status = check_count(w, DECODER, s->layers, RFDETR_MAX_LAYERS, error)) ||
        (status = sam_config_size(w, &(struct sam_size_from) {
             PROJECTOR "cv2.conv.weight", 0, 4, { 0, (2 + s->bottlenecks) * s->inner, 1, 1 } },
             &s->d, error)))
        return status;
    const struct {
        struct sam_size_from from;
        int *out;
    } sizes[] = {
        { { BACKBONE "embeddings.position_embeddings", 1, 3, { 1, 0, s->width } }, positions },
        { { BACKBONE "encoder.layer.0.mlp.fc1.weight", 0, 2, { 0, s->width } }, &s->hidden },
        { { DECODER "0.linear1.weight", 0, 2, { 0, s->d } }, &s->feed_forward },
        { { DECODER "0.cross_attn.attention_weights.weight", 0, 2, { 0, s->d } }, samples },
        { { "query_feat.weight", 0, 2, { 0, s->d } }, rows },
        { { "class_embed.weight", 0, 2, { 0, s->d } }, &s->classes },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if ((status = sam_config_size(w, &sizes[i].from, sizes[i].out, error)))
            return status;
    // Either: one that is missing is an error, not another model.
    s->masks = sam_weights_find(w, "segmentation_head.bias") ||
               sam_weights_find(w, "segmentation_head.spatial_features_proj.weight");
    return s->masks ? sam_config_size(w, &(struct sam_size_from) {
                          "segmentation_head.query_features_block.layers.0.weight", 0, 2,
                          { 0, s->d } }, &s->mask_hidden, error)
                    : SAM_OK;
}

static int check_ranges(const struct rfdetr_sizes *s, const char *file, struct sam_error *error)
{
    const struct sam_size_range ranges[] = {
        { "the side of a patch in px", s->patch, 12, 16, 4 },
        { "the positions on a side of the position embedding", s->grid, s->windows,
          RFDETR_MAX_GRID, s->windows },
        { "the width of the backbone", s->width, RFDETR_HEAD, 1024, RFDETR_HEAD },
        { "the hidden width of the backbone", s->hidden, 1, 8192, 1 },
        { "the number of the backbone's blocks", s->blocks, RFDETR_OUTS, RFDETR_MAX_BLOCKS,
          RFDETR_OUTS },
        { "the number of the projector's bottlenecks", s->bottlenecks, 1, RFDETR_MAX_BOTTLENECKS,
          1 },
        { "the width of the projector's bottlenecks", s->inner, 1, 1024, 1 },
        { "the width of the decoder", s->d, RFDETR_CROSS_HEADS, 1024, RFDETR_CROSS_HEADS },
        { "the hidden width of the decoder", s->feed_forward, 1, 8192, 1 },
        { "the number of the decoder's layers", s->layers, 1, RFDETR_MAX_LAYERS, 1 },
        { "the number of groups of queries", s->groups, 1, RFDETR_MAX_GROUPS, 1 },
        { "the number of queries of a group", s->queries, 1, RFDETR_MOST, 1 },
        { "the number of points of a head of deformable attention", s->points, 1, SAM_MAX_SAMPLES,
          1 },
        { "the number of classes", s->classes, 1, 4096, 1 },
        { "the hidden width of the masks' queries", s->masks ? s->mask_hidden : 1, 1, 8192, 1 },
    };
    return sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
}

static int check_relations(const struct rfdetr_sizes *s, const char *file, int positions, int rows,
                           int samples, struct sam_error *error)
{
    if (s->grid * s->grid + 1 != positions)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '" BACKBONE "embeddings.position_embeddings': expected a "
                        "square number of positions and one more, got %d", file, positions);
    if (rows % s->groups)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor 'query_feat.weight': expected a multiple of %d rows, one for "
                        "each 'transformer.enc_output.*', got %d", file, s->groups, rows);
    if (samples % RFDETR_CROSS_HEADS)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '" DECODER "0.cross_attn.attention_weights.weight': expected a "
                        "multiple of %d rows, one for each head, got %d", file, RFDETR_CROSS_HEADS,
                        samples);
    if (s->queries > s->grid * s->grid)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: %d queries are more than the %d positions that they are chosen from",
                        file, s->queries, s->grid * s->grid);
    return SAM_OK;
}

// What no tensor tells: published models have two windows on a side, but for one.
static int guess_windows(const struct rfdetr_sizes *s)
{
    return s->masks && s->patch == 12 && s->grid == 26 ? 1 : 2;
}

static void name_variant(struct sam_config *c)
{
    static const struct {
        const char *name;
        int patch, grid, layers;
    } known[] = {
        { "nano", 16, 24, 2 },    { "small", 16, 32, 3 },    { "medium", 16, 36, 4 },
        { "large", 16, 44, 4 },   { "seg-nano", 12, 26, 4 }, { "seg-small", 12, 32, 4 },
        { "seg-medium", 12, 36, 5 }, { "seg-large", 12, 42, 5 }, { "seg-preview", 12, 36, 4 },
    };
    const struct rfdetr_sizes *s = rfdetr_sizes(c);

    snprintf(c->variant, sizeof(c->variant), "custom");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (s->patch == known[i].patch && s->grid == known[i].grid &&
            s->layers == known[i].layers && s->masks == (s->patch == 12) && s->width == 384 &&
            s->d == 256)
            snprintf(c->variant, sizeof(c->variant), "rf-detr-%s", known[i].name);
}

int rfdetr_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct rfdetr_sizes *s = (struct rfdetr_sizes *) c->trunk;
    const char *file = sam_weights_file(w);
    int positions = 0, rows = 0, samples = 0, status;

    _Static_assert(sizeof(*s) <= SAM_TRUNK_BYTES, "a family's sizes must fit their room");
    if ((status = read_shapes(s, w, &positions, &rows, &samples, error)))
        return status;
    while ((s->grid + 1) * (s->grid + 1) < positions)
        s->grid++;
    s->queries = rows / (s->groups ? s->groups : 1);
    s->points = samples / RFDETR_CROSS_HEADS;
    s->windows = guess_windows(s);
    if ((status = check_ranges(s, file, error)) ||
        (status = check_relations(s, file, positions, rows, samples, error)))
        return status;
    c->image_size = s->grid * s->patch;
    name_variant(c);
    return rfdetr_read_json(c, w, error);
}

// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "swin.h"

enum { NAME = 160 };

#define TABLE "blocks.0.attention.self.relative_position_bias_table"

struct reader {
    const struct sam_weights *weights;
    const char *prefix;
    struct sam_error *error;
};

// Extent `axis` of a tensor of a stage; other extents as given, 0 standing for any.
static int read_of_stage(const struct reader *r, int stage, const char *part,
                         struct sam_size_from from, int *out)
{
    char name[NAME];

    snprintf(name, sizeof(name), "%sencoder.layers.%d.%s", r->prefix, stage, part);
    from.name = name;
    return sam_config_size(r->weights, &from, out, r->error);
}

// Blocks are counted by their first norm. One that has the other norm and lacks the first would
// shorten the model unseen.
static int count_blocks(const struct reader *r, int stage, int *out)
{
    char prefix[NAME];

    snprintf(prefix, sizeof(prefix), "%sencoder.layers.%d.blocks.", r->prefix, stage);
    *out = sam_config_layers(r->weights, prefix, ".layernorm_before.weight", SAM_SWIN_MAX_BLOCKS);
    if (sam_config_layers(r->weights, prefix, ".layernorm_after.weight", SAM_SWIN_MAX_BLOCKS) <=
        *out)
        return SAM_OK;
    return sam_fail(r->error, SAM_EFORMAT, "%s: tensor '%s%d.layernorm_before.weight' is missing",
                    sam_weights_file(r->weights), prefix, *out);
}

static int read_stage(struct sam_swin_sizes *s, const struct reader *r, int i, int *places)
{
    int status;

    s->width[i] = s->stem << i;
    if ((status = count_blocks(r, i, &s->blocks[i])) ||
        (status = read_of_stage(r, i, "blocks.0.intermediate.dense.weight",
                                (struct sam_size_from) { NULL, 0, 2, { 0, s->width[i] } },
                                &s->inner[i])) ||
        (status = read_of_stage(r, i, TABLE, (struct sam_size_from) { NULL, 1, 2, { *places, 0 } },
                                &s->heads[i])) ||
        (status = read_of_stage(r, i, TABLE,
                                (struct sam_size_from) { NULL, 0, 2, { 0, s->heads[i] } }, places)))
        return status;
    if (s->heads[i] >= 1 && s->width[i] % s->heads[i] == 0)
        return SAM_OK;
    return sam_fail(r->error, SAM_EFORMAT,
                    "%s: tensor '%sencoder.layers.%d." TABLE "': expected a column for each head, "
                    "whose number divides the width %d, got %d columns",
                    sam_weights_file(r->weights), r->prefix, i, s->width[i], s->heads[i]);
}

static int check_ranges(const struct sam_swin_sizes *s, const char *file, struct sam_error *error)
{
    const struct sam_size_range whole[] = {
        { "the width before the first stage", s->stem, 1, 1024, 1 },
        { "the side of a window", s->window, 1, SAM_MAX_WINDOW, 1 },
    };
    int status = sam_config_ranges(whole, sizeof(whole) / sizeof(whole[0]), file, error);

    for (int i = 0; i < SAM_STAGES && !status; i++) {
        const struct sam_size_range ranges[] = {
            { "the width of a stage", s->width[i], 1, 4096, s->heads[i] },
            { "the inner width of a stage", s->inner[i], 1, 16384, 1 },
            { "the number of a stage's blocks", s->blocks[i], 1, SAM_SWIN_MAX_BLOCKS, 1 },
            { "the number of a stage's heads", s->heads[i], 1, 256, 1 },
        };
        status = sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
    }
    return status;
}

int sam_swin_read(struct sam_swin_sizes *s, const struct sam_weights *w, const char *prefix,
                  struct sam_error *error)
{
    const struct reader r = { w, prefix, error };
    char name[NAME];
    int places = 0;

    snprintf(name, sizeof(name), "%sembeddings.patch_embeddings.projection.weight", prefix);
    int status = sam_config_size(w, &(struct sam_size_from) { name, 0, 4, { 0, 3, 4, 4 } },
                                 &s->stem, error);
    for (int i = 0; i < SAM_STAGES && !status; i++)
        status = read_stage(s, &r, i, &places);
    if (status)
        return status;
    for (s->window = 1; (2 * s->window - 1) * (2 * s->window - 1) < places; s->window++)
        ;
    if ((2 * s->window - 1) * (2 * s->window - 1) != places)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '%sencoder.layers.0." TABLE "': expected the square of an odd "
                        "number of rows, got %d", sam_weights_file(w), prefix, places);
    return check_ranges(s, sam_weights_file(w), error);
}

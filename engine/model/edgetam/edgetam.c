// SPDX-License-Identifier: MIT
// EdgeTAM: RepViT as the trunk, memory maps stored as the latents of a perceiver; else SAM 2.0.
#include <stdio.h>
#include <string.h>

#include "perceiver.h"
#include "repvit.h"

// The one published model; its shapes tell all but image_size.
static bool is_published(const struct sam_config *c)
{
    static const int width[SAM_STAGES] = { 48, 96, 192, 384 }, depth[SAM_STAGES] = { 2, 2, 14, 2 };
    const struct sam_edgetam_sizes *e = sam_edgetam_sizes(c);
    return !memcmp(c->stage_width, width, sizeof(width)) &&
           !memcmp(e->depth, depth, sizeof(depth)) && e->latents == 256 && e->grid == 16 &&
           e->layers == 2 && c->d_model == 256 && c->mem_dim == 64 && c->num_maskmem == 7 &&
           c->memory_layers == 2 && c->memory_hidden == 2048 && c->decoder_hidden == 2048 &&
           !c->no_obj_embed_spatial && !c->pointer_time;
}

static int use_published(struct sam_config *c, const char *file, struct sam_error *error)
{
    c->image_size = 1024;
    return is_published(c) ? SAM_OK : sam_config_unpublished(c, file, error);
}

static void name_variant(struct sam_config *c)
{
    const bool known = is_published(c) && c->image_size == 1024;
    snprintf(c->variant, sizeof(c->variant), "%s", known ? "edgetam" : "custom");
}

static int read_shapes(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    const int status = sam_repvit_read(c, w, error);
    return status ? status : sam_perceiver_read(c, w, error);
}

// Every latent of the perceiver's grid has a window of whole tokens, and stride 32 a whole map.
static struct sam_sides sides(const struct sam_config *c)
{
    const int grid = sam_edgetam_sizes(c)->grid, step = 16 * grid * (1 + grid % 2);
    return (struct sam_sides) { (64 + step - 1) / step * step, 2048 / step * step, step };
}

// --- JSON ---------------------------------------------------------------------------------------

static int read_own(struct sam_config *c, const struct sam_json *trunk)
{
    const int status = sam_json_agree_four(trunk, "embed_dim", c->stage_width);
    return status ? status : sam_json_agree_four(trunk, "depth", sam_edgetam_sizes(c)->depth);
}

// "repvit_m1", with the name of its publisher before and that of its training behind it, or not.
static bool is_repvit(const char *name)
{
    if (!strncmp(name, "timm/", 5))
        name += 5;
    return !strncmp(name, "repvit_m1", 9) && (!name[9] || name[9] == '.');
}

// Where the trunk has no name, transformers takes another network by default: Hiera, or a ResNet.
static int read_backbone(struct sam_config *c, const struct sam_json *backbone)
{
    const json_t *name = sam_json_get(backbone, "architecture");
    const char *text = json_string_value(name);
    struct sam_json sizes;
    int status;
    if (!text)
        return sam_json_wrong(backbone, "architecture", "\"repvit_m1\", as the tensors have",
                              name);
    if (!is_repvit(text))
        return sam_fail(backbone->error, SAM_EUNSUPPORTED,
                        "%s: key '%sarchitecture': expected \"repvit_m1\", as the tensors have, "
                        "got \"%.*s\"", backbone->file, backbone->path,
                        sam_text_cut(text, strlen(text), 40), text);
    if ((status = sam_json_enter(&sizes, backbone, "model_args",
                                 "vision_config.backbone_config.model_args.")))
        return status;
    return read_own(c, &sizes);
}

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_ROOT, "memory_attention_mlp_hidden_act", "\"relu\"" },
    { SAM_JSON_ROOT, "perceiver_resampler_num_attention_heads", "1" },
};

static int read_transformers(struct sam_config *c, const struct sam_json *in)
{
    const struct sam_edgetam_sizes *e = sam_edgetam_sizes(c);
    const struct sam_json *root = &in[SAM_JSON_ROOT];
    int status = read_backbone(c, &in[SAM_JSON_BACKBONE]);
    const struct {
        const char *key;
        int shapes;
    } sizes[] = {
        { "memory_attention_mlp_hidden_size", c->memory_hidden },
        { "memory_attention_rope_k_sizes", e->grid },
        { "perceiver_resampler_hidden_size", c->mem_dim },
        { "perceiver_resampler_attention_head_dim", c->mem_dim },
        { "perceiver_resampler_mlp_intermediate_size", e->hidden },
        { "perceiver_resampler_num_latents", e->latents },
        { "perceiver_resampler_num_latents_2d", e->grid * e->grid },
        { "perceiver_resampler_num_layers", e->layers },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !status; i++)
        status = sam_json_agree(root, sizes[i].key, sizes[i].shapes);
    return status ? status : sam_json_check_fixed(in, fixed, sizeof(fixed) / sizeof(fixed[0]));
}

// --- ranges -------------------------------------------------------------------------------------

static int check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_edgetam_sizes *e = sam_edgetam_sizes(c);
    const struct sam_size_range ranges[] = {
        { "the width of the trunk's stem", e->stem, 1, 512, 1 },
        { "the width of the trunk's first stage", c->stage_width[0], 1, 1024, 1 },
        { "the width of the trunk's second stage", c->stage_width[1], 1, 2048, 1 },
        { "the width of the trunk's third stage", c->stage_width[2], 1, 4096, 1 },
        { "the width of the trunk's fourth stage", c->stage_width[3], 1, 4096, 1 },
        { "the squeezed width of the first stage", e->squeeze[0], 1, 4096, 1 },
        { "the squeezed width of the second stage", e->squeeze[1], 1, 4096, 1 },
        { "the squeezed width of the third stage", e->squeeze[2], 1, 4096, 1 },
        { "the squeezed width of the fourth stage", e->squeeze[3], 1, 4096, 1 },
        { "the number of the perceiver's latents without a place", e->latents, 1, 4096, 1 },
        { "the number of the perceiver's layers", e->layers, 1, SAM_MAX_PERCEIVER_LAYERS, 1 },
        { "the hidden width of the perceiver", e->hidden, 1, 4096, 1 },
    };
    return sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
}

const struct sam_family sam_family_edgetam = {
    .title = "EdgeTAM",
    .trunk = "repvit",
    .mark = "spatial_perceiver.latents",
    .sides = sides,
    .read_shapes = read_shapes,
    .read_own = read_own,
    .read_transformers = read_transformers,
    .use_published = use_published,
    .lacks = "image_size",
    .check = check,
    .name_variant = name_variant,
    .trunk_bytes = sizeof(struct sam_repvit),
    .load = sam_repvit_load,
    .layout = sam_repvit_layout,
    .run = sam_repvit_run,
    .compressor = &sam_perceiver,
};

// EdgeTAM: RepViT as the trunk, memory maps stored as the latents of a perceiver; else SAM 2.0.
#include <stdio.h>
#include <string.h>

#include "perceiver.h"
#include "repvit.h"

// The one published model: what its shapes are, and what its configuration adds.
static bool is_published(const struct sam_config *c)
{
    static const int width[SAM_STAGES] = { 48, 96, 192, 384 }, depth[SAM_STAGES] = { 2, 2, 14, 2 };
    const struct sam_repvit_config *r = sam_repvit_sizes(c);

    for (int i = 0; i < SAM_STAGES; i++)
        if (c->stage_width[i] != width[i] || r->depth[i] != depth[i])
            return false;
    return c->d_model == 256 && c->mem_dim == 64 && c->num_maskmem == 7 && c->memory_layers == 2 &&
           c->memory_hidden == 2048 && c->decoder_hidden == 2048 && !c->no_obj_embed_spatial &&
           !c->pointer_time;
}

static bool use_published(struct sam_config *c)
{
    c->image_size = 1024;
    return is_published(c);
}

static void name_variant(struct sam_config *c)
{
    snprintf(c->variant, sizeof(c->variant),
             is_published(c) && c->image_size == 1024 ? "edgetam" : "custom");
}

static int read_own(struct sam_config *c, const struct sam_json *trunk)
{
    const struct sam_repvit_config *r = sam_repvit_sizes(c);
    int status;

    if ((status = sam_json_agree_four(trunk, "embed_dim", c->stage_width)))
        return status;
    return sam_json_agree_four(trunk, "depth", r->depth);
}

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_ROOT, "memory_attention_mlp_hidden_act", "\"relu\"" },
    { SAM_JSON_ROOT, "memory_attention_rope_k_sizes", "[16, 16]" },
    { SAM_JSON_ROOT, "perceiver_resampler_num_latents", "256" },
    { SAM_JSON_ROOT, "perceiver_resampler_num_latents_2d", "256" },
    { SAM_JSON_ROOT, "perceiver_resampler_num_attention_heads", "1" },
    { SAM_JSON_ROOT, "perceiver_resampler_num_layers", "2" },
};

// transformers' own defaults are another network: Hiera, or a ResNet. So the trunk must be named.
static int read_transformers(struct sam_config *c, const struct sam_json *in)
{
    const struct sam_json *backbone = &in[SAM_JSON_BACKBONE];
    const char *name = json_string_value(sam_json_get(backbone, "architecture"));
    int status;

    if (!name || (strcmp(name, "repvit_m1") && strncmp(name, "repvit_m1.", 10)))
        return sam_fail(backbone->error, SAM_EUNSUPPORTED,
                        "%s: key '%sarchitecture': expected \"repvit_m1\", which the tensors are, "
                        "found %s%.*s%s",
                        backbone->file, backbone->path, name ? "\"" : "",
                        name ? sam_text_cut(name, strlen(name), 40) : 7, name ? name : "nothing",
                        name ? "\"" : "");
    if ((status = sam_json_agree(&in[SAM_JSON_ROOT], "perceiver_resampler_hidden_size",
                                 c->mem_dim)) ||
        (status = sam_json_agree(&in[SAM_JSON_ROOT], "memory_attention_mlp_hidden_size",
                                 c->memory_hidden)))
        return status;
    return sam_json_check_fixed(in, fixed, sizeof(fixed) / sizeof(fixed[0]));
}

static int check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_repvit_config *r = sam_repvit_sizes(c);
    const struct sam_size_range ranges[] = {
        { "the width of the trunk's stem", r->stem, 1, 512, 1 },
        { "the width of the trunk's first stage", c->stage_width[0], 1, 1024, 1 },
        { "the width of the trunk's second stage", c->stage_width[1], 1, 2048, 1 },
        { "the width of the trunk's third stage", c->stage_width[2], 1, 4096, 1 },
        { "the width of the trunk's fourth stage", c->stage_width[3], 1, 4096, 1 },
    };
    return sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
}

const struct sam_family sam_family_edgetam = {
    .title = "EdgeTAM",
    .trunk = "repvit",
    .mark = "spatial_perceiver.latents",
    .side_least = 256, .side_most = 2048, .side_multiple = 256, // 16 windows each way
    .read_shapes = sam_repvit_read,
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

// SPDX-License-Identifier: MIT
// SAM 3's tracker: SAM 2.1's parts on another trunk, at another stride, with its own choice of what
// is remembered. Its detector is not read.
#include <stdio.h>
#include <string.h>

#include "vit.h"

static const int published_global[] = { 7, 15, 23, 31 };
enum { PUBLISHED_SIDE = 1008 };

// The one published model; its shapes tell all but heads, window, global blocks and image_size.
static bool is_published(const struct sam_config *c)
{
    const struct sam_sam3_sizes *v = sam_sam3_of(c);

    return v->width == 1024 && v->depth == 32 && v->hidden == 4736 && v->position_side == 24 &&
           c->d_model == 256 && c->mem_dim == 64 && c->num_maskmem == 7 && c->memory_layers == 4 &&
           c->memory_hidden == 2048 && c->decoder_hidden == 2048;
}

// False: a block of those is not there.
bool sam_sam3_trunk_use_published(struct sam_sam3_sizes *v)
{
    v->num_heads = 16;
    v->window = 24;
    memset(v->global_block, 0, sizeof(v->global_block));
    for (int i = 0; i < 4; i++) {
        if (published_global[i] >= v->depth)
            return false;
        v->global_block[published_global[i]] = true;
    }
    return true;
}

static int use_published(struct sam_config *c, const char *file, struct sam_error *error)
{
    if (!is_published(c) || !sam_sam3_trunk_use_published(sam_sam3_config(c)))
        return sam_config_unpublished(c, file, error);
    c->image_size = PUBLISHED_SIDE;
    return SAM_OK;
}

static void name_variant(struct sam_config *c)
{
    struct sam_sam3_sizes twin = *sam_sam3_of(c);
    const bool known = is_published(c) && sam_sam3_trunk_use_published(&twin) &&
                       c->image_size == PUBLISHED_SIDE && !memcmp(&twin, c->trunk, sizeof(twin));

    snprintf(c->variant, sizeof(c->variant), "%s", known ? "sam3" : "custom");
}

// Windows divide the map.
struct sam_sides sam_sam3_sides(const struct sam_config *c)
{
    const int window = sam_sam3_of(c)->window, step = SAM_SAM3_PATCH * (window > 0 ? window : 1);

    return (struct sam_sides){ step, step > 2048 ? step : 2048 / step * step, step };
}

// --- JSON ---------------------------------------------------------------------------------------

static int read_own(struct sam_config *c, const struct sam_json *trunk)
{
    struct sam_sam3_sizes *v = sam_sam3_config(c);
    int status;

    if ((status = sam_json_required(trunk, "num_heads", &v->num_heads)) ||
        (status = sam_json_required(trunk, "window", &v->window)) ||
        (status = sam_json_blocks(trunk, "global_att_blocks", v->depth, v->global_block)) ||
        (status = sam_json_agree(trunk, "depth", v->depth)))
        return status;
    return sam_json_agree(trunk, "embed_dim", v->width);
}

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_BACKBONE, "hidden_act", "\"gelu\"" },
    { SAM_JSON_BACKBONE, "num_channels", "3" },
    { SAM_JSON_BACKBONE, "layer_scale_init_value", "null" },
    { SAM_JSON_ROPE, "rope_theta", "10000" },
};
static const struct sam_json_fixed fixed_tracker[] = {
    { SAM_JSON_ROOT, "max_cond_frame_num", "4" },
};

// The defaults of transformers are the published model's.
static int read_blocks(struct sam_sam3_sizes *v, const struct sam_json *backbone)
{
    const bool has_all = sam_sam3_trunk_use_published(v);
    int status;

    if (sam_json_get(backbone, "global_attn_indexes"))
        status = sam_json_blocks(backbone, "global_attn_indexes", v->depth, v->global_block);
    else
        status = has_all
                     ? SAM_OK
                     : sam_json_wrong(backbone, "global_attn_indexes", "a list of integers", NULL);
    const struct {
        const char *key;
        int *out;
    } given[] = { { "num_attention_heads", &v->num_heads }, { "window_size", &v->window } };
    for (int i = 0; i < 2 && !status; i++)
        if (sam_json_get(backbone, given[i].key))
            status = sam_json_required(backbone, given[i].key, given[i].out);
    return status;
}

int sam_sam3_trunk_read_json(struct sam_config *c, const struct sam_json *backbone)
{
    struct sam_sam3_sizes *v = sam_sam3_config(c);
    struct sam_json places[SAM_JSON_PLACES] = { [SAM_JSON_BACKBONE] = *backbone };
    int side = SAM_SAM3_PATCH * v->position_side, patch = SAM_SAM3_PATCH, status;

    if ((status = read_blocks(v, backbone)) ||
        (status = sam_json_square(backbone, "pretrain_image_size", &side)) ||
        (status = sam_json_square(backbone, "patch_size", &patch)) ||
        (status = sam_json_agree(backbone, "hidden_size", v->width)) ||
        (status = sam_json_agree(backbone, "intermediate_size", v->hidden)) ||
        (status = sam_json_agree(backbone, "num_hidden_layers", v->depth)) ||
        (status = sam_json_enter(&places[SAM_JSON_ROPE], backbone, "rope_parameters",
                                 "vision_config.backbone_config.rope_parameters.")))
        return status;
    if (side != SAM_SAM3_PATCH * v->position_side || patch != SAM_SAM3_PATCH)
        return sam_fail(backbone->error, SAM_EFORMAT,
                        "%s: keys '%spretrain_image_size' and '%spatch_size' are %d and %d, but "
                        "the tensors' shapes say %d and %d",
                        backbone->file, backbone->path, backbone->path, side, patch,
                        SAM_SAM3_PATCH * v->position_side, SAM_SAM3_PATCH);
    return sam_json_check_fixed(places, fixed, sizeof(fixed) / sizeof(fixed[0]));
}

static int read_transformers(struct sam_config *c, const struct sam_json *in)
{
    const int status = sam_sam3_trunk_read_json(c, &in[SAM_JSON_BACKBONE]);

    return status ? status : sam_json_check_fixed(in, fixed_tracker, 1);
}

// --- ranges -------------------------------------------------------------------------------------

int sam_sam3_trunk_check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_sam3_sizes *v = sam_sam3_of(c);
    const struct sam_size_range ranges[] = {
        { "the width of the trunk (embed_dim)", v->width, 8, 4096, 1 },
        { "the trunk's number of heads (num_heads)", v->num_heads, 1, 64, 1 },
        { "the trunk's window", v->window, 1, 64, 1 },
        { "the hidden width of the trunk's blocks", v->hidden, 1, 16384, 1 },
    };
    const int status = sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);

    if (status)
        return status;
    if (v->width % (4 * v->num_heads) || v->width / v->num_heads > SAM_MAX_HEAD_DIM)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: num_heads must divide embed_dim %d to multiples of 4, at most %d "
                        "channels, got %d",
                        file, v->width, SAM_MAX_HEAD_DIM, v->num_heads);
    return SAM_OK;
}

static int check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_sam3_sizes *v = sam_sam3_of(c);
    const struct sam_size_range ranges[] = {
        { "the channels of the neck's first map", v->wide, 1, 4096, 1 },
        { "the channels of the neck's second map", v->mid, 1, 4096, 1 },
        { "the channels of the neck's finest map", v->fine, 1, 4096, 1 },
    };
    int status = sam_sam3_trunk_check(c, file, error);

    if (!status)
        status = sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
    if (status)
        return status;
    if (c->d_model % 4)
        return sam_fail(error, SAM_EFORMAT, "%s: d_model must be a multiple of 4, got %d", file,
                        c->d_model);
    return SAM_OK;
}

const struct sam_family sam_family_sam3 = {
    .title = "SAM 3",
    .trunk = "sam3-vit",
    .mark = "image_encoder.trunk.ln_pre.weight",
    .own_neck = "image_encoder.neck.levels.2.conv_1x1.weight",
    .patch = SAM_SAM3_PATCH,
    .image_size = PUBLISHED_SIDE,
    .selection = SAM_SELECT_SCORED,
    .max_cond = 4,
    .whole_masks = true,
    .sides = sam_sam3_sides,
    .read_shapes = sam_sam3_read,
    .read_own = read_own,
    .read_transformers = read_transformers,
    .use_published = use_published,
    .lacks = "image_size, num_heads, window and global_att_blocks",
    .check = check,
    .name_variant = name_variant,
    .input_scale = SAM_INPUT_EVEN,
    .trunk_bytes = sizeof(struct sam_sam3),
    .load = sam_sam3_load,
    .layout = sam_sam3_layout,
    .run = sam_sam3_run,
    .shared_channels = sam_sam3_channels,
};

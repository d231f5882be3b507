// SPDX-License-Identifier: MIT
// EfficientTAM: a plain vision transformer as the trunk, one map for all later parts, and in some
// variants a memory attention whose keys are pooled; else SAM 2.0. All files of one width have the
// same tensors: which variant it is stands in the file's name, or in JSON.
#include <stdio.h>
#include <string.h>

#include "vit.h"

#define TITLE "efficienttam_"

static const struct variant {
    const char *suffix; // of the file's name
    int image_size;
    enum sam_pooling pooling;
} variants[] = {
    { "_512x512", 512, SAM_POOLING_NONE },
    { "_1", 1024, SAM_POOLING_COUNTED },
    { "_2", 1024, SAM_POOLING_SHIFTED },
    { "", 1024, SAM_POOLING_NONE },
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

// "s" or "ti" where these are the shapes of a published model, else NULL.
static const char *published_size(const struct sam_config *c)
{
    const struct sam_vit_sizes *v = sam_vit_sizes(c);
    const bool known = v->depth == 12 && v->position_side == 14 && c->d_model == 256 &&
                       c->mem_dim == 64 && c->num_maskmem == 7 && c->memory_layers == 4 &&
                       c->memory_hidden == 2048 && c->decoder_hidden == 2048 &&
                       !c->no_obj_embed_spatial && !c->pointer_time;
    return !known ? NULL : v->width == 384 ? "s" : v->width == 192 ? "ti" : NULL;
}

// What the published configurations say of the trunk.
static void apply(struct sam_vit_sizes *v)
{
    v->num_heads = v->width / 64;
    v->window = 14;
    for (int i = 0; i < v->depth; i++)
        v->global_block[i] = i % 3 == 2;
}

static const char *name_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

// The variant that a name tells, of this size; NULL: it tells none. A name goes on behind it with
// what no variant's does: "efficienttam_ti_1.pt", "efficienttam_s (2).pt".
static const struct variant *find_variant(const char *name, const char *size)
{
    const char *at = strstr(name, TITLE);
    const size_t length = strlen(size);

    if (!at || strncmp(at += strlen(TITLE), size, length) != 0)
        return NULL;
    for (const struct variant *v = variants; v < variants + VARIANTS; v++) {
        const size_t n = strlen(v->suffix);
        const char *behind = at + length + n;
        if (!strncmp(at + length, v->suffix, n) && (!*behind || strchr(".- (", *behind)))
            return v;
    }
    return NULL;
}

static int use_published(struct sam_config *c, const char *file, struct sam_error *error)
{
    const char *size = published_size(c), *name = name_of(file);
    const struct variant *v = size ? find_variant(name, size) : NULL;

    if (!size)
        return sam_config_unpublished(c, file, error);
    if (!v)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: which EfficientTAM it is cannot be told: expected a file named "
                        TITLE "%s, _1, _2 or _512x512 behind it, or JSON that tells image_size and "
                        "memory_pooling", file, size);
    c->image_size = v->image_size;
    c->pooling = v->pooling;
    apply(sam_vit_config(c));
    return SAM_OK;
}

static void name_variant(struct sam_config *c)
{
    const char *size = published_size(c);
    struct sam_vit_sizes twin = *sam_vit_sizes(c);

    snprintf(c->variant, sizeof(c->variant), "custom");
    apply(&twin);
    if (!size || memcmp(&twin, c->trunk, sizeof(twin)) != 0)
        return;
    for (const struct variant *v = variants; v < variants + VARIANTS; v++)
        if (v->image_size == c->image_size && v->pooling == c->pooling)
            snprintf(c->variant, sizeof(c->variant), TITLE "%s%s", size, v->suffix);
}

// --- JSON ---------------------------------------------------------------------------------------

static int read_own(struct sam_config *c, const struct sam_json *trunk)
{
    struct sam_vit_sizes *v = sam_vit_config(c);
    int status;

    if ((status = sam_json_required(trunk, "num_heads", &v->num_heads)) ||
        (status = sam_json_required(trunk, "window", &v->window)) ||
        (status = sam_json_blocks(trunk, "global_att_blocks", v->depth, v->global_block)) ||
        (status = sam_json_agree(trunk, "depth", v->depth)))
        return status;
    return sam_json_agree(trunk, "embed_dim", v->width);
}

static int read_transformers(struct sam_config *c, const struct sam_json *in)
{
    return sam_fail(in->error, SAM_EUNSUPPORTED,
                    "%s: EfficientTAM has this project's JSON, not Hugging Face's, which has no "
                    "such model: expected key 'trunk'", in->file);
}

// --- ranges -------------------------------------------------------------------------------------

static int check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_vit_sizes *v = sam_vit_sizes(c);
    const struct sam_size_range ranges[] = {
        { "the width of the trunk (embed_dim)", v->width, 8, 2048, 1 },
        { "the trunk's number of heads (num_heads)", v->num_heads, 1, 64, 1 },
        { "the trunk's window", v->window, 1, 64, 1 },
    };
    const int status = sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);

    if (status)
        return status;
    if (v->width % v->num_heads || v->width / v->num_heads > SAM_MAX_HEAD_DIM)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: num_heads must divide embed_dim %d to at most %d channels, got %d",
                        file, v->width, SAM_MAX_HEAD_DIM, v->num_heads);
    // The published code takes the last global block's map, whatever comes behind it.
    if (!v->global_block[v->depth - 1])
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: block %d is the last of the trunk and must attend globally", file,
                        v->depth - 1);
    return SAM_OK;
}

// Maps are pooled by two.
static struct sam_sides sides(const struct sam_config *c)
{
    return (struct sam_sides) { 64, 2048, 32 };
}

const struct sam_family sam_family_efficienttam = {
    .title = "EfficientTAM",
    .trunk = "vit",
    .mark = "image_encoder.neck.convs.0.conv_1x1.weight",
    .lone_map = "image_encoder.neck.convs.0.conv_1x1.weight",
    .sides = sides,
    .read_shapes = sam_vit_read,
    .read_own = read_own,
    .read_transformers = read_transformers,
    .use_published = use_published,
    .lacks = "image_size, num_heads, window and global_att_blocks",
    .check = check,
    .name_variant = name_variant,
    .trunk_bytes = sizeof(struct sam_vit),
    .load = sam_vit_load,
    .layout = sam_vit_layout,
    .run = sam_vit_run,
};

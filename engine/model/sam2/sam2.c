// SPDX-License-Identifier: MIT
// SAM 2.0 and 2.1: Hiera as the trunk, memory maps stored as they are.
#include <stdio.h>
#include <string.h>

#include "hiera.h"

#define TRUNK "image_encoder.trunk."

// --- published models ---------------------------------------------------------------------------

// The published trunks: what shapes tell and what only their configurations do. Input 1024,
// d_model 256, memory width 64, 7 memory maps, 4 memory-attention layers in all of them.
static const struct published {
    const char *size;
    int embed_dim, num_heads, stages[SAM_STAGES], windows[SAM_STAGES], global[3], pos_embed_size;
} published[] = {
    { "tiny", 96, 1, { 1, 2, 7, 2 }, { 8, 4, 14, 7 }, { 5, 7, 9 }, 7 },
    { "small", 96, 1, { 1, 2, 11, 2 }, { 8, 4, 14, 7 }, { 7, 10, 13 }, 7 },
    { "base_plus", 112, 2, { 2, 3, 16, 3 }, { 8, 4, 14, 7 }, { 12, 16, 20 }, 14 },
    { "large", 144, 2, { 2, 6, 36, 4 }, { 8, 4, 16, 8 }, { 23, 33, 43 }, 7 },
};

static bool same_shapes(const struct sam_config *c, const struct published *p)
{
    const struct sam_hiera_config *h = sam_hiera_sizes(c);
    return h->embed_dim == p->embed_dim && h->pos_embed_size == p->pos_embed_size &&
           memcmp(h->stages, p->stages, sizeof(h->stages)) == 0 && c->d_model == 256 &&
           c->mem_dim == 64 && c->num_maskmem == 7 && c->memory_layers == 4 &&
           c->memory_hidden == 2048 && c->decoder_hidden == 2048 && h->window_pos_embed_size == 8 &&
           c->no_obj_embed_spatial == c->pointer_time;
}

static const struct published *find_published(const struct sam_config *c)
{
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
        if (same_shapes(c, &published[i]))
            return &published[i];
    return NULL;
}

static void apply(struct sam_hiera_config *h, const struct published *p)
{
    h->num_heads = p->num_heads;
    memcpy(h->window_spec, p->windows, sizeof(h->window_spec));
    memset(h->global_block, 0, sizeof(h->global_block));
    for (int i = 0; i < 3; i++)
        h->global_block[p->global[i]] = true;
}

static int use_published(struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct published *p = find_published(c);
    if (!p)
        return sam_config_unpublished(c, file, error);
    c->image_size = 1024;
    apply(sam_hiera_config(c), p);
    return SAM_OK;
}

static void name_variant(struct sam_config *c)
{
    const struct published *p = find_published(c);
    struct sam_hiera_config twin = *sam_hiera_sizes(c);
    if (p)
        apply(&twin, p);
    if (p && c->image_size == 1024 && !memcmp(&twin, c->trunk, sizeof(twin)))
        snprintf(c->variant, sizeof(c->variant), "sam2%s_hiera_%s", c->pointer_time ? ".1" : "",
                 p->size);
    else
        snprintf(c->variant, sizeof(c->variant), "custom");
}

// --- shapes -------------------------------------------------------------------------------------

// Blocks that widen begin the second to fourth stage: they alone have a projection.
static int read_stages(struct sam_hiera_config *c, const struct sam_weights *w,
                       struct sam_error *error)
{
    const char *file = sam_weights_file(w);
    c->num_blocks = sam_config_layers(w, TRUNK "blocks.", ".norm1.weight", SAM_MAX_BLOCKS);
    if (!c->num_blocks)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor '" TRUNK "blocks.0.norm1.weight' is missing", file);
    if (c->num_blocks > SAM_MAX_BLOCKS)
        return sam_fail(error, SAM_EFORMAT, "%s: the trunk has more than %d blocks", file,
                        SAM_MAX_BLOCKS);
    int stage = 0;
    for (int i = 0; i < c->num_blocks; i++) {
        char name[96];
        snprintf(name, sizeof(name), TRUNK "blocks.%d.proj.weight", i);
        if (sam_weights_find(w, name) && (i == 0 || ++stage == SAM_STAGES))
            return sam_fail(error, SAM_EFORMAT,
                            "%s: tensor '%s' begins stage %d, expected %d stages in all", file,
                            name, stage + 1, SAM_STAGES);
        c->stages[stage]++;
    }
    if (stage != SAM_STAGES - 1)
        return sam_fail(error, SAM_EFORMAT, "%s: the trunk's tensors make %d stages, expected %d",
                        file, stage + 1, SAM_STAGES);
    return SAM_OK;
}

static int read_shapes(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct sam_hiera_config *h = sam_hiera_config(c);
    int status = sam_config_size(
        w, &(struct sam_size_from){ TRUNK "patch_embed.proj.weight", 0, 4, { 0, 3, 7, 7 } },
        &h->embed_dim, error);
    if (status || (status = read_stages(h, w, error)))
        return status;
    const struct {
        const char *name;
        int *out;
    } maps[] = { { TRUNK "pos_embed", &h->pos_embed_size },
                 { TRUNK "pos_embed_window", &h->window_pos_embed_size } };
    for (int i = 0; i < 2 && !status; i++) { // they are square
        struct sam_size_from map = { maps[i].name, 3, 4, { 1, h->embed_dim, 0, 0 } };
        status = sam_config_size(w, &map, maps[i].out, error);
        map.shape[2] = map.shape[3] = *maps[i].out;
        if (!status)
            status = sam_config_size(w, &map, maps[i].out, error);
    }
    for (int i = 0; i < SAM_STAGES; i++)
        c->stage_width[i] = h->embed_dim << i;
    return status;
}

// --- JSON ---------------------------------------------------------------------------------------

// Widths double from stage to stage, and so do heads.
static int read_doubling(const struct sam_json *r, const char *key, int *first)
{
    int four[SAM_STAGES] = { *first, 2 * *first, 4 * *first, 8 * *first };
    const int status = sam_json_four(r, key, four);
    if (status)
        return status;
    for (int i = 1; i < SAM_STAGES; i++)
        if (four[i] != 2 * four[i - 1])
            return sam_fail(r->error, SAM_EUNSUPPORTED,
                            "%s: key '%s%s': only a doubling from stage to "
                            "stage is supported, got %d after %d",
                            r->file, r->path, key, four[i], four[i - 1]);
    *first = four[0];
    return SAM_OK;
}

static int read_backbone(struct sam_hiera_config *out, const struct sam_json *backbone)
{
    // The defaults of transformers, which are SAM 2.1 tiny's.
    static const int windows[SAM_STAGES] = { 8, 4, 14, 7 };
    static const int tiny_global[] = { 5, 7, 9 };
    int status, width = out->embed_dim;
    memcpy(out->window_spec, windows, sizeof(windows));
    out->num_heads = 1;
    if ((status = sam_json_agree_four(backbone, "blocks_per_stage", out->stages)) ||
        (status =
             sam_json_agree(backbone, "window_positional_embedding_background_size",
                            out->pos_embed_size)) ||
        (status = sam_json_four(backbone, "window_size_per_stage", out->window_spec)) ||
        (status = read_doubling(backbone, "embed_dim_per_stage", &width)) ||
        (status = read_doubling(backbone, "num_attention_heads_per_stage", &out->num_heads)))
        return status;
    if (width != out->embed_dim)
        return sam_fail(backbone->error, SAM_EFORMAT,
                        "%s: key '%sembed_dim_per_stage' begins with %d, but "
                        "the tensors' shapes say %d",
                        backbone->file, backbone->path, width, out->embed_dim);
    if (sam_json_get(backbone, "global_attention_blocks"))
        return sam_json_blocks(backbone, "global_attention_blocks", out->num_blocks,
                               out->global_block);
    memset(out->global_block, 0, sizeof(out->global_block));
    for (int i = 0; i < 3; i++) {
        if (tiny_global[i] >= out->num_blocks)
            return sam_json_wrong(backbone, "global_attention_blocks", "a list of integers", NULL);
        out->global_block[tiny_global[i]] = true;
    }
    return SAM_OK;
}

static int read_own(struct sam_config *c, const struct sam_json *trunk)
{
    struct sam_hiera_config *h = sam_hiera_config(c);
    int status;
    if (!sam_json_get(trunk, "window_spec"))
        return sam_json_wrong(trunk, "window_spec", "a list of four integers", NULL);
    if ((status = sam_json_required(trunk, "num_heads", &h->num_heads)) ||
        (status = sam_json_four(trunk, "window_spec", h->window_spec)) ||
        (status = sam_json_blocks(trunk, "global_att_blocks", h->num_blocks, h->global_block)) ||
        (status = sam_json_agree(trunk, "embed_dim", h->embed_dim)) ||
        (status = sam_json_agree_four(trunk, "stages", h->stages)))
        return status;
    return sam_json_agree(trunk, "window_pos_embed_bkg_spatial_size", h->pos_embed_size);
}

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_BACKBONE, "patch_kernel_size", "[7, 7]" },
    { SAM_JSON_BACKBONE, "patch_stride", "[4, 4]" },
    { SAM_JSON_BACKBONE, "patch_padding", "[3, 3]" },
    { SAM_JSON_BACKBONE, "query_stride", "[2, 2]" },
    { SAM_JSON_BACKBONE, "num_query_pool_stages", "3" },
    { SAM_JSON_BACKBONE, "mlp_ratio", "4" },
    { SAM_JSON_BACKBONE, "hidden_act", "\"gelu\"" },
    { SAM_JSON_BACKBONE, "layer_norm_eps", "1e-6" },
};

static int read_transformers(struct sam_config *c, const struct sam_json *in)
{
    const int status = read_backbone(sam_hiera_config(c), &in[SAM_JSON_BACKBONE]);
    return status ? status
                  : sam_json_check_fixed(in, fixed, sizeof(fixed) / sizeof(fixed[0]));
}

// --- ranges -------------------------------------------------------------------------------------

static int check_windows(const struct sam_hiera_config *c, const char *file,
                         struct sam_error *error)
{
    int first = 0;
    for (int i = 0; i < SAM_STAGES; i++) {
        const int window = c->window_spec[i];
        if (window < 1 || window > 64)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: the window of stage %d must be 1 to 64 tokens, got %d", file,
                            i + 1, window);
        // The first block of the next stage pools 2 x 2 inside this stage's windows.
        if (i < SAM_STAGES - 1 && window % 2)
            return sam_fail(error, SAM_EFORMAT, "%s: the window of stage %d must be even, got %d",
                            file, i + 1, window);
        // The published code has no windowless pooling either: it divides by the window.
        if (i && c->global_block[first])
            return sam_fail(error, SAM_EUNSUPPORTED,
                            "%s: block %d begins stage %d and cannot attend "
                            "globally",
                            file, first, i + 1);
        first += c->stages[i];
    }
    return SAM_OK;
}

static int check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_hiera_config *h = sam_hiera_sizes(c);
    const struct sam_size_range ranges[] = {
        { "the trunk's first width (embed_dim)", h->embed_dim, 8, 512, 1 },
        { "the trunk's first head count (num_heads)", h->num_heads, 1, 32, 1 },
        { "the side of the background position map", h->pos_embed_size, 1, 64, 1 },
        { "the side of the window position map", h->window_pos_embed_size, 1, 64, 1 },
    };
    int status = sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
    if (status || (status = check_windows(h, file, error)))
        return status;
    if (h->embed_dim % h->num_heads)
        return sam_fail(error, SAM_EFORMAT, "%s: num_heads must divide embed_dim %d, got %d", file,
                        h->embed_dim, h->num_heads);
    if (c->image_size / 4 % h->window_pos_embed_size)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: the side of the window position map must divide %d (a quarter of "
                        "image_size), got %d",
                        file, c->image_size / 4, h->window_pos_embed_size);
    return SAM_OK;
}

static struct sam_sides sides(const struct sam_config *c)
{
    return (struct sam_sides) { 64, 2048, 32 };
}

const struct sam_family sam_family_sam2 = {
    .title = "SAM 2",
    .trunk = "hiera",
    .mark = TRUNK "pos_embed_window",
    .sides = sides,
    .read_shapes = read_shapes,
    .read_own = read_own,
    .read_transformers = read_transformers,
    .use_published = use_published,
    .lacks = "image_size, num_heads, window_spec and global_att_blocks",
    .check = check,
    .name_variant = name_variant,
    .trunk_bytes = sizeof(struct sam_hiera),
    .load = sam_hiera_load,
    .layout = sam_hiera_layout,
    .run = sam_hiera_run,
};

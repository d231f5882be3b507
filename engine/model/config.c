#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "weights/weight_list.h"

#define TRUNK "image_encoder.trunk."

// --- the family's members -----------------------------------------------------------------------

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
    return c->embed_dim == p->embed_dim && c->pos_embed_size == p->pos_embed_size &&
           memcmp(c->stages, p->stages, sizeof(c->stages)) == 0 && c->d_model == 256 &&
           c->mem_dim == 64 && c->num_maskmem == 7 && c->memory_layers == 4 &&
           c->memory_hidden == 2048 && c->decoder_hidden == 2048 && c->window_pos_embed_size == 8 &&
           c->no_obj_embed_spatial == c->pointer_time;
}

static void use_published(struct sam_config *c, const struct published *p)
{
    c->image_size = 1024;
    c->num_heads = p->num_heads;
    memcpy(c->window_spec, p->windows, sizeof(c->window_spec));
    memset(c->global_block, 0, sizeof(c->global_block));
    for (int i = 0; i < 3; i++)
        c->global_block[p->global[i]] = true;
}

static const struct published *find_published(const struct sam_config *c)
{
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++)
        if (same_shapes(c, &published[i]))
            return &published[i];
    return NULL;
}

static void name_variant(struct sam_config *c)
{
    const struct published *p = find_published(c);
    struct sam_config twin = *c;
    if (p)
        use_published(&twin, p);
    if (p && twin.image_size == c->image_size && twin.num_heads == c->num_heads &&
        memcmp(twin.window_spec, c->window_spec, sizeof(twin.window_spec)) == 0 &&
        memcmp(twin.global_block, c->global_block, sizeof(twin.global_block)) == 0)
        snprintf(c->variant, sizeof(c->variant), "sam2%s_hiera_%s", c->pointer_time ? ".1" : "",
                 p->size);
    else
        snprintf(c->variant, sizeof(c->variant), "custom");
}

// Relatives with other parts, and files that are something else altogether.
static int refuse_relatives(const struct sam_weights *w, struct sam_error *error)
{
    const char *file = sam_weights_file(w);
    const struct sam_weight *pos = sam_weights_find(w, TRUNK "pos_embed");
    if (sam_weights_find(w, "spatial_perceiver.latents") ||
        sam_weights_find(w, "spatial_perceiver.latents_1d") ||
        sam_weights_find(w, TRUNK "body.stem.conv1.c.weight"))
        return sam_fail(error, SAM_EUNSUPPORTED, "%s: this is EdgeTAM, which is not supported yet",
                        file);
    if (pos && pos->rank == 3)
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: this is EfficientTAM, which is not supported yet", file);
    if (!sam_weights_find(w, TRUNK "patch_embed.proj.weight"))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: is no model of SAM 2's family: tensor '" TRUNK
                        "patch_embed.proj.weight' is missing",
                        file);
    if (!sam_weights_find(w, "maskmem_tpos_enc") &&
        !sam_weights_find(w, "memory_encoder.out_proj.weight"))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: is SAM 2 for images alone: it has no memory encoder, so "
                        "it cannot track",
                        file);
    return SAM_OK;
}

// --- shapes -------------------------------------------------------------------------------------

// A size that stands in the shape of a tensor: extent `axis`. The others must be as given, 0
// standing for any.
struct size_from {
    const char *name;
    int axis, rank, shape[4];
};

static int read_size(const struct sam_weights *w, const struct size_from *from, int *out,
                     struct sam_error *error)
{
    const struct sam_weight *t = sam_weights_find(w, from->name);
    if (!t)
        return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s' is missing", sam_weights_file(w),
                        from->name);
    bool good = t->rank == from->rank;
    for (int i = 0; good && i < t->rank; i++)
        good = t->shape[i] > 0 && t->shape[i] <= 65536 &&
               (!from->shape[i] || t->shape[i] == from->shape[i]);
    if (good) {
        *out = (int) t->shape[from->axis];
        return SAM_OK;
    }
    char wanted[96];
    int used = 0;
    for (int i = 0; i < from->rank; i++)
        used += from->shape[i]
                    ? snprintf(wanted + used, sizeof(wanted) - used, "%s%d", i ? ", " : "",
                               from->shape[i])
                    : snprintf(wanted + used, sizeof(wanted) - used, "%sany", i ? ", " : "");
    return sam_fail(error, SAM_EFORMAT, "%s: tensor '%s': wanted shape (%s), got %s",
                    sam_weights_file(w), t->stored, wanted, sam_shape_text(t->rank, t->shape).text);
}

// How many of prefix0suffix, prefix1suffix, ... there are, at most limit + 1.
static int count_layers(const struct sam_weights *w, const char *prefix, const char *suffix,
                        int limit)
{
    int n = 0;
    for (; n <= limit; n++) {
        char name[96];
        snprintf(name, sizeof(name), "%s%d%s", prefix, n, suffix);
        if (!sam_weights_find(w, name))
            break;
    }
    return n;
}

// Blocks that widen begin the second to fourth stage: they alone have a projection.
static int read_stages(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    const char *file = sam_weights_file(w);
    c->num_blocks = count_layers(w, TRUNK "blocks.", ".norm1.weight", SAM_MAX_BLOCKS);
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
                            "%s: tensor '%s' begins stage %d, wanted %d stages in all", file, name,
                            stage + 1, SAM_STAGES);
        c->stages[stage]++;
    }
    if (stage != SAM_STAGES - 1)
        return sam_fail(error, SAM_EFORMAT, "%s: the trunk's tensors make %d stages, wanted %d",
                        file, stage + 1, SAM_STAGES);
    return SAM_OK;
}

static int read_shapes(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    int e, d, m, status;
    if ((status = read_size(
             w, &(struct size_from){ TRUNK "patch_embed.proj.weight", 0, 4, { 0, 3, 7, 7 } },
             &c->embed_dim, error)))
        return status;
    e = c->embed_dim;
    if ((status = read_stages(c, w, error)) ||
        (status =
             read_size(w,
                       &(struct size_from){
                           "image_encoder.neck.convs.0.conv.weight", 0, 4, { 0, 8 * e, 1, 1 } },
                       &c->d_model, error)) ||
        (status = read_size(
             w,
             &(struct size_from){ "maskmem_tpos_enc", 3, 4, { 0, 1, 1, 0 } }, &c->mem_dim, error)))
        return status;
    d = c->d_model;
    m = c->mem_dim;
    const struct {
        struct size_from from;
        int *out;
    } sizes[] = {
        { { TRUNK "pos_embed", 3, 4, { 1, e, 0, 0 } }, &c->pos_embed_size },
        { { TRUNK "pos_embed_window", 3, 4, { 1, e, 0, 0 } }, &c->window_pos_embed_size },
        { { "maskmem_tpos_enc", 0, 4, { 0, 1, 1, m } }, &c->num_maskmem },
        { { "memory_attention.layers.0.linear1.weight", 0, 2, { 0, d } }, &c->memory_hidden },
        { { "sam_mask_decoder.transformer.layers.0.mlp.layers.0.weight", 0, 2, { 0, d } },
          &c->decoder_hidden },
        { { "sam_mask_decoder.conv_s0.weight", 0, 4, { d / 8, d, 1, 1 } }, &c->high_res_s0 },
        { { "sam_mask_decoder.conv_s1.weight", 0, 4, { d / 4, d, 1, 1 } }, &c->high_res_s1 },
        { { "memory_encoder.fuser.layers.0.pwconv1.weight", 0, 2, { 0, d } }, &c->fuser_hidden },
        { { "sam_prompt_encoder.mask_downscaling.3.weight", 0, 4, { 0, 0, 2, 2 } },
          &c->mask_in_chans },
        { { "sam_mask_decoder.iou_prediction_head.layers.0.weight", 0, 2, { 0, d } },
          &c->iou_hidden },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if ((status = read_size(w, &sizes[i].from, sizes[i].out, error)))
            return status;
    for (int i = 0; i < 2; i++) { // the position maps are square
        struct size_from square = sizes[i].from;
        square.axis = 2;
        square.shape[3] = *sizes[i].out;
        square.shape[2] = *sizes[i].out;
        if ((status = read_size(w, &square, sizes[i].out, error)))
            return status;
    }
    c->memory_layers =
        count_layers(w, "memory_attention.layers.", ".norm1.weight", SAM_MAX_MEMORY_LAYERS);
    c->fuser_layers = count_layers(w, "memory_encoder.fuser.layers.", ".gamma", 8);
    c->no_obj_embed_spatial = sam_weights_find(w, "no_obj_embed_spatial") != NULL;
    c->pointer_time = sam_weights_find(w, "obj_ptr_tpos_proj.weight") != NULL;
    return SAM_OK;
}

// --- ranges -------------------------------------------------------------------------------------

static int check_ranges(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct {
        const char *what;
        int value, least, most, multiple;
    } ranges[] = {
        { "image_size (px)", c->image_size, 64, 2048, 32 },
        { "the trunk's first width (embed_dim)", c->embed_dim, 8, 512, 1 },
        { "the trunk's first head count (num_heads)", c->num_heads, 1, 32, 1 },
        { "the width of the neck (d_model)", c->d_model, 16, 1024, 16 },
        { "the width of the memory (mem_dim)", c->mem_dim, 4, c->d_model, 4 },
        { "the number of memory maps (num_maskmem)", c->num_maskmem, 2, SAM_MAX_MASKMEM, 1 },
        { "the number of memory-attention layers", c->memory_layers, 1, SAM_MAX_MEMORY_LAYERS, 1 },
        { "the hidden width of memory attention", c->memory_hidden, 1, 16384, 1 },
        { "the hidden width of the mask decoder", c->decoder_hidden, 1, 16384, 1 },
        { "the number of the memory encoder's fuser layers", c->fuser_layers, 1,
          SAM_MAX_FUSER_LAYERS, 1 },
        { "the hidden width of the memory encoder's fuser", c->fuser_hidden, 1, 16384, 1 },
        { "the channels of the prompt encoder's mask path", c->mask_in_chans, 4, 256, 4 },
        { "the hidden width of the IoU head", c->iou_hidden, 1, 4096, 1 },
        { "the side of the background position map", c->pos_embed_size, 1, 64, 1 },
        { "the side of the window position map", c->window_pos_embed_size, 1, 64, 1 },
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const int v = ranges[i].value, m = ranges[i].multiple;
        if (v >= ranges[i].least && v <= ranges[i].most && v % m == 0)
            continue;
        if (m > 1)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: %s must be a multiple of %d from %d to %d, got %d", file,
                            ranges[i].what, m, ranges[i].least, ranges[i].most, v);
        return sam_fail(error, SAM_EFORMAT, "%s: %s must be %d to %d, got %d", file, ranges[i].what,
                        ranges[i].least, ranges[i].most, v);
    }
    return SAM_OK;
}

static int check_windows(const struct sam_config *c, const char *file, struct sam_error *error)
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

// What must hold between the sizes.
static int check_relations(const struct sam_config *c, const char *file, struct sam_error *error)
{
    if (c->embed_dim % c->num_heads)
        return sam_fail(error, SAM_EFORMAT, "%s: num_heads must divide embed_dim %d, got %d", file,
                        c->embed_dim, c->num_heads);
    if (c->d_model % c->mem_dim)
        return sam_fail(error, SAM_EFORMAT, "%s: the memory's width must divide d_model %d, got %d",
                        file, c->d_model, c->mem_dim);
    if (c->image_size / 4 % c->window_pos_embed_size)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: the side of the window position map must divide %d (a "
                        "quarter of image_size), got %d",
                        file, c->image_size / 4, c->window_pos_embed_size);
    return SAM_OK;
}

int sam_config_read(struct sam_config *out, const struct sam_weights *w, struct sam_error *error)
{
    const char *file = sam_weights_file(w), *said_by = sam_weights_config_file(w);
    size_t bytes;
    const char *text = sam_weights_config(w, &bytes);
    int status;
    memset(out, 0, sizeof(*out));
    if ((status = refuse_relatives(w, error)) || (status = read_shapes(out, w, error)))
        return status;

    if (text) {
        if ((status = sam_config_read_json(out, said_by, text, bytes, error)))
            return status;
        file = said_by;
    } else {
        const struct published *p = find_published(out);
        if (!p)
            return sam_fail(
                error, SAM_EFORMAT,
                "%s: no published model has these shapes (embed_dim %d, "
                "blocks %d+%d+%d+%d, d_model %d), so it needs JSON with image_size, num_heads, "
                "window_spec and global_att_blocks, which is missing",
                file, out->embed_dim, out->stages[0], out->stages[1], out->stages[2],
                out->stages[3], out->d_model);
        use_published(out, p);
    }
    if ((status = check_ranges(out, file, error)) || (status = check_windows(out, file, error)) ||
        (status = check_relations(out, file, error)))
        return status;
    name_variant(out);
    return SAM_OK;
}

#include "config_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// One JSON text being read. `path` is what the keys of `object` stand under, for sentences.
struct reader {
    const char *file;
    struct sam_error *error;
    const json_t *object; // NULL: an object that is not there, all keys take their defaults
    const char *path;     // "trunk."
};

static int wrong(const struct reader *r, const char *key, const char *wanted, const json_t *got)
{
    static const char *const types[] = { "an object",  "a list", "a string", "an integer",
                                         "a fraction", "true",   "false",    "null" };
    return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s%s': wanted %s, got %s", r->file, r->path,
                    key, wanted, got ? types[json_typeof(got)] : "nothing");
}

// An absent key and null are the same, as transformers has it.
static const json_t *get(const struct reader *r, const char *key)
{
    const json_t *v = json_object_get(r->object, key);
    return json_is_null(v) ? NULL : v;
}

static int enter(struct reader *inner, const struct reader *r, const char *key, const char *path)
{
    *inner = *r;
    inner->object = get(r, key);
    inner->path = path;
    if (inner->object && !json_is_object(inner->object))
        return wrong(r, key, "an object", inner->object);
    return SAM_OK;
}

// An integer small enough for an int; range checks proper come when all is read.
static int to_int(const struct reader *r, const char *key, const json_t *v, int *out)
{
    const json_int_t i = json_integer_value(v);
    if (!json_is_integer(v))
        return wrong(r, key, "an integer", v);
    if (i < -1000000 || i > 1000000)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: key '%s%s': %" JSON_INTEGER_FORMAT " is far out of "
                        "range",
                        r->file, r->path, key, i);
    *out = (int) i;
    return SAM_OK;
}

// Absent: *out keeps the default it has.
static int read_int(const struct reader *r, const char *key, int *out)
{
    const json_t *v = get(r, key);
    return v ? to_int(r, key, v, out) : SAM_OK;
}

static int read_required(const struct reader *r, const char *key, int *out)
{
    return get(r, key) ? read_int(r, key, out) : wrong(r, key, "an integer", NULL);
}

static int read_four(const struct reader *r, const char *key, int out[SAM_STAGES])
{
    const json_t *list = get(r, key);
    if (!list)
        return SAM_OK;
    if (json_array_size(list) != SAM_STAGES)
        return wrong(r, key, "a list of four integers", list);
    for (int i = 0; i < SAM_STAGES; i++) {
        const int status = to_int(r, key, json_array_get(list, i), &out[i]);
        if (status)
            return status;
    }
    return SAM_OK;
}

// A side that transformers writes as S or as [S, S].
static int read_square(const struct reader *r, const char *key, int *out)
{
    const json_t *v = get(r, key);
    if (!json_is_array(v))
        return read_int(r, key, out);
    int other = 0;
    if (json_array_size(v) != 2)
        return wrong(r, key, "an integer or a list of two", v);
    int status = to_int(r, key, json_array_get(v, 0), out);
    if (!status)
        status = to_int(r, key, json_array_get(v, 1), &other);
    if (!status && *out != other)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s%s': wanted a square, got %d x %d",
                        r->file, r->path, key, *out, other);
    return status;
}

static int read_blocks(const struct reader *r, const char *key, struct sam_config *out)
{
    const json_t *list = get(r, key);
    memset(out->global_block, 0, sizeof(out->global_block));
    if (!json_is_array(list))
        return wrong(r, key, "a list of integers", list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        int block = 0;
        const int status = to_int(r, key, json_array_get(list, i), &block);
        if (status)
            return status;
        if (block < 0 || block >= out->num_blocks)
            return sam_fail(r->error, SAM_EFORMAT,
                            "%s: key '%s%s': block %d is not among the %d blocks "
                            "of the file",
                            r->file, r->path, key, block, out->num_blocks);
        out->global_block[block] = true;
    }
    return SAM_OK;
}

// What the JSON says and the shapes say as well must be the same. Absent: nothing to compare.
static int agree(const struct reader *r, const char *key, int shapes)
{
    int said = shapes;
    const int status = read_square(r, key, &said);
    if (!status && said != shapes)
        return sam_fail(r->error, SAM_EFORMAT,
                        "%s: key '%s%s' is %d, but the tensors' shapes say %d", r->file, r->path,
                        key, said, shapes);
    return status;
}

static int agree_four(const struct reader *r, const char *key, const int shapes[SAM_STAGES])
{
    int said[SAM_STAGES];
    memcpy(said, shapes, sizeof(said));
    const int status = read_four(r, key, said);
    for (int i = 0; i < SAM_STAGES && !status; i++)
        if (said[i] != shapes[i])
            return sam_fail(r->error, SAM_EFORMAT,
                            "%s: key '%s%s' is %d at stage %d, but the tensors' "
                            "shapes say %d",
                            r->file, r->path, key, said[i], i + 1, shapes[i]);
    return status;
}

// --- this project's form ------------------------------------------------------------------------

static int read_own(struct sam_config *out, const struct reader *r)
{
    struct reader trunk;
    int status = enter(&trunk, r, "trunk", "trunk.");
    if (status)
        return status;
    const char *kind = json_string_value(get(&trunk, "kind"));
    if (kind && strcmp(kind, "hiera") != 0)
        return sam_fail(r->error, SAM_EUNSUPPORTED, "%s: key 'trunk.kind': wanted hiera, got %.*s",
                        r->file, sam_text_cut(kind, strlen(kind), 40), kind);
    if (!get(&trunk, "window_spec"))
        return wrong(&trunk, "window_spec", "a list of four integers", NULL);
    if ((status = read_required(r, "image_size", &out->image_size)) ||
        (status = read_required(&trunk, "num_heads", &out->num_heads)) ||
        (status = read_four(&trunk, "window_spec", out->window_spec)) ||
        (status = read_blocks(&trunk, "global_att_blocks", out)) ||
        (status = agree(&trunk, "embed_dim", out->embed_dim)) ||
        (status = agree_four(&trunk, "stages", out->stages)) ||
        (status = agree(&trunk, "window_pos_embed_bkg_spatial_size", out->pos_embed_size)) ||
        (status = agree(r, "d_model", out->d_model)) ||
        (status = agree(r, "mem_dim", out->mem_dim)))
        return status;
    return agree(r, "num_maskmem", out->num_maskmem);
}

// --- Hugging Face's form ------------------------------------------------------------------------

// The objects of a config.json, each absent or not.
enum place { ROOT, VISION, BACKBONE, PROMPT, DECODER, ROPE, PLACES };

// What our code has as a constant, as JSON. A file that says otherwise is another network.
static const struct fixed {
    enum place place;
    const char *key, *value;
} fixed[] = {
    { VISION, "fpn_kernel_size", "1" },
    { VISION, "fpn_stride", "1" },
    { VISION, "fpn_padding", "0" },
    { VISION, "fpn_top_down_levels", "[2, 3]" },
    { VISION, "num_feature_levels", "3" },
    { BACKBONE, "patch_kernel_size", "[7, 7]" },
    { BACKBONE, "patch_stride", "[4, 4]" },
    { BACKBONE, "patch_padding", "[3, 3]" },
    { BACKBONE, "query_stride", "[2, 2]" },
    { BACKBONE, "num_query_pool_stages", "3" },
    { BACKBONE, "mlp_ratio", "4" },
    { BACKBONE, "hidden_act", "\"gelu\"" },
    { BACKBONE, "layer_norm_eps", "1e-6" },
    { PROMPT, "patch_size", "16" },
    { PROMPT, "num_point_embeddings", "4" },
    { PROMPT, "hidden_act", "\"gelu\"" },
    { DECODER, "num_attention_heads", "8" },
    { DECODER, "num_hidden_layers", "2" },
    { DECODER, "num_multimask_outputs", "3" },
    { DECODER, "attention_downsample_rate", "2" },
    { DECODER, "iou_head_depth", "3" },
    { DECODER, "dynamic_multimask_via_stability", "true" },
    { DECODER, "dynamic_multimask_stability_delta", "0.05" },
    { DECODER, "dynamic_multimask_stability_thresh", "0.98" },
    { ROPE, "rope_theta", "10000" },
    { ROOT, "memory_attention_rope_theta", "10000" },
    { ROOT, "memory_attention_num_attention_heads", "1" },
    { ROOT, "memory_attention_downsample_rate", "1" },
    { ROOT, "memory_attention_feed_forward_hidden_act", "\"relu\"" },
    { ROOT, "max_object_pointers_in_encoder", "16" },
    { ROOT, "mask_downsampler_kernel_size", "3" },
    { ROOT, "mask_downsampler_stride", "2" },
    { ROOT, "mask_downsampler_padding", "1" },
    { ROOT, "mask_downsampler_total_stride", "16" },
    { ROOT, "mask_downsampler_hidden_act", "\"gelu\"" },
    { ROOT, "memory_fuser_kernel_size", "7" },
    { ROOT, "memory_fuser_padding", "3" },
    { ROOT, "memory_fuser_hidden_act", "\"gelu\"" },
    { ROOT, "sigmoid_scale_for_mem_enc", "20" },
    { ROOT, "sigmoid_bias_for_mem_enc", "-10" },
    { ROOT, "multimask_output_in_sam", "true" },
    { ROOT, "multimask_output_for_tracking", "true" },
    { ROOT, "multimask_min_pt_num", "0" },
    { ROOT, "multimask_max_pt_num", "1" },
};

// 20 and 20.0 are the same; so are 4 and [4, 4], as transformers reads them.
static bool same_value(const json_t *a, const json_t *b)
{
    if (json_is_array(a)) {
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!same_value(json_array_get(a, i), json_is_array(b) ? json_array_get(b, i) : b))
                return false;
        return !json_is_array(b) || json_array_size(b) == json_array_size(a);
    }
    if (json_is_number(a) && json_is_number(b))
        return fabs(json_number_value(a) - json_number_value(b)) <=
               1e-6 * fabs(json_number_value(a));
    return json_equal(a, b);
}

static int check_fixed(const struct reader *r, const struct fixed *f)
{
    const json_t *got = get(r, f->key);
    json_t *wanted = got ? json_loads(f->value, JSON_DECODE_ANY, NULL) : NULL;
    const bool same = !got || same_value(wanted, got);
    json_decref(wanted);
    if (same)
        return SAM_OK;
    char *text = json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    const int status =
        sam_fail(r->error, SAM_EUNSUPPORTED, "%s: key '%s%s': only %s is supported, got %.40s",
                 r->file, r->path, f->key, f->value, text ? text : "another value");
    free(text);
    return status;
}

static int agree_flag(const struct reader *r, const char *key, bool shapes)
{
    const json_t *v = get(r, key);
    if (v && !json_is_boolean(v))
        return wrong(r, key, "true or false", v);
    if (v && json_is_true(v) != shapes)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s' is %s, but the tensors say %s",
                        r->file, key, shapes ? "false" : "true", shapes ? "true" : "false");
    return SAM_OK;
}

// Widths double from stage to stage, and so do heads.
static int read_doubling(const struct reader *r, const char *key, int *first)
{
    int four[SAM_STAGES] = { *first, 2 * *first, 4 * *first, 8 * *first };
    const int status = read_four(r, key, four);
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

static int read_backbone(struct sam_config *out, const struct reader *backbone)
{
    // The defaults of transformers, which are SAM 2.1 tiny's.
    static const int windows[SAM_STAGES] = { 8, 4, 14, 7 };
    static const int tiny_global[] = { 5, 7, 9 };
    int status, width = out->embed_dim;
    memcpy(out->window_spec, windows, sizeof(windows));
    out->num_heads = 1;
    if ((status = agree_four(backbone, "blocks_per_stage", out->stages)) ||
        (status =
             agree(backbone, "window_positional_embedding_background_size", out->pos_embed_size)) ||
        (status = read_four(backbone, "window_size_per_stage", out->window_spec)) ||
        (status = read_doubling(backbone, "embed_dim_per_stage", &width)) ||
        (status = read_doubling(backbone, "num_attention_heads_per_stage", &out->num_heads)))
        return status;
    if (width != out->embed_dim)
        return sam_fail(backbone->error, SAM_EFORMAT,
                        "%s: key '%sembed_dim_per_stage' begins with %d, but "
                        "the tensors' shapes say %d",
                        backbone->file, backbone->path, width, out->embed_dim);
    if (get(backbone, "global_attention_blocks"))
        return read_blocks(backbone, "global_attention_blocks", out);
    memset(out->global_block, 0, sizeof(out->global_block));
    for (int i = 0; i < 3; i++) {
        if (tiny_global[i] >= out->num_blocks)
            return wrong(backbone, "global_attention_blocks", "a list of integers", NULL);
        out->global_block[tiny_global[i]] = true;
    }
    return SAM_OK;
}

// The input's side stands in up to three places, which must agree.
static int read_image_size(struct sam_config *out, const struct reader *r,
                           const struct reader *backbone, const struct reader *prompt)
{
    const struct reader *places[] = { r, backbone, prompt };
    out->image_size = 0;
    for (int i = 0; i < 3; i++) {
        int side = out->image_size;
        const int status = read_square(places[i], "image_size", &side);
        if (status)
            return status;
        if (out->image_size && side != out->image_size)
            return sam_fail(r->error, SAM_EFORMAT,
                            "%s: key '%simage_size' is %d, but %d stands elsewhere "
                            "in the file",
                            r->file, places[i]->path, side, out->image_size);
        out->image_size = side;
    }
    if (!out->image_size)
        out->image_size = 1024; // the default of transformers
    return SAM_OK;
}

static int enter_places(struct reader in[PLACES], const struct reader *r)
{
    int status;
    in[ROOT] = *r;
    if ((status = enter(&in[VISION], r, "vision_config", "vision_config.")) ||
        (status = enter(&in[BACKBONE], &in[VISION], "backbone_config",
                        "vision_config.backbone_config.")) ||
        (status = enter(&in[PROMPT], r, "prompt_encoder_config", "prompt_encoder_config.")) ||
        (status = enter(&in[DECODER], r, "mask_decoder_config", "mask_decoder_config.")))
        return status;
    return enter(&in[ROPE], r, "rope_parameters", "rope_parameters.");
}

static int read_transformers(struct sam_config *out, const struct reader *r)
{
    struct reader in[PLACES];
    int status;
    if ((status = enter_places(in, r)) ||
        (status = read_image_size(out, r, &in[BACKBONE], &in[PROMPT])) ||
        (status = read_backbone(out, &in[BACKBONE])) ||
        (status = agree(&in[VISION], "fpn_hidden_size", out->d_model)) ||
        (status = agree(&in[PROMPT], "hidden_size", out->d_model)) ||
        (status = agree(&in[DECODER], "hidden_size", out->d_model)) ||
        (status = agree(r, "memory_attention_hidden_size", out->d_model)) ||
        (status = agree(r, "memory_attention_num_layers", out->memory_layers)) ||
        (status = agree(r, "memory_encoder_output_channels", out->mem_dim)) ||
        (status = agree(r, "num_maskmem", out->num_maskmem)) ||
        (status = agree_flag(r, "enable_occlusion_spatial_embedding", out->no_obj_embed_spatial)) ||
        (status =
             agree_flag(r, "enable_temporal_pos_encoding_for_object_pointers", out->pointer_time)))
        return status;
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if ((status = check_fixed(&in[fixed[i].place], &fixed[i])))
            return status;
    return SAM_OK;
}

int sam_config_read_json(struct sam_config *out, const char *file, const char *text, size_t bytes,
                         struct sam_error *error)
{
    json_error_t at;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root)
        return sam_fail(error, SAM_EFORMAT, "%s: is no valid JSON: %s (line %d)", file, at.text,
                        at.line);
    const struct reader r = { file, error, root, "" };
    int status;
    if (!json_is_object(root))
        status = sam_fail(error, SAM_EFORMAT, "%s: wanted a JSON object, got another value", file);
    else if (get(&r, "trunk"))
        status = read_own(out, &r);
    else if (get(&r, "vision_config") || get(&r, "model_type"))
        status = read_transformers(out, &r);
    else
        status = wrong(&r, "trunk", "an object (or Hugging Face's 'vision_config' or 'model_type')",
                       NULL);
    json_decref(root);
    return status;
}

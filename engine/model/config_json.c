#include "config_json.h"

#include <jansson.h>
#include <math.h>
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
        return sam_fail(r->error, SAM_EUNSUPPORTED, "%s: key 'trunk.kind': wanted hiera, got %.40s",
                        r->file, kind);
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

// What our code has as a constant. A file that says otherwise is another network.
static const struct fixed {
    const char *object, *path, *key; // object NULL: the root
    double number;
    const char *word; // of a string
} fixed[] = {
    { "mask_decoder_config", "mask_decoder_config.", "num_attention_heads", SAM_DECODER_HEADS,
      NULL },
    { "mask_decoder_config", "mask_decoder_config.", "num_hidden_layers", SAM_DECODER_LAYERS,
      NULL },
    { "mask_decoder_config", "mask_decoder_config.", "num_multimask_outputs", SAM_MASK_TOKENS - 1,
      NULL },
    { "mask_decoder_config", "mask_decoder_config.", "attention_downsample_rate", 2, NULL },
    { "mask_decoder_config", "mask_decoder_config.", "iou_head_depth", 3, NULL },
    { "mask_decoder_config", "mask_decoder_config.", "dynamic_multimask_via_stability", true,
      NULL },
    { "mask_decoder_config", "mask_decoder_config.", "dynamic_multimask_stability_delta", 0.05,
      NULL },
    { "mask_decoder_config", "mask_decoder_config.", "dynamic_multimask_stability_thresh", 0.98,
      NULL },
    { "rope_parameters", "rope_parameters.", "rope_theta", 10000, NULL },
    { NULL, "", "memory_attention_num_attention_heads", 1, NULL },
    { NULL, "", "memory_attention_downsample_rate", 1, NULL },
    { NULL, "", "memory_attention_feed_forward_hidden_act", 0, "relu" },
    { NULL, "", "max_object_pointers_in_encoder", SAM_MAX_POINTERS, NULL },
    { NULL, "", "mask_downsampler_kernel_size", 3, NULL },
    { NULL, "", "mask_downsampler_stride", 2, NULL },
    { NULL, "", "mask_downsampler_padding", 1, NULL },
    { NULL, "", "mask_downsampler_total_stride", 16, NULL },
    { NULL, "", "mask_downsampler_hidden_act", 0, "gelu" },
    { NULL, "", "memory_fuser_kernel_size", 7, NULL },
    { NULL, "", "memory_fuser_padding", 3, NULL },
    { NULL, "", "memory_fuser_hidden_act", 0, "gelu" },
    { NULL, "", "sigmoid_scale_for_mem_enc", 20, NULL },
    { NULL, "", "sigmoid_bias_for_mem_enc", -10, NULL },
    { NULL, "", "multimask_output_in_sam", true, NULL },
    { NULL, "", "multimask_output_for_tracking", true, NULL },
    { NULL, "", "multimask_min_pt_num", 0, NULL },
    { NULL, "", "multimask_max_pt_num", 1, NULL },
};

static int check_fixed(const struct reader *r, const struct fixed *f)
{
    struct reader inner = *r;
    const int status = f->object ? enter(&inner, r, f->object, f->path) : SAM_OK;
    const json_t *v = status ? NULL : get(&inner, f->key);
    if (!v)
        return status;
    if (f->word) {
        const char *word = json_string_value(v);
        if (word && strcmp(word, f->word) == 0)
            return SAM_OK;
        return sam_fail(r->error, SAM_EUNSUPPORTED,
                        "%s: key '%s%s': only %s is supported, got %.40s", r->file, f->path, f->key,
                        f->word, word ? word : "no string");
    }
    if (!json_is_number(v) && !json_is_boolean(v))
        return wrong(&inner, f->key, "a number", v);
    const double number = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
    if (fabs(number - f->number) > 1e-9)
        return sam_fail(r->error, SAM_EUNSUPPORTED, "%s: key '%s%s': only %g is supported, got %g",
                        r->file, f->path, f->key, f->number, number);
    return SAM_OK;
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

static int read_transformers(struct sam_config *out, const struct reader *r)
{
    struct reader vision, backbone, prompt, decoder;
    int status;
    if ((status = enter(&vision, r, "vision_config", "vision_config.")) ||
        (status = enter(&backbone, &vision, "backbone_config", "vision_config.backbone_config.")) ||
        (status = enter(&prompt, r, "prompt_encoder_config", "prompt_encoder_config.")) ||
        (status = enter(&decoder, r, "mask_decoder_config", "mask_decoder_config.")) ||
        (status = read_image_size(out, r, &backbone, &prompt)) ||
        (status = read_backbone(out, &backbone)) ||
        (status = agree(&vision, "fpn_hidden_size", out->d_model)) ||
        (status = agree(&decoder, "hidden_size", out->d_model)) ||
        (status = agree(r, "memory_attention_hidden_size", out->d_model)) ||
        (status = agree(r, "memory_attention_num_layers", out->memory_layers)) ||
        (status = agree(r, "memory_encoder_output_channels", out->mem_dim)) ||
        (status = agree(r, "num_maskmem", out->num_maskmem)) ||
        (status = agree_flag(r, "enable_occlusion_spatial_embedding", out->no_obj_embed_spatial)) ||
        (status =
             agree_flag(r, "enable_temporal_pos_encoding_for_object_pointers", out->pointer_time)))
        return status;
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if ((status = check_fixed(r, &fixed[i])))
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

// SPDX-License-Identifier: MIT
#include "config_json.h"

#include <stdio.h>
#include <string.h>

#include "family.h"
#include "json.h"

// --- this project's form ------------------------------------------------------------------------

static int read_memory_selection(struct sam_config *out, const struct sam_json *r)
{
    static const char *const words[] = { "all", "present", "scored" };
    const json_t *v = sam_json_get(r, "memory_selection");
    const char *text = json_string_value(v);

    if (v && !text)
        return sam_json_wrong(r, "memory_selection", "all, present or scored", v);
    bool known = !text;
    for (int i = 0; text && i < 3; i++)
        if (!strcmp(text, words[i]))
            out->selection = (enum sam_selection) i, known = true;
    if (!known)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key 'memory_selection': expected all, present "
                        "or scored, got %.*s", r->file, sam_text_cut(text, strlen(text), 40), text);
    if (!sam_json_get(r, "memory_iou"))
        return SAM_OK;
    if (out->selection != SAM_SELECT_PRESENT)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key 'memory_iou': expected memory_selection "
                        "present with it, got %s", r->file, text ? text : "none");
    return sam_json_number(r, "memory_iou", 0, 1, &out->memory_iou);
}

// Absent: *out stays as it is.
static int read_number(const struct sam_json *r, const char *key, double least, double most,
                       float *out)
{
    return sam_json_get(r, key) ? sam_json_number(r, key, least, most, out) : SAM_OK;
}

static int read_count(const struct sam_json *r, const char *key, int most, int *out)
{
    int status = sam_json_get(r, key) ? sam_json_required(r, key, out) : SAM_OK;

    if (!status && (*out < 1 || *out > most))
        status = sam_fail(r->error, SAM_EFORMAT, "%s: key '%s%s': expected 1 to %d, got %d",
                          r->file, r->path, key, most, *out);
    return status;
}

// What is left out is as SAMURAI's code has it.
static int read_motion(struct sam_config *out, const struct sam_json *r)
{
    struct sam_motion_rule rule = { .stable_frames = 15, .stable_iou = 0.3f };
    struct sam_json motion;
    int status = sam_json_enter(&motion, r, "motion_model", "motion_model.");

    if (status || !motion.object)
        return status;
    if ((status = sam_json_number(&motion, "weight", 0, 1, &rule.weight)) ||
        (status = read_count(&motion, "stable_frames", 1000, &rule.stable_frames)) ||
        (status = read_number(&motion, "stable_iou", 0, 1, &rule.stable_iou)) ||
        (status = read_number(&motion, "least", 0, 1, &rule.least)))
        return status;
    out->motion = rule;
    return SAM_OK;
}

// What is left out is as DAM4SAM's code has it.
static int read_distractors(struct sam_config *out, const struct sam_json *r)
{
    struct sam_distractor_rule rule = { 0.8f, 0.2f, 0.7f, 5, 5 };
    struct sam_json memory;
    int status = sam_json_enter(&memory, r, "distractor_memory", "distractor_memory.");

    if (status || !memory.object)
        return status;
    if ((status = read_number(&memory, "iou", 0, 1, &rule.iou)) ||
        (status = read_number(&memory, "area", 0, 1, &rule.area)) ||
        (status = read_number(&memory, "overlap", 0, 1, &rule.overlap)) ||
        (status = read_count(&memory, "every", 1000, &rule.every)) ||
        (status = read_count(&memory, "stride", 1000, &rule.stride)))
        return status;
    if (out->selection != SAM_SELECT_PRESENT)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key 'distractor_memory': expected "
                        "memory_selection present with it, got %s", r->file,
                        out->selection == SAM_SELECT_SCORED ? "scored" : "all");
    out->distractors = rule;
    return SAM_OK;
}

// A number that is 0 where there is none, and from `least` to `most` else.
static int read_optional(const struct sam_json *r, const char *key, double least, double most,
                         float *out)
{
    const json_t *v = sam_json_get(r, key);
    const double number = json_number_value(v); // 0 if it is none
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "0 or a number from %g to %g", least, most);
    if (v && !json_is_number(v))
        return sam_json_wrong(r, key, wanted, v);
    if (number != 0 && !(number >= least && number <= most))
        return sam_fail(r->error, SAM_EFORMAT, "%s: key '%s': expected %s, got %g", r->file, key,
                        wanted, number);
    *out = (float) number;
    return SAM_OK;
}

static int read_zoom(const struct sam_json *r, const char *key, float *out)
{
    return read_optional(r, key, 1, 8, out);
}

static int read_recall(struct sam_config *out, const struct sam_json *target)
{
    struct sam_json recall;
    int status = sam_json_enter(&recall, target, "recall", "target_model.recall.");

    if (status || !recall.object)
        return status;
    if ((status = sam_json_number(&recall, "weight", 0, 100, &out->recall_weight)) ||
        (status = sam_json_number(&recall, "likeness", 0, 1, &out->recall_likeness)))
        return status;
    return sam_json_flag(&recall, "pieces", &out->recall_pieces);
}

static int read_target_model(struct sam_config *out, const struct sam_json *r)
{
    struct sam_json target;
    int status = sam_json_enter(&target, r, "target_model", "target_model.");

    if (status || !target.object)
        return status;
    if ((status = sam_json_number(&target, "weight", 0, 100, &out->target_weight)))
        return status;
    if ((status = sam_json_required(&target, "channels", &out->target_channels)))
        return status;
    if ((status = read_recall(out, &target)))
        return status;
    if (out->target_channels < 1 || out->target_channels > SAM_MAX_TARGET)
        return sam_fail(r->error, SAM_EFORMAT, "%s: key 'target_model.channels': expected 1 to "
                        "%d, got %d", r->file, SAM_MAX_TARGET, out->target_channels);
    return SAM_OK;
}

static int read_random_walk(struct sam_config *out, const struct sam_json *r)
{
    struct sam_json walk;
    const int status = sam_json_enter(&walk, r, "random_walk", "random_walk.");

    return status || !walk.object
               ? status : sam_json_number(&walk, "fidelity", 0.0001, 1000, &out->walk_fidelity);
}

static int read_pooling(struct sam_config *out, const struct sam_json *r)
{
    static const char *const words[] = { "none", "counted", "shifted" };
    const json_t *v = sam_json_get(r, "memory_pooling");
    const char *text = json_string_value(v);

    bool known = !v;
    for (int i = 0; text && i < 3; i++)
        if (!strcmp(text, words[i]))
            out->pooling = (enum sam_pooling) i, known = true;
    if (!known)
        return sam_json_wrong(r, "memory_pooling", "none, counted or shifted", v);
    const char *from = "memory_pooling_from";
    int status = sam_json_flag(r, "memory_pooling_between", &out->pooling_between);
    if (status || !(v = sam_json_get(r, from)))
        return status;
    status = sam_json_required(r, from, &out->pooling_from);
    return status || out->pooling_from > 0 ? status : sam_json_wrong(r, from, "a side in px", v);
}

static int read_sides(struct sam_config *out, const struct sam_json *r)
{
    const char *key = "image_size_bf16";
    int status = sam_json_required(r, "image_size", &out->image_size);
    if (status || !sam_json_get(r, key))
        return status;
    status = sam_json_required(r, key, &out->image_size_bf16);
    return status || out->image_size_bf16
               ? status : sam_json_wrong(r, key, "a side in px", sam_json_get(r, key));
}

static int read_curve(const struct sam_json *r, const char *key, float curve[SAM_CURVE])
{
    static const char wanted[] = "a list of 11 numbers from 0 to 1, none less than the one before "
                                 "it, the last above 0";
    const json_t *list = sam_json_get(r, key);
    bool fits = json_array_size(list) == SAM_CURVE; // 0 if it is no list
    double before = 0;

    if (!list)
        return SAM_OK;
    for (int i = 0; i < SAM_CURVE && fits; i++) {
        const json_t *v = json_array_get(list, (size_t) i);
        const double value = json_number_value(v);
        fits = json_is_number(v) && value >= before && value <= 1;
        before = value;
        curve[i] = (float) value;
    }
    return fits && curve[SAM_CURVE - 1] > 0 ? SAM_OK : sam_json_wrong(r, key, wanted, list);
}

static int read_told_iou(struct sam_config *out, const struct sam_json *r)
{
    struct sam_json told;
    int status = sam_json_enter(&told, r, "told_iou", "told_iou.");

    if (status || (status = read_curve(&told, "clicks", out->click_iou)) ||
        (status = read_curve(&told, "boxes", out->box_iou)))
        return status;
    return read_curve(&told, "tracked", out->tracked_iou);
}

static int read_own(struct sam_config *out, const struct sam_json *r)
{
    struct sam_json trunk;
    int status = sam_json_enter(&trunk, r, "trunk", "trunk.");
    if (status)
        return status;
    const char *wanted = out->family->trunk;
    const char *kind = json_string_value(sam_json_get(&trunk, "kind"));
    if (kind && strcmp(kind, wanted) != 0)
        return sam_fail(r->error, SAM_EUNSUPPORTED, "%s: key 'trunk.kind': expected %s, got %.*s",
                        r->file, wanted, sam_text_cut(kind, strlen(kind), 40), kind);
    if ((status = read_sides(out, r)) ||
        (status = out->family->read_own(out, &trunk)) ||
        (status = sam_json_agree(r, "d_model", out->d_model)) ||
        (status = sam_json_agree(r, "mem_dim", out->mem_dim)) ||
        (status = sam_json_agree(r, "num_maskmem", out->num_maskmem)) ||
        (status = read_pooling(out, r)) ||
        (status = read_memory_selection(out, r)) ||
        (status = read_motion(out, r)) ||
        (status = read_distractors(out, r)) ||
        (status = sam_json_flag(r, "exact_maps", &out->exact_maps)) ||
        (status = read_target_model(out, r)) ||
        (status = read_optional(r, "odds_exponent", 0.01, 4, &out->odds_exponent)) ||
        (status = read_optional(r, "piece_reach", 0.01, 8, &out->piece_reach)) ||
        (status = read_random_walk(out, r)) ||
        (status = read_told_iou(out, r)) ||
        (status = read_zoom(r, "box_zoom", &out->box_zoom)))
        return status;
    return read_zoom(r, "click_zoom", &out->click_zoom);
}

// --- Hugging Face's form ------------------------------------------------------------------------

static const struct sam_json_fixed fixed[] = {
    { SAM_JSON_VISION, "fpn_kernel_size", "1" },
    { SAM_JSON_VISION, "fpn_stride", "1" },
    { SAM_JSON_VISION, "fpn_padding", "0" },
    { SAM_JSON_VISION, "fpn_top_down_levels", "[2, 3]" },
    { SAM_JSON_VISION, "num_feature_levels", "3" },
    { SAM_JSON_PROMPT, "num_point_embeddings", "4" },
    { SAM_JSON_PROMPT, "hidden_act", "\"gelu\"" },
    { SAM_JSON_DECODER, "num_attention_heads", "8" },
    { SAM_JSON_DECODER, "num_hidden_layers", "2" },
    { SAM_JSON_DECODER, "num_multimask_outputs", "3" },
    { SAM_JSON_DECODER, "attention_downsample_rate", "2" },
    { SAM_JSON_DECODER, "iou_head_depth", "3" },
    { SAM_JSON_DECODER, "dynamic_multimask_via_stability", "true" },
    { SAM_JSON_DECODER, "dynamic_multimask_stability_delta", "0.05" },
    { SAM_JSON_DECODER, "dynamic_multimask_stability_thresh", "0.98" },
    { SAM_JSON_ROPE, "rope_theta", "10000" },
    { SAM_JSON_ROOT, "memory_attention_rope_theta", "10000" },
    { SAM_JSON_ROOT, "memory_attention_num_attention_heads", "1" },
    { SAM_JSON_ROOT, "memory_attention_downsample_rate", "1" },
    { SAM_JSON_ROOT, "memory_attention_feed_forward_hidden_act", "\"relu\"" },
    { SAM_JSON_ROOT, "max_object_pointers_in_encoder", "16" },
    { SAM_JSON_ROOT, "mask_downsampler_kernel_size", "3" },
    { SAM_JSON_ROOT, "mask_downsampler_stride", "2" },
    { SAM_JSON_ROOT, "mask_downsampler_padding", "1" },
    { SAM_JSON_ROOT, "mask_downsampler_total_stride", "16" },
    { SAM_JSON_ROOT, "mask_downsampler_hidden_act", "\"gelu\"" },
    { SAM_JSON_ROOT, "memory_fuser_kernel_size", "7" },
    { SAM_JSON_ROOT, "memory_fuser_padding", "3" },
    { SAM_JSON_ROOT, "memory_fuser_hidden_act", "\"gelu\"" },
    { SAM_JSON_ROOT, "sigmoid_scale_for_mem_enc", "20" },
    { SAM_JSON_ROOT, "sigmoid_bias_for_mem_enc", "-10" },
    { SAM_JSON_ROOT, "multimask_output_in_sam", "true" },
    { SAM_JSON_ROOT, "multimask_output_for_tracking", "true" },
    { SAM_JSON_ROOT, "multimask_min_pt_num", "0" },
    { SAM_JSON_ROOT, "multimask_max_pt_num", "1" },
};

// The input's side stands in up to three places, which must agree.
static int read_image_size(struct sam_config *out, const struct sam_json *r,
                           const struct sam_json *backbone, const struct sam_json *prompt)
{
    const struct sam_json *places[] = { r, backbone, prompt };
    out->image_size = 0;
    for (int i = 0; i < 3; i++) {
        int side = out->image_size;
        const int status = sam_json_square(places[i], "image_size", &side);
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
        out->image_size = out->family->image_size ? out->family->image_size : 1024;
    return SAM_OK;
}

static int enter_places(struct sam_json in[SAM_JSON_PLACES], const struct sam_json *r)
{
    int status;
    in[SAM_JSON_ROOT] = *r;
    if ((status = sam_json_enter(&in[SAM_JSON_VISION], r, "vision_config", "vision_config.")) ||
        (status = sam_json_enter(&in[SAM_JSON_BACKBONE], &in[SAM_JSON_VISION], "backbone_config",
                        "vision_config.backbone_config.")) ||
        (status = sam_json_enter(&in[SAM_JSON_PROMPT], r, "prompt_encoder_config",
         "prompt_encoder_config.")) ||
        (status = sam_json_enter(&in[SAM_JSON_DECODER], r, "mask_decoder_config",
         "mask_decoder_config.")))
        return status;
    return sam_json_enter(&in[SAM_JSON_ROPE], r, "rope_parameters", "rope_parameters.");
}

static int read_transformers(struct sam_config *out, const struct sam_json *r)
{
    struct sam_json in[SAM_JSON_PLACES], whole;
    int status;
    if (sam_json_get(r, "tracker_config")) { // of a file that has a detector, too
        if ((status = sam_json_enter(&whole, r, "tracker_config", "tracker_config.")))
            return status;
        r = &whole;
    }
    if ((status = enter_places(in, r)) ||
        (status = read_image_size(out, r, &in[SAM_JSON_BACKBONE], &in[SAM_JSON_PROMPT])) ||
        (status = out->family->read_transformers(out, in)) ||
        (status = sam_json_agree(&in[SAM_JSON_VISION], "fpn_hidden_size", out->d_model)) ||
        (status = sam_json_agree(&in[SAM_JSON_PROMPT], "hidden_size", out->d_model)) ||
        (status = sam_json_agree(&in[SAM_JSON_PROMPT], "patch_size", out->patch)) ||
        (status = sam_json_agree(&in[SAM_JSON_DECODER], "hidden_size", out->d_model)) ||
        (status = sam_json_agree(r, "memory_attention_hidden_size", out->d_model)) ||
        (status = sam_json_agree(r, "memory_attention_num_layers", out->memory_layers)) ||
        (status = sam_json_agree(r, "memory_encoder_output_channels", out->mem_dim)) ||
        (status = sam_json_agree(r, "num_maskmem", out->num_maskmem)) ||
        (status = sam_json_agree_flag(r, "enable_occlusion_spatial_embedding",
                                      out->no_obj_embed_spatial)) ||
        (status = sam_json_agree_flag(r, "enable_temporal_pos_encoding_for_object_pointers",
                                      out->pointer_time)))
        return status;
    return sam_json_check_fixed(in, fixed, sizeof(fixed) / sizeof(fixed[0]));
}

int sam_config_read_json(struct sam_config *out, const char *file, const char *text, size_t bytes,
                         struct sam_error *error)
{
    json_error_t at;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root)
        return sam_fail(error, SAM_EFORMAT, "%s: is not valid JSON: %s (line %d)", file, at.text,
                        at.line);
    const struct sam_json r = { file, error, root, "" };
    int status;
    if (!json_is_object(root))
        status = sam_fail(error, SAM_EFORMAT, "%s: expected a JSON object, got another value",
                          file);
    else if (sam_json_get(&r, "trunk"))
        status = read_own(out, &r);
    else if (sam_json_get(&r, "vision_config") || sam_json_get(&r, "model_type"))
        status = read_transformers(out, &r);
    else
        status = sam_json_wrong(&r, "trunk",
                                "an object (or Hugging Face's 'vision_config' or 'model_type')",
                                NULL);
    json_decref(root);
    return status;
}

// SPDX-License-Identifier: MIT
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config_json.h"
#include "detector.h"
#include "family.h"
#include "weights/weight_list.h"

// --- the family ---------------------------------------------------------------------------------

// A mark as a list of many tells it, without what most begin with.
static const char *shortened(const char *mark)
{
    const char *first = "image_encoder.";

    return strncmp(mark, first, strlen(first)) ? mark : mark + strlen(first);
}

// A tracker's. SAM 3's file has a detector's tensors, too.
static bool has_memory(const struct sam_weights *w)
{
    return sam_weights_find(w, "maskmem_tpos_enc") ||
           sam_weights_find(w, "memory_encoder.out_proj.weight");
}

// The family whose mark the file has. SAM_EFORMAT where it has none, or several.
static int find_family(const struct sam_family **out, const struct sam_weights *w,
                       struct sam_error *error)
{
    const char *file = sam_weights_file(w);
    char lacking[280] = "";
    size_t used = 0;
    *out = NULL;
    if (sam_detector_find(w) && !has_memory(w))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: is %s, a detector, which finds objects but cannot track them; "
                        "expected a tracker's model", file, sam_detector_find(w)->title);
    for (int i = 0; i < sam_num_families; i++) {
        const struct sam_family *f = sam_families[i];
        if (!sam_weights_find(w, f->mark)) {
            if (used < sizeof(lacking))
                used += snprintf(lacking + used, sizeof(lacking) - used, "%s%s %s'%s'",
                                 used ? ", " : "", f->title, used ? "" : "lacks ",
                                 shortened(f->mark));
            continue;
        }
        if (*out)
            return sam_fail(error, SAM_EFORMAT,
                            "%s: has tensors of two families, %s ('%s') and %s ('%s')", file,
                            (*out)->title, (*out)->mark, f->title, f->mark);
        *out = f;
    }
    if (!*out)
        return sam_fail(error, SAM_EFORMAT, "%s: is of no supported family: %s", file, lacking);
    if (!has_memory(w))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: is %s for images alone: it has no memory encoder, so it cannot track",
                        file, (*out)->title);
    return SAM_OK;
}

// --- shapes -------------------------------------------------------------------------------------

// What all families have; stage_width is known.
static int read_shapes(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    const int coarsest = c->stage_width[SAM_STAGES - 1];
    const char *lone_map = c->family->lone_map, *own_neck = c->family->own_neck;
    int status;
    const char *main_map = lone_map ? lone_map
                         : own_neck ? own_neck : "image_encoder.neck.convs.0.conv.weight";
    if ((status = sam_config_size(w, &(struct sam_size_from){
             main_map, 0, 4, { 0, coarsest, 1, 1 } }, &c->d_model, error)) ||
        (status = sam_config_size(w, &(struct sam_size_from){
             "maskmem_tpos_enc", 3, 4, { 0, 1, 1, 0 } }, &c->mem_dim, error)))
        return status;
    const int d = c->d_model, m = c->mem_dim;
    const struct sam_size_from laterals[] = {
        { "sam_mask_decoder.conv_s0.weight", 0, 4, { d / 8, d, 1, 1 } },
        { "sam_mask_decoder.conv_s1.weight", 0, 4, { d / 4, d, 1, 1 } } };
    const struct sam_size_from upscaled[] = {
        { "sam_mask_decoder.output_upscaling.3.bias", 0, 1, { d / 8 } },
        { "sam_mask_decoder.output_upscaling.0.bias", 0, 1, { d / 4 } } };
    const struct {
        struct sam_size_from from;
        int *out;
    } sizes[] = {
        { { "maskmem_tpos_enc", 0, 4, { 0, 1, 1, m } }, &c->num_maskmem },
        { { "memory_attention.layers.0.linear1.weight", 0, 2, { 0, d } }, &c->memory_hidden },
        { { "sam_mask_decoder.transformer.layers.0.mlp.layers.0.weight", 0, 2, { 0, d } },
          &c->decoder_hidden },
        { lone_map ? upscaled[0] : laterals[0], &c->high_res_s0 },
        { lone_map ? upscaled[1] : laterals[1], &c->high_res_s1 },
        { { "memory_encoder.fuser.layers.0.pwconv1.weight", 0, 2, { 0, d } }, &c->fuser_hidden },
        { { "sam_prompt_encoder.mask_downscaling.3.weight", 0, 4, { 0, 0, 2, 2 } },
          &c->mask_in_chans },
        { { "sam_mask_decoder.iou_prediction_head.layers.0.weight", 0, 2, { 0, d } },
          &c->iou_hidden },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if ((status = sam_config_size(w, &sizes[i].from, sizes[i].out, error)))
            return status;
    c->memory_layers =
        sam_config_layers(w, "memory_attention.layers.", ".norm1.weight", SAM_MAX_MEMORY_LAYERS);
    c->fuser_layers = sam_config_layers(w, "memory_encoder.fuser.layers.", ".gamma", 8);
    c->no_obj_embed_spatial = sam_weights_find(w, "no_obj_embed_spatial") != NULL;
    c->pointer_time = sam_weights_find(w, "obj_ptr_tpos_proj.weight") != NULL;
    return SAM_OK;
}

// --- ranges -------------------------------------------------------------------------------------

static int check_size(const struct sam_config *c, const char *what, int side, const char *file,
                      struct sam_error *error)
{
    const struct sam_sides sides = c->family->sides(c);
    const struct sam_size_range range = { what, side, sides.least, sides.most, sides.multiple };
    return sam_config_ranges(&range, 1, file, error);
}

static int check_ranges(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_size_range ranges[] = {
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
    };
    const int status =
        sam_config_ranges(ranges, sizeof(ranges) / sizeof(ranges[0]), file, error);
    if (!status && c->family->lone_map && (c->target_channels || c->box_zoom || c->click_zoom))
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: key '%s': %s has no finer maps, which that needs", file,
                        c->target_channels ? "target_model"
                        : c->box_zoom      ? "box_zoom" : "click_zoom", c->family->title);
    if (!status && c->patch != 16 && (c->box_zoom || c->click_zoom || c->walk_fidelity))
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: key '%s': %s has tokens of %d px, expected 16, which that needs", file,
                        c->box_zoom     ? "box_zoom"
                        : c->click_zoom ? "click_zoom" : "random_walk", c->family->title, c->patch);
    if (!status && c->pooling && c->family->compressor)
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: key 'memory_pooling': %s stores no maps, which that needs", file,
                        c->family->title);
    if (!status && c->d_model % c->mem_dim)
        return sam_fail(error, SAM_EFORMAT, "%s: the memory's width must divide d_model %d, got %d",
                        file, c->d_model, c->mem_dim);
    return status;
}

// The side that the caller wants, on any model.
static int override_size(struct sam_config *c, int input_size, struct sam_error *error)
{
    const struct sam_sides sides = c->family->sides(c);
    if (input_size < sides.least || input_size > sides.most || input_size % sides.multiple)
        return sam_fail(error, SAM_EINVAL,
                        "input-size = %d: %s can run multiples of %d from %d to %d px", input_size,
                        c->family->title, sides.multiple, sides.least, sides.most);
    c->image_size = input_size;
    return SAM_OK;
}

float sam_config_told_iou(const float curve[SAM_CURVE], float iou)
{
    if (curve[SAM_CURVE - 1] == 0 || !(iou >= 0 && iou < 1))
        return iou;
    const float at = iou * (SAM_CURVE - 1);
    const int i = at < SAM_CURVE - 2 ? (int) at : SAM_CURVE - 2;
    return curve[i] + (at - i) * (curve[i + 1] - curve[i]);
}

static int read_rest(struct sam_config *out, const struct sam_weights *w, const char **file,
                     struct sam_error *error)
{
    size_t bytes;
    const char *text = sam_weights_config(w, &bytes);
    *file = sam_weights_file(w);
    if (text) {
        *file = sam_weights_config_file(w);
        return sam_config_read_json(out, *file, text, bytes, error);
    }
    return out->family->use_published(out, *file, error);
}

int sam_config_read(struct sam_config *out, const struct sam_weights *w, int input_size,
                    bool bf16_is_faster, struct sam_error *error)
{
    const char *file;
    int status;
    memset(out, 0, sizeof(*out));
    if ((status = find_family(&out->family, w, error)))
        return status;
    out->patch = out->family->patch ? out->family->patch : 16;
    out->selection = out->family->selection;
    if ((status = out->family->read_shapes(out, w, error)) ||
        (status = read_shapes(out, w, error)))
        return status;
    // Sums of 256 and more terms average BF16's rounding out; narrow models would drift.
    out->exact_maps = out->d_model < 256;
    if ((status = read_rest(out, w, &file, error)))
        return status;
    out->input_scale = out->family->input_scale;
    out->family->name_variant(out);
    if ((status = check_size(out, "image_size (px)", out->image_size, file, error)) ||
        (out->image_size_bf16 &&
         (status = check_size(out, "image_size_bf16 (px)", out->image_size_bf16, file, error))))
        return status;
    if (bf16_is_faster && out->image_size_bf16)
        out->image_size = out->image_size_bf16;
    if (input_size && (status = override_size(out, input_size, error)))
        return status;
    if (out->image_size < out->pooling_from)
        out->pooling = SAM_POOLING_NONE; // its maps are too small
    if ((status = check_ranges(out, file, error)) ||
        (status = out->family->check(out, file, error)))
        return status;
    const int h = sam_grid(out);
    const struct sam_compressor *compressor = out->family->compressor;
    out->memory = (struct sam_memory_shape) {
        .map_tokens = compressor ? compressor->tokens(out) : h * h,
        .pointer_tokens = out->d_model / out->mem_dim,
        .width = out->mem_dim,
    };
    return SAM_OK;
}

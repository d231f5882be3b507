// SPDX-License-Identifier: MIT
// Every size of a model. Sizes are read from tensor names and shapes, and from JSON if shapes do
// not determine them (input size, heads, windows, global blocks). docs/MODEL.md lists the constants
// of the published builders that no file states.
#ifndef SAM_CONFIG_H
#define SAM_CONFIG_H

#include <stdbool.h>
#include <string.h>

#include "ops/ops.h"
#include "weights/weights.h"

enum {
    SAM_STAGES = 4,               // of every trunk: maps at stride 4, 8, 16 and 32
    SAM_MAX_MEMORY_LAYERS = 8,
    SAM_MAX_FUSER_LAYERS = 8,
    SAM_MAX_MASKMEM = 16,         // spatial maps attended, published: 7
    SAM_MAX_POINTERS = 16,        // object pointers attended, published: 16
    SAM_MAX_TARGET = 256,         // channels of a target model
    SAM_MASK_TOKENS = 4,
    SAM_DECODER_HEADS = 8,
    SAM_DECODER_LAYERS = 2,
    SAM_TRUNK_BYTES = 256,        // room for a family's own sizes
    SAM_CURVE = 11,               // numbers of a curve over 0 .. 1
};

// Keys and values of memory attention, from the second map on: means of 2 x 2 neighbours, of keys
// turned already. COUNTED: each counts as the four that it stands for. SHIFTED: every channel of a
// key is greater by 2 ln 2, which the publisher meant for the same.
enum sam_pooling { SAM_POOLING_NONE, SAM_POOLING_COUNTED, SAM_POOLING_SHIFTED };

// Which frames an object remembers, beside those with a prompt. PRESENT: those that it is present
// in. SCORED: as SAM 3's tracker, those whose presence times predicted IoU exceeds 0.01, and the
// last one whatever it is.
enum sam_selection { SAM_SELECT_ALL, SAM_SELECT_PRESENT, SAM_SELECT_SCORED };

// Choice among the decoder's masks by motion; weight 0: there is none.
struct sam_motion_rule {
    float weight;      // of the IoU with the expected box; the rest is the predicted IoU's
    int stable_frames; // in a row, before the filter is believed
    float stable_iou;  // predicted: with less the filter begins anew
    float least;       // IoU with the expected box, up to which a frame is not remembered
};

// Frames with a distractor are remembered as if they had a prompt; stride 0: they are not.
struct sam_distractor_rule {
    float iou;     // predicted, above which the mask is trusted
    float area;    // most that it may differ from the median, as a share
    float overlap; // of boxes, up to which another mask is of something else
    int every;     // frames, at least, from one that is kept to the next
    int stride;    // of the other frames that are remembered
};

struct sam_family;
struct sam_detector_family;

// What an object remembers, as the tracker sees it.
struct sam_memory_shape {
    int map_tokens;     // rows of one stored map
    int pointer_tokens; // rows of one object pointer
    int width;          // numbers in a row
};

struct sam_config {
    const struct sam_family *family;            // NULL: it is a detector's, which has
    const struct sam_detector_family *detector; // variant, image_size and trunk alone; SAM 3's
                                                // patch and d_model, too
    char variant[48]; // "sam2.1_hiera_tiny", ... or "custom"
    int image_size;   // S: side of the square input, px; a multiple of `patch`
    int image_size_bf16; // the file's S for devices that are faster in BF16, px; 0: it has one S
    int patch;        // px of a token of F: 16; of SAM 3 14; of others' detectors 0
    enum sam_input_scale input_scale;

    int stage_width[SAM_STAGES]; // channels of the trunk's maps
    _Alignas(8) unsigned char trunk[SAM_TRUNK_BYTES]; // the family's own sizes

    int d_model; // width of neck, decoder and memory attention (256)
    int mem_dim; // width of the memory map (64); divides d_model

    int num_maskmem;    // 7
    int memory_layers;  // 4
    int memory_hidden;  // feed-forward width of memory attention (2048)
    int decoder_hidden; // feed-forward width of the two-way transformer (2048)
    int high_res_s0, high_res_s1; // channels of the stride-4 and stride-8 maps (32, 64), of the
                                  // decoder's own where the family has no others
    int fuser_layers;   // 2
    int fuser_hidden;   // 1024
    int mask_in_chans;  // of the prompt encoder's mask path (16)
    int iou_hidden;     // 256

    enum sam_pooling pooling;
    int pooling_from;     // side of the input, px, below which there is none
    bool pooling_between; // not of the first map, a prompted frame's, nor of the youngest

    bool no_obj_embed_spatial; // SAM 2.1: absent objects mark their memory
    bool pointer_time;         // SAM 2.1: pointers carry a projected temporal code
    enum sam_selection selection;
    float memory_iou; // with `present`: nor frames whose mask's predicted IoU is less; 0: any
    struct sam_motion_rule motion;
    struct sam_distractor_rule distractors;
    bool exact_maps; // maps are multiplied in F32 whatever the precision (fp32, bf16)
    float box_zoom; // a box is answered in a window this many times its size; 0: in the frame
    float click_zoom; // clicks are answered again in ones this many times the size of their answers
    int target_channels; // of the target model's features; 0: there is none
    float target_weight; // of its scores among the logits
    float recall_weight; // of what the nearest neighbours of cells tell; 0: they are not asked
    float recall_likeness; // cosine from which on a neighbour is believed
    bool recall_pieces; // pieces of a tracked mask that neighbours tell to be ground are dropped
    float odds_exponent; // of the predicted IoU, above which a pixel's odds are; 0: above 1
    float piece_reach; // of the last mask's size that a piece of a mask may be away; 0: any
    float walk_fidelity; // of random walks to the decoder's mask; 0: there are none
    // What is told of a predicted IoU of 0, 0.1 .. 1, of answers to a single click, of those to a
    // box alone, and of tracked masks; all 0: the IoU itself. See sam_config_told_iou().
    float click_iou[SAM_CURVE], box_iou[SAM_CURVE], tracked_iou[SAM_CURVE];

    struct sam_memory_shape memory;
};

// Side of F, tokens.
static inline int sam_grid(const struct sam_config *c)
{
    return c->image_size / c->patch;
}

// Side of a mask's logits, and of a mask as the memory encoder takes it, which is that of a mask
// prompt. With a patch of 16 px: S / 4 and S.
static inline int sam_logits_side(const struct sam_config *c)
{
    return 4 * sam_grid(c);
}

static inline int sam_mask_side(const struct sam_config *c)
{
    return 16 * sam_grid(c);
}

// Read it, whole: sam_config_same() compares every byte.
// input_size: the side that replaces the file's, px; 0: the file's own.
// bf16_is_faster: on the device; of two sides of a file it decides.
int sam_config_read(struct sam_config *out, const struct sam_weights *w, int input_size,
                    bool bf16_is_faster, struct sam_error *error);

// ---- For families: what they read their own sizes with.

// A size that stands in the shape of a tensor: extent `axis`. The others must be as given, 0
// standing for any.
struct sam_size_from {
    const char *name;
    int axis, rank, shape[4];
};
int sam_config_size(const struct sam_weights *w, const struct sam_size_from *from, int *out,
                    struct sam_error *error);

// The IoU that callers are told where the model predicts `iou`, by one of the curves: how good
// masks of that prediction are in the mean. 1, which a mask prompt has, what lies outside, and NaN
// are told as they are. The engine's own decisions are by the prediction.
float sam_config_told_iou(const float curve[SAM_CURVE], float iou);

// How many of prefix0suffix, prefix1suffix, ... there are, at most limit + 1.
int sam_config_layers(const struct sam_weights *w, const char *prefix, const char *suffix,
                      int limit);

// The same in *out. A layer that has `other` and lacks the suffix `mark` would shorten the model
// unseen: it is an error (SAM_EFORMAT).
int sam_config_count(const struct sam_weights *w, const char *prefix, const char *mark,
                     const char *other, int limit, int *out, struct sam_error *error);

// A size that must be least to most, and a multiple.
struct sam_size_range {
    const char *what;
    int value, least, most, multiple;
};
int sam_config_ranges(const struct sam_size_range *list, int count, const char *file,
                      struct sam_error *error);

// Fails: no published model has these shapes.
int sam_config_unpublished(const struct sam_config *c, const char *file, struct sam_error *error);

static inline bool sam_config_same(const struct sam_config *a, const struct sam_config *b)
{
    return !memcmp(a, b, sizeof(*a));
}

#endif // SAM_CONFIG_H

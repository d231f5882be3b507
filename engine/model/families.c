// SPDX-License-Identifier: MIT
// The list of families: a new one is a folder and a line in each list here.
#include "family.h"

extern const struct sam_family sam_family_sam2, sam_family_edgetam,
    sam_family_efficientnet, sam_family_efficienttam, sam_family_sam3;
extern const struct sam_name_map sam_hiera_names, sam_edgetam_names, sam_yolov10_names,
    sam_sam3_names;

const struct sam_family *const sam_families[] = { &sam_family_sam2, &sam_family_edgetam,
                                                &sam_family_efficientnet,
                                                &sam_family_efficienttam,
                                                &sam_family_sam3 };
const int sam_num_families = sizeof(sam_families) / sizeof(sam_families[0]);

// The first convolution, whose inputs are pixels; the pyramid, on which all later parts depend; the
// mask's way into the memory, whose numbers are mostly two; its way out.
#define NO_INT8_OF_ALL "image_encoder.neck.", "sam_mask_decoder.conv_s", ".mask_downsampler.", \
                       ".output_upscaling."
static const char *const no_int8_sam2[] = { NO_INT8_OF_ALL, ".patch_embed.", NULL };
static const char *const no_int8_edgetam[] = { NO_INT8_OF_ALL, ".stem.", NULL };
static const char *const no_int8_efficientnet[] = { NO_INT8_OF_ALL, ".conv_stem.", NULL };

const char *const *sam_family_no_int8(const struct sam_family *f)
{
    return f == &sam_family_sam2           ? no_int8_sam2
         : f == &sam_family_edgetam        ? no_int8_edgetam
         : f == &sam_family_efficientnet   ? no_int8_efficientnet
                                           : NULL;
}

static const struct sam_name_map *const maps[] = { &sam_shared_names, &sam_hiera_names,
                                                   &sam_edgetam_names, &sam_yolov10_names,
                                                   &sam_sam3_names, NULL };
// Before the tracker's and the detector's tensors, in a file that has both.
static const char *const prefixes[] = { "tracker_model.", "tracker.", "detector_model.", NULL };
static const char *const model_types[] = { "sam2", "edgetam", "rf_detr", "mask2former",
                                          "grounding-dino", "mm-grounding-dino", "sam3", NULL };
const struct sam_names sam_family_names = { maps, model_types, prefixes };

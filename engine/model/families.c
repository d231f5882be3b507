// SPDX-License-Identifier: MIT
// The list of families: a new one is a folder and a line in each list here.
#include "family.h"

extern const struct sam_family sam_family_sam2, sam_family_edgetam,
    sam_family_efficientnet;
extern const struct sam_name_map sam_hiera_names, sam_edgetam_names, sam_yolov10_names;

const struct sam_family *const sam_families[] = { &sam_family_sam2, &sam_family_edgetam,
                                                &sam_family_efficientnet };
const int sam_num_families = sizeof(sam_families) / sizeof(sam_families[0]);

static const struct sam_name_map *const maps[] = { &sam_shared_names, &sam_hiera_names,
                                                   &sam_edgetam_names, &sam_yolov10_names,
                                                   NULL };
static const char *const model_types[] = { "sam2", "edgetam", "rf_detr", "mask2former", NULL };
const struct sam_names sam_family_names = { maps, model_types };

const struct sam_relative sam_relatives[] = {
    { "EfficientTAM", "image_encoder.trunk.pos_embed", 3 },
};
const int sam_num_relatives = sizeof(sam_relatives) / sizeof(sam_relatives[0]);

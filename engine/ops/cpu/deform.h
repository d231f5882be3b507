// SPDX-License-Identifier: MIT
// Deformable attention: private to ops/cpu.
#ifndef SAM_DEFORM_H
#define SAM_DEFORM_H

#include "ops/ops.h"

// Of each place that a head looks at, by level and point: its map.
struct sam_deform_maps {
    float width[SAM_MAX_SAMPLES], height[SAM_MAX_SAMPLES];
    int32_t columns[SAM_MAX_SAMPLES], rows[SAM_MAX_SAMPLES];
    int32_t first[SAM_MAX_SAMPLES]; // row of the values that the map begins with
};

// All heads of one query, counted through all n. Beyond the places all maps are of 1 x 1.
typedef void sam_deform_query(const struct sam_deform_attention *p,
                              const struct sam_deform_maps *maps, size_t query);

// deform_query.c
sam_deform_query sam_deform_query_generic, sam_deform_query_avx2, sam_deform_query_avx512,
    sam_deform_query_neon;

#endif // SAM_DEFORM_H

// SPDX-License-Identifier: MIT
// EdgeTAM's own sizes in struct sam_config: those of its trunk and of its perceiver.
#ifndef SAM_EDGETAM_SIZES_H
#define SAM_EDGETAM_SIZES_H

#include "model/family.h"

struct sam_edgetam_sizes {
    // RepViT
    int stem;                // channels after the stem's first convolution (24)
    int depth[SAM_STAGES];   // blocks per stage (2, 2, 14, 2)
    int squeeze[SAM_STAGES]; // reduced width of squeeze-excite (16, 24, 48, 96)
    // Perceiver
    int latents; // that look at all of a map (256)
    int grid;    // side of the grid of those that look at a window each (16)
    int layers;  // 2
    int hidden;  // feed-forward width (256)
};
_Static_assert(sizeof(struct sam_edgetam_sizes) <= SAM_TRUNK_BYTES, "room for its sizes");

static inline const struct sam_edgetam_sizes *sam_edgetam_sizes(const struct sam_config *c)
{
    return (const struct sam_edgetam_sizes *) c->trunk;
}

static inline struct sam_edgetam_sizes *sam_edgetam_config(struct sam_config *c)
{
    return (struct sam_edgetam_sizes *) c->trunk;
}

#endif // SAM_EDGETAM_SIZES_H

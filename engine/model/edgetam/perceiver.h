// The 2-D spatial perceiver: a memory map becomes 256 latents that look at all of it and 16 x 16 that
// look at a window each.
#ifndef SAM_PERCEIVER_H
#define SAM_PERCEIVER_H

#include "model/family.h"

enum {
    SAM_PERCEIVER_LAYERS = 2,
    SAM_PERCEIVER_GLOBAL = 256, // latents without a place
    SAM_PERCEIVER_SIDE = 16,    // side of the grid of those with one
};

extern const struct sam_compressor sam_perceiver;

#endif // SAM_PERCEIVER_H

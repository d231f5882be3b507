// SPDX-License-Identifier: MIT
// Convolutions of wide maps whose windows are read where they overlap: private to ops/cpu.
#ifndef SAM_PATCHES_H
#define SAM_PATCHES_H

#include "ops/cpu/cpu.h"

// Returns false, and does nothing, where windows are better copied one by one.
bool sam_conv_patches(struct sam_queue *q, const struct sam_conv *p);

#endif // SAM_PATCHES_H

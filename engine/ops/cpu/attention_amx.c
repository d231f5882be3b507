// SPDX-License-Identifier: MIT
// The kernel of attention in bf16 whose products are made by the tiles of AMX (attention_tiles.h).
#include "ops/cpu/attention_pairs.h"

#ifndef SAM_ATTENTION_TILES // tests have one with faults
#define SAM_ATTENTION_TILES "ops/cpu/attention_tiles.h"
#endif
#include "ops/cpu/attention_kernel.h"

const struct sam_attention_kernel sam_attention_amx = SAM_ATTENTION_KERNEL;

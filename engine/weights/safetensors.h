// SPDX-License-Identifier: MIT
// Reader of safetensors files: 8 bytes with the header's length, a JSON header with names, types,
// shapes and offsets, then the data.
#ifndef SAM_SAFETENSORS_H
#define SAM_SAFETENSORS_H

#include "weight_list.h"

// List the tensors of list->source, and the metadata key `samtrack`.
int sam_safetensors_list(struct sam_weight_list *list, struct sam_error *error);

#endif // SAM_SAFETENSORS_H

// The safetensors container: 8 bytes of length, a JSON object of names, types, shapes and
// offsets, then the numbers.
#ifndef SAM_SAFETENSORS_H
#define SAM_SAFETENSORS_H

#include "weight_list.h"

// List the tensors of list->source, and the metadata key `samtrack`.
int sam_safetensors_list(struct sam_weight_list *list, struct sam_error *error);

#endif // SAM_SAFETENSORS_H

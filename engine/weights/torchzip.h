// The container of torch.save() since PyTorch 1.6: a zip of stored members, one of them a pickle
// that says which member holds which tensor.
#ifndef SAM_TORCHZIP_H
#define SAM_TORCHZIP_H

#include "weight_list.h"

// List the tensors of list->source: those of the pickled dict, or of the dict under its key
// `model`. Nothing is executed: a closed set of opcodes and globals is understood, any other is
// refused by its name.
int sam_torchzip_list(struct sam_weight_list *list, struct sam_error *error);

#endif // SAM_TORCHZIP_H

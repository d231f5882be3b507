// SPDX-License-Identifier: MIT
// Reader of torch.save() files since PyTorch 1.6: a zip file of uncompressed members, one of them a
// pickle that maps tensors to the other members.
#ifndef SAM_TORCHZIP_H
#define SAM_TORCHZIP_H

#include "weight_list.h"

// List the tensors of list->source: those of the pickled dict, or of the dict under its key
// `model`. See pickle.h for what is rejected.
int sam_torchzip_list(struct sam_weight_list *list, struct sam_error *error);

#endif // SAM_TORCHZIP_H

// SPDX-License-Identifier: MIT
// Reader of the pickle in a torch.save() file. It executes nothing. It supports containers,
// numbers, strings and tensors, and rejects all other opcodes and all globals outside of a short
// list; the error names them.
#ifndef SAM_PICKLE_H
#define SAM_PICKLE_H

#include "base/tensor.h"
#include "weight_list.h"

// One tensor as described by the pickle. The strings point into the pickle and have no NUL. Only
// the lengths and types of the lists are checked.
struct sam_pickle_tensor {
    const char *name;
    size_t name_bytes;
    const char *word; // "torch.FloatStorage"
    enum sam_type type;
    int element_bytes;
    const char *key; // of the storage: name of a zip member
    size_t key_bytes;
    int64_t storage_count, offset; // elements
    int rank;
    int64_t shape[SAM_MAX_RANK], stride[SAM_MAX_RANK];
};

// Call `found` for every tensor of the dict under the key `model`, or of the top-level dict if that
// holds tensors. Stops at the first failure, also of `found`. Memory and time are linear in
// `size`.
int sam_pickle_list(const char *file, const uint8_t *bytes, size_t size,
                    int (*found)(void *priv, const struct sam_pickle_tensor *t), void *priv,
                    struct sam_error *error);

#endif // SAM_PICKLE_H

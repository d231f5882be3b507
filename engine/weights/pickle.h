// The pickle inside a torch.save() file, read without Python and without executing anything:
// containers, numbers, texts and tensors are understood; any other opcode, and any global that
// is not one of a short list, is refused by its name.
#ifndef SAM_PICKLE_H
#define SAM_PICKLE_H

#include "base/tensor.h"
#include "weight_list.h"

// One tensor as the pickle describes it; its texts lie in the pickle and have no NUL. Nothing
// of it is checked but that the lists are of integers and short.
struct sam_pickle_tensor {
    const char *name;
    size_t name_bytes;
    const char *word; // "torch.FloatStorage"
    enum sam_type type;
    int element_bytes;
    const char *key; // of the storage: which member of the zip
    size_t key_bytes;
    int64_t storage_count, offset; // elements
    int rank;
    int64_t shape[SAM_MAX_RANK], stride[SAM_MAX_RANK];
};

// Call `found` for every tensor of the dict under the key `model`, or of the whole where it is a
// dict of tensors. Stops at the first failure, that of `found` included. Memory and time are
// linear in `size`.
int sam_pickle_list(const char *file, const uint8_t *bytes, size_t size,
                    int (*found)(void *priv, const struct sam_pickle_tensor *t), void *priv,
                    struct sam_error *error);

#endif // SAM_PICKLE_H

// SPDX-License-Identifier: MIT
// Weights files: .safetensors or Meta's .pt, each with Meta's or Hugging Face's names. Files are
// untrusted: every value is checked, and nothing in them is executed.
#ifndef SAM_WEIGHTS_H
#define SAM_WEIGHTS_H

#include "base/tensor.h"
#include "file.h"
#include "names.h"

enum { SAM_MAX_RANK = 5 };

// `type` of a tensor that the engine has no storage type for (F64, I64, BOOL, ...): it is listed
// but cannot be read.
#define SAM_WEIGHT_OTHER ((enum sam_type) 99)

// One tensor of the file. Its numbers are little-endian and row-major. Only a .pt can have strides
// other than dense ones.
struct sam_weight {
    const char *name;   // Meta's name
    const char *stored; // its name in the file
    const char *word;   // its type as named in the file: "F16", "torch.HalfStorage"
    enum sam_type type; // sam_weights_read() supports F32, F16 and BF16
    int rank;
    int64_t shape[SAM_MAX_RANK], stride[SAM_MAX_RANK]; // elements
    uint64_t at; // offset of its first number in the file, bytes
};

struct sam_weights;

// Open a file, list its tensors and read the JSON beside it. Later calls use this one reading. The
// error names the file, the tensor or the offset, what was expected and what was found. The file
// stays open: if it is truncated, overwritten or renamed meanwhile, later calls may fail but never
// return numbers of another file.
// names: rules for tensor names, and which config.json files belong to the weights. NULL: tensors
// keep their stored names, and JSON files are ignored.
int sam_weights_open(struct sam_weights **out, const char *file, const struct sam_names *names,
                     struct sam_error *error);
void sam_weights_close(struct sam_weights **w);

// The file's name for error texts: the end of a long path.
const char *sam_weights_file(const struct sam_weights *w);
int sam_weights_count(const struct sam_weights *w);
const struct sam_weight *sam_weights_at(const struct sam_weights *w, int i);

// Find a tensor by Meta's name. Returns NULL if there is none.
const struct sam_weight *sam_weights_find(const struct sam_weights *w, const char *name);

// The configuration, a JSON text of `*bytes` bytes: the metadata key `samtrack`, or <stem>.json or
// config.json (Hugging Face) beside the file. Returns NULL if there is none.
const char *sam_weights_config(const struct sam_weights *w, size_t *bytes);

// The name of the file with that text, for error texts, or NULL.
const char *sam_weights_config_file(const struct sam_weights *w);

// Check that a tensor exists, with this shape and a type that can be read, without reading it. Call
// this before allocating: sizes in a hostile file cannot be trusted.
int sam_weights_check(const struct sam_weights *w, const char *name, int rank,
                      const int64_t *shape, struct sam_error *error);

// Read a tensor to dst as dense F32. SAM_EFORMAT: its shape differs, a number is not finite, or the
// file is too short. SAM_EIO: the read failed.
int sam_weights_read(const struct sam_weights *w, const char *name, int rank,
                     const int64_t *shape, float *dst, struct sam_error *error);

// Identifies the opened file and its version.
const struct sam_file_id *sam_weights_id(const struct sam_weights *w);

// SAM_EIO if the file was modified since it was opened.
int sam_weights_unchanged(const struct sam_weights *w, struct sam_error *error);

#endif // SAM_WEIGHTS_H

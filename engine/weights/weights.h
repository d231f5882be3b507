// A weights file as its users have it: .safetensors or Meta's .pt, Meta's or Hugging Face's
// names in either, memory-mapped. Nothing in it is trusted, nothing in it is executed.
#ifndef SAM_WEIGHTS_H
#define SAM_WEIGHTS_H

#include "base/log.h"
#include "base/tensor.h"

enum { SAM_MAX_RANK = 5 };

// `type` of a tensor whose numbers the engine has no storage type for (F64, I64, BOOL, ...): it
// is listed, but not read.
#define SAM_WEIGHT_OTHER ((enum sam_type) 99)

// One tensor of the file. Its numbers are little-endian, dense, row-major, at data (at any
// address, aligned or not); `stride` differs from dense only in a .pt that says so.
struct sam_weight {
    const char *name;   // Meta's, whatever the file's
    const char *stored; // its name in the file
    const char *word;   // its type in the file's words: "F16", "torch.HalfStorage"
    enum sam_type type; // of those, sam_weights_read() takes F32, F16 and BF16
    int rank;
    int64_t shape[SAM_MAX_RANK], stride[SAM_MAX_RANK]; // elements
    const uint8_t *data;
};

struct sam_weights;

// Map a file and list its tensors. On failure one sentence names the file, the tensor or the
// byte, what was wanted and what was got. The file must not be shortened while it is open: the
// system answers a read behind its new end with SIGBUS.
int sam_weights_open(struct sam_weights **out, const char *file, struct sam_error *error);
void sam_weights_close(struct sam_weights **w);

// The file's name for sentences: of a long path its end only.
const char *sam_weights_file(const struct sam_weights *w);
int sam_weights_count(const struct sam_weights *w);
const struct sam_weight *sam_weights_at(const struct sam_weights *w, int i);

// By Meta's name. NULL: absent, which is no error.
const struct sam_weight *sam_weights_find(const struct sam_weights *w, const char *name);

// What shapes cannot tell, as JSON text of `*bytes` bytes, or NULL: the metadata key `samtrack`,
// or <stem>.json beside the file, or a config.json beside it (Hugging Face).
const char *sam_weights_config(const struct sam_weights *w, size_t *bytes);

// Where that text stands, for sentences: the name of its file. NULL where there is none.
const char *sam_weights_config_file(const struct sam_weights *w);

// Whether sam_weights_read() would find the tensor, of this shape and of a type that can be
// read. Touches no number: to know what a file lacks before anything is allocated for it.
int sam_weights_check(const struct sam_weights *w, const char *name, int rank,
                      const int64_t *shape, struct sam_error *error);

// Copy a tensor to dst as F32, dense. It must have exactly this shape (rank entries), and every
// number must be finite; else SAM_EFORMAT with a sentence.
int sam_weights_read(const struct sam_weights *w, const char *name, int rank,
                     const int64_t *shape, float *dst, struct sam_error *error);

#endif // SAM_WEIGHTS_H

// A weights file as its users have it: .safetensors or Meta's .pt, Meta's or Hugging Face's
// names in either. Nothing in it is trusted, nothing in it is executed.
#ifndef SAM_WEIGHTS_H
#define SAM_WEIGHTS_H

#include "base/tensor.h"
#include "file.h"
#include "names.h"

enum { SAM_MAX_RANK = 5 };

// `type` of a tensor whose numbers the engine has no storage type for (F64, I64, BOOL, ...): it
// is listed, but not read.
#define SAM_WEIGHT_OTHER ((enum sam_type) 99)

// One tensor of the file. Its numbers are little-endian, dense, row-major; `stride` differs from
// dense only in a .pt that says so.
struct sam_weight {
    const char *name;   // by which it is asked for: Meta's, whatever the file's
    const char *stored; // its name in the file
    const char *word;   // its type in the file's words: "F16", "torch.HalfStorage"
    enum sam_type type; // of those, sam_weights_read() takes F32, F16 and BF16
    int rank;
    int64_t shape[SAM_MAX_RANK], stride[SAM_MAX_RANK]; // elements
    uint64_t at; // byte of the file where its first number begins
};

struct sam_weights;

// Open a file, list its tensors, and read the JSON beside it; all later calls are about this one
// reading. On failure one sentence names the file, the tensor or the byte, what was wanted and what
// was got. The file stays open, so that what is shortened, overwritten or renamed meanwhile can
// make later calls fail, but not give numbers of another file.
// names: how its tensors are called by those who ask for them, and which config.json is about it.
// NULL: as they are stored, and no JSON beside the file is looked for.
int sam_weights_open(struct sam_weights **out, const char *file, const struct sam_names *names,
                     struct sam_error *error);
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

// Read a tensor to dst as F32, dense. It must have exactly this shape (rank entries), and every
// number must be finite; else SAM_EFORMAT with a sentence, as when the file ends before it.
int sam_weights_read(const struct sam_weights *w, const char *name, int rank,
                     const int64_t *shape, float *dst, struct sam_error *error);

// Which file was opened, and which version of it.
const struct sam_file_id *sam_weights_id(const struct sam_weights *w);

// SAM_EIO if the file was written to since it was opened.
int sam_weights_unchanged(const struct sam_weights *w, struct sam_error *error);

#endif // SAM_WEIGHTS_H

// The members of a zip file in memory, as torch.save() writes it: stored, in one piece, zip64
// where needed. Strict: whatever two programs could read in two ways is refused.
#ifndef SAM_ZIP_H
#define SAM_ZIP_H

#include "base/log.h"

struct sam_zip_member {
    const char *name; // in the file, name_bytes long, no NUL
    size_t name_bytes;
    const uint8_t *data; // its bytes in the file
    uint64_t bytes;
    uint64_t begin, end; // in the file, its own header included
};

struct sam_zip {
    struct sam_zip_member *members; // by name
    int count;
};

// List the members. `file` is for sentences. On failure nothing is kept.
int sam_zip_open(struct sam_zip *zip, const char *file, const uint8_t *bytes, size_t size,
                 struct sam_error *error);
void sam_zip_close(struct sam_zip *zip);

const struct sam_zip_member *sam_zip_find(const struct sam_zip *zip, const char *name,
                                          size_t name_bytes);

#endif // SAM_ZIP_H

// The members of a zip file, as torch.save() writes it: stored, in one piece, zip64 where needed.
// Strict: whatever two programs could read in two ways is refused.
#ifndef SAM_ZIP_H
#define SAM_ZIP_H

#include "file.h"

struct sam_zip_member {
    const char *name; // in the directory, name_bytes long, no NUL
    size_t name_bytes;
    uint64_t data, bytes; // where its bytes begin in the file, and how many they are
    uint64_t begin, end;  // in the file, its own header included
};

struct sam_zip {
    struct sam_zip_member *members; // by name
    int count;
    uint8_t *directory; // of the file
};

// List the members. On failure nothing is kept.
int sam_zip_open(struct sam_zip *zip, const struct sam_file *file, struct sam_error *error);
void sam_zip_close(struct sam_zip *zip);

const struct sam_zip_member *sam_zip_find(const struct sam_zip *zip, const char *name,
                                          size_t name_bytes);

#endif // SAM_ZIP_H

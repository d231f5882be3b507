// SPDX-License-Identifier: MIT
// Reader of zip files as torch.save() writes them: uncompressed, one disk, zip64 if needed. It
// rejects files that two programs could interpret differently.
#ifndef SAM_ZIP_H
#define SAM_ZIP_H

#include "file.h"

struct sam_zip_member {
    const char *name; // in the directory, name_bytes long, no NUL
    size_t name_bytes;
    uint64_t data, bytes; // offset and length of its data
    uint64_t begin, end;  // range in the file, including its header
};

struct sam_zip {
    struct sam_zip_member *members; // sorted by name
    int count;
    uint8_t *directory; // the central directory, owned
};

// List the members. On failure all memory is freed.
int sam_zip_open(struct sam_zip *zip, const struct sam_file *file, struct sam_error *error);
void sam_zip_close(struct sam_zip *zip);

const struct sam_zip_member *sam_zip_find(const struct sam_zip *zip, const char *name,
                                          size_t name_bytes);

#endif // SAM_ZIP_H

// SPDX-License-Identifier: MIT
// A file of words beside the weights, whole in memory.
#ifndef SAM_TEXT_FILE_H
#define SAM_TEXT_FILE_H

#include <stddef.h>

#include "base/log.h"

enum {
    SAM_TEXT_FILE_BYTES = 32 << 20, // at most; published: 0.2 to 4 MB
    SAM_TEXT_FILE_LABEL = 200,      // of its name in error texts
    SAM_TEXT_FILE_PATH = 4096,
};

// To be freed; NULL: *status says why not. SAM_ENOTFOUND: there is none. label: its name in
// sentences.
char *sam_text_file_read(const char *path, const char *label, size_t *bytes, int *status,
                         struct sam_error *error);

// The path of `name` in the folder of a weights file. SAM_EINVAL: it is too long.
int sam_text_file_beside(char path[SAM_TEXT_FILE_PATH], const char *weights, const char *name,
                         struct sam_error *error);

#endif // SAM_TEXT_FILE_H

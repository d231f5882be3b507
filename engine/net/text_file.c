// SPDX-License-Identifier: MIT
#include "text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weights/file.h"

char *sam_text_file_read(const char *path, const char *label, size_t *bytes, int *status,
                         struct sam_error *error)
{
    const int most = SAM_TEXT_FILE_BYTES;
    struct sam_file f;
    char *text = NULL;

    if ((*status = sam_file_open(&f, path, label, "vocabulary", error)))
        return NULL;
    *bytes = (size_t) f.id.size;
    if (f.id.size > (uint64_t) most)
        *status = sam_fail(error, SAM_EFORMAT, "%s: expected at most %d MiB, got %.1f MiB", label,
                           most >> 20, (double) f.id.size / (1 << 20));
    else if (!(text = malloc(*bytes + 1)))
        *status = sam_fail(error, SAM_ENOMEM, "%s: no memory for %zu bytes", label, *bytes);
    else
        *status = sam_file_read(&f, 0, text, *bytes, "the tokens", error);
    sam_file_close(&f);
    if (*status) {
        free(text);
        text = NULL;
    }
    return text;
}

int sam_text_file_beside(char path[SAM_TEXT_FILE_PATH], const char *weights, const char *name,
                         struct sam_error *error)
{
    const char *slash = strrchr(weights, '/');
    const int folder = slash ? (int) (slash + 1 - weights) : 0;
    const int length = snprintf(path, SAM_TEXT_FILE_PATH, "%.*s%s", folder, weights, name);

    if (length < SAM_TEXT_FILE_PATH)
        return SAM_OK;
    return sam_fail(error, SAM_EINVAL, "%s: the path is too long",
                    sam_text_end(weights, SAM_TEXT_FILE_LABEL));
}

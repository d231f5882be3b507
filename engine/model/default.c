// SPDX-License-Identifier: MIT
// Finds the default model. It looks only in folders that need the same rights to write as the
// library itself: a path of the build machine in an installed library could be writable by anybody.
#define _GNU_SOURCE // dladdr, secure_getenv
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/model_paths.h"
#include "parts.h"

// The folder models/ beside the library: in a build folder it is there. A library that was loaded
// by a relative path has no folder that stays the same.
static bool find_beside(char *path, size_t size)
{
    static const char anchor;
    Dl_info self;
    const char *slash;

    if (!dladdr(&anchor, &self) || !self.dli_fname || self.dli_fname[0] != '/')
        return false;
    slash = strrchr(self.dli_fname, '/');
    const int n = snprintf(path, size, "%.*s/models/%s", (int) (slash - self.dli_fname),
                           self.dli_fname, SAM_MODEL_NAME);
    return n > 0 && (size_t) n < size && !access(path, R_OK);
}

int sam_default_model(char *path, size_t size, struct sam_error *error)
{
    const char *named = secure_getenv("SAMTRACK_MODEL");

    if (!named || !*named) {
        if (find_beside(path, size))
            return SAM_OK;
        named = SAM_MODEL_INSTALLED;
        if (access(named, R_OK))
            return sam_fail(error, SAM_EIO, "no default model: %s: %s, and SAMTRACK_MODEL is not "
                            "set", named, strerror(errno));
    } else if (access(named, R_OK)) {
        return sam_fail(error, SAM_EIO, "%s (named by SAMTRACK_MODEL): %s", named, strerror(errno));
    }
    if (strlen(named) >= size)
        return sam_fail(error, SAM_EINVAL, "%s: longer than %zu bytes", named, size - 1);
    strcpy(path, named);
    return SAM_OK;
}

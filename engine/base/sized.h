// SPDX-License-Identifier: MIT
// Structs of the public header that begin with `size_t size`, the size that the caller's program
// was compiled with. The library may know more fields than the caller's program, never fewer.
#ifndef SAM_SIZED_H
#define SAM_SIZED_H

#include <stddef.h>

#include "samtrack/samtrack.h"

// Copy the caller's struct into the library's own, `bytes` long; fields that it lacks become 0.
// given may be NULL: SAM_EINVAL, like a size that is not least .. bytes. least: the size in the
// first version. On failure own is not written. name: of the argument, in the error text.
int sam_sized_read(void *own, size_t bytes, size_t least, const void *given, const char *name,
                   struct sam_error *error);

// The same check of a struct that the call is to fill.
int sam_sized_check(const void *given, size_t bytes, size_t least, const char *name,
                    struct sam_error *error);

// Copy the library's own struct into the caller's, which was checked, up to the caller's size.
void sam_sized_write(void *given, const void *own);

#endif // SAM_SIZED_H

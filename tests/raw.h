// SPDX-License-Identifier: MIT
// The bytes of a tensor as they lie in its file: for types that the engine does not read.
#ifndef RAW_H
#define RAW_H

#include <stdbool.h>
#include <stdio.h>

#include "weights/weights.h"

// `bytes` bytes of the tensor, from its byte `at` on. Returns whether they could be read.
static inline bool read_raw(const char *path, const struct sam_weight *w, uint64_t at, void *dst,
                            size_t bytes)
{
    FILE *f = fopen(path, "rb");
    const bool done = f && !fseeko(f, (off_t) (w->at + at), SEEK_SET) &&
                      fread(dst, 1, bytes, f) == bytes;
    if (f)
        fclose(f);
    return done;
}

#endif // RAW_H

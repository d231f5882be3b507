// SPDX-License-Identifier: MIT
#include "sized.h"

#include <assert.h>
#include <string.h>

#include "log.h"

static size_t size_of(const void *given)
{
    size_t size;

    memcpy(&size, given, sizeof(size));
    return size;
}

int sam_sized_check(const void *given, size_t bytes, size_t least, const char *name,
                    struct sam_error *error)
{
    assert(least >= sizeof(size_t) && least <= bytes);
    if (!given)
        return sam_fail(error, SAM_EINVAL, "%s is NULL", name);

    const size_t size = size_of(given);
    if (size >= least && size <= bytes)
        return SAM_OK;
    if (least == bytes)
        return sam_fail(error, SAM_EINVAL,
                        "%s: size is %zu, expected %zu, the sizeof of its struct", name, size,
                        bytes);
    return sam_fail(error, SAM_EINVAL,
                    "%s: size is %zu, expected the sizeof of its struct, %zu to %zu", name, size,
                    least, bytes);
}

int sam_sized_read(void *own, size_t bytes, size_t least, const void *given, const char *name,
                   struct sam_error *error)
{
    const int status = sam_sized_check(given, bytes, least, name, error);

    if (status)
        return status;
    memset(own, 0, bytes);
    memcpy(own, given, size_of(given));
    memcpy(own, &bytes, sizeof(bytes));
    return SAM_OK;
}

void sam_sized_write(void *given, const void *own)
{
    const size_t size = size_of(given);

    memcpy(given, own, size);
    memcpy(given, &size, sizeof(size));
}

// SPDX-License-Identifier: MIT
// Linked instead of the rest of cuda/ when the build has no CUDA backend.

#include "ops/backends.h"

const struct sam_device *sam_device_cuda(void)
{
    return NULL;
}

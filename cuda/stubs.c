// Linked instead of the rest of cuda/ when the build has no CUDA backend.

#include "ops/ops.h"

const struct sam_ops *sam_ops_cuda(void)
{
    return NULL;
}

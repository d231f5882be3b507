// Instead of blaslt.c where the toolkit comes without cuBLASLt's header: our kernel makes all
// products.

#include "backend.h"

size_t sam_blaslt_bytes(const struct sam_queue *q)
{
    return 0;
}

void sam_blaslt_open(struct sam_queue *q)
{
}

void sam_blaslt_close(struct sam_cuda *cuda)
{
}

bool sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p)
{
    return false;
}

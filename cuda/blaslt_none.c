// SPDX-License-Identifier: MIT
// Instead of blaslt.c where the toolkit comes without cuBLASLt's header: our kernel makes all
// products.

#include "backend.h"

size_t sam_blaslt_bytes(const struct sam_queue *q)
{
    return 0;
}

void sam_blaslt_open(struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);

    if (q->precision == SAM_PRECISION_BF16 && !q->work_bytes
        && sam_cuda_uses(cuda, SAM_CUDA_CUBLASLT))
        sam_log(&q->log, SAM_LOG_WARNING,
                "cuda: device %d, %.80s: large products are not by cuBLASLt but by our own kernel, "
                "which is slower: this build is without its header", cuda->device, cuda->name);
}

void sam_blaslt_close(struct sam_cuda *cuda)
{
}

bool sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p)
{
    return false;
}

bool sam_blaslt_takes(const struct sam_queue *q, const struct sam_linear *p)
{
    return false;
}

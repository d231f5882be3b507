// SPDX-License-Identifier: MIT
// Convolutions as matrix products; see gemm.cuh.
#include "conv.cuh"

extern "C" void sam_conv_cuda(struct sam_queue *q, const struct sam_conv *p)
{
    gemm_run(q, "conv", &p->weight, gemm_of(q, p));
}

extern "C" void sam_conv_transpose_cuda(struct sam_queue *q, const struct sam_conv_transpose *p)
{
    gemm_run(q, "conv_transpose", &p->weight, gemm_of(q, p));
}

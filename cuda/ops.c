// SPDX-License-Identifier: MIT
// The CUDA backend's table of operations.

#include "backend.h"

#define ENTRY_cuda(name) sam_##name##_cuda
#define ENTRY_none(name) NULL
#define ENTRY(name, cpu, cuda) .name = ENTRY_##cuda(name),

const struct sam_ops *sam_cuda_ops(void)
{
    static const struct sam_ops table = {
        .pack_bytes = sam_pack_bytes_cuda,
        .pack = sam_pack_cuda,
        .wants_bias_bf16 = true,
        .least_bf16_terms = 1, // tensor cores: F32 units are 15 times slower
        SAM_OPS(ENTRY)
    };
    return &table;
}

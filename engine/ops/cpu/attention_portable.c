#include "ops/cpu/attention.h"

const struct sam_attention_kernel *sam_attention_kernel(enum sam_cpu_level level, bool bf16)
{
    return &sam_attention_generic;
}

#include "ops/cpu/attention.h"

const struct sam_attention_kernel *sam_attention_kernel(enum sam_cpu_level level, bool bf16)
{
    if (level >= SAM_CPU_AVX512_BF16 && bf16)
        return &sam_attention_avx512_bf16;
    if (level >= SAM_CPU_AVX512)
        return &sam_attention_avx512;
    if (level >= SAM_CPU_AVX2)
        return &sam_attention_avx2;
    return &sam_attention_generic;
}

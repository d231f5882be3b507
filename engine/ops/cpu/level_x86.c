#include "ops/cpu/cpu.h"

enum sam_cpu_level sam_cpu_detect(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return SAM_CPU_GENERIC;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return SAM_CPU_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? SAM_CPU_AVX512_BF16 : SAM_CPU_AVX512;
}

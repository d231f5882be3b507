// Linked instead of level_x86.c for other processors: portable C only.

#include "ops/cpu/cpu.h"

enum sam_cpu_level sam_cpu_detect(void)
{
    return SAM_CPU_GENERIC;
}

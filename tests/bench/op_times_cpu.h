// SPDX-License-Identifier: MIT
// Times of operations on the CPU, for bench-steps --operations --backend cpu.
#ifndef SAM_OP_TIMES_CPU_H
#define SAM_OP_TIMES_CPU_H

#include <stdio.h>

// Time every operation from here on, until each is through: with one thread that is processor time.
void op_times_cpu_start(void);

// As op_times_write, of `frames` frames; no Gflop and MB, and nothing is cuBLASLt's.
void op_times_cpu_write(FILE *f, int frames);

#endif // SAM_OP_TIMES_CPU_H

// SPDX-License-Identifier: MIT
// What bench-steps asks of the CUDA backend itself: op_times.c, or op_times_none.c without one.
#ifndef SAM_OP_TIMES_H
#define SAM_OP_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Time every operation from here on, one by one, as they are called; only where nothing is
// recorded. False: there is no backend to ask.
bool op_times_start(void);

// The frame is through: add up what its operations took.
void op_times_frame(void);

// JSON, a list of [operation, shape, calls of a frame, us of a frame, Gflop, MB, whether cuBLASLt
// made its products], by time, the longest first; the numbers are of one frame.
void op_times_write(FILE *f);

// JSON of which products were cuBLASLt's so far, since the program began; "null" if nothing was
// multiplied on a GPU.
void op_times_write_products(FILE *f);

// How often and how long the host waits for the GPU, while it is counted; as JSON, of one of the
// frames meanwhile; "null" without a backend.
void op_times_count_waits(bool on);
void op_times_write_waits(FILE *f, int frames);

// Memory of the device with the bytes of src in it; NULL: there is none.
void *op_times_copy(const void *src, size_t bytes);
void op_times_free(void *data);

#endif // SAM_OP_TIMES_H

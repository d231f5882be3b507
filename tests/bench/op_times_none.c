// SPDX-License-Identifier: MIT
// A build without the CUDA backend.
#include "op_times.h"

bool op_times_start(void)
{
    return false;
}

void op_times_frame(void)
{
}

void op_times_write(FILE *f)
{
    fputs("null", f);
}

void op_times_write_products(FILE *f)
{
    fputs("null", f);
}

void op_times_count_waits(bool on)
{
    (void) on;
}

void op_times_write_waits(FILE *f, int frames)
{
    (void) frames;
    fputs("null", f);
}

void *op_times_copy(const void *src, size_t bytes)
{
    (void) src, (void) bytes;
    return NULL;
}

void op_times_free(void *data)
{
    (void) data;
}

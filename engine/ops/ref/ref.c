// SPDX-License-Identifier: MIT
// The tables of the reference. A call returns when its work is done; memory is host memory.

#include "ops/ref/ref.h"

#include <string.h>

#include "device/device.h"
#include "ops/backends.h"

static size_t pack_bytes(const struct sam_queue *q, int out, int in, bool exact)
{
    return (size_t) out * in * sizeof(float);
}

static void pack(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    memcpy(dst.data, weight, pack_bytes(q, dst.out, dst.in, dst.exact));
}

#define ENTRY(name, cpu, cuda) .name = sam_##name##_ref,
static const struct sam_ops table = { .pack_bytes = pack_bytes, .pack = pack, SAM_OPS(ENTRY) };

static int open_ref(struct sam_queue *q, int ordinal, int threads)
{
    q->ops = &table;
    q->precision = SAM_PRECISION_FP32; // the only one there is, whatever was asked
    q->threads = 1;
    q->device_name = "reference";
    return SAM_OK;
}

const struct sam_device *sam_device_ref(void)
{
    static const struct sam_device device = { .name = "ref", .open = open_ref };
    return &device;
}

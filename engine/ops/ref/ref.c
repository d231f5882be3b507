// SPDX-License-Identifier: MIT
// The tables of the reference. A call returns when its work is done; memory is host memory.

#include "ops/ref/ref.h"

#include <string.h>

#include "device/device.h"
#include "ops/backends.h"

static size_t pack_bytes(const struct sam_queue *q, struct sam_matrix m)
{
    return (size_t) m.out * m.in * sizeof(float);
}

static void pack(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    const struct sam_tensor rows = ref_matrix(dst);
    float *to = dst.data;

    memcpy(to, weight, pack_bytes(q, dst));
    for (int o = 0; dst.int8 && o < dst.out; o++, to += dst.in) {
        const struct ref_steps s = ref_steps_of(ref_largest(0, &rows, (size_t) o * dst.in, dst.in));
        for (int i = 0; i < dst.in; i++)
            to[i] = ref_round(s, to[i]);
    }
}

#define ENTRY(name, cpu, cuda) .name = sam_##name##_ref,
static const struct sam_ops table = { .pack_bytes = pack_bytes, .pack = pack, SAM_OPS(ENTRY) };

static int open_ref(struct sam_queue *q, int ordinal, int threads)
{
    q->ops = &table;
    q->int8 = q->precision == SAM_PRECISION_INT8;
    q->precision = SAM_PRECISION_FP32; // of all else, whatever was asked
    q->threads = 1;
    q->device_name = "reference";
    return SAM_OK;
}

const struct sam_device *sam_device_ref(void)
{
    static const struct sam_device device = { .name = "ref", .open = open_ref };
    return &device;
}

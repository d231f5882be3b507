// SPDX-License-Identifier: MIT
// The linker puts sam_queue_start here in the place of the engine's (--wrap): the queue gets a
// table of its own, whose entries read the clock around those of the backend. Nothing of it is in
// the library.
#include "op_times_cpu.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "device/device.h"
#include "op_kinds.h"
#include "ops/list.h"
#include "ops/ops.h"

static struct {
    bool on;
    int depth; // operations that are made of others call these by the same table
    struct op_kinds kinds;
    const struct sam_ops *real;
    struct sam_ops timed;
} times;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void note(const char *name, const void *contract, double ms)
{
    struct op_kind *k = op_kinds_find(&times.kinds, name, contract, "");
    if (!k)
        return;
    k->ms += ms;
    k->calls++;
}

#define TIMED(name, cpu, cuda)                                                \
    static void timed_##name(struct sam_queue *q, const struct sam_##name *p) \
    {                                                                         \
        const bool is_outer = times.on && !times.depth++;                     \
        const double before = is_outer ? now_ms() : 0;                        \
        times.real->name(q, p);                                               \
        times.depth -= times.on;                                              \
        if (is_outer)                                                         \
            note(#name, p, now_ms() - before);                                \
    }
SAM_OPS(TIMED)

int __real_sam_queue_start(struct sam_queue *q, const struct sam_device *device,
                           const struct sam_queue_options *o, struct sam_error *error);
int __wrap_sam_queue_start(struct sam_queue *q, const struct sam_device *device,
                           const struct sam_queue_options *o, struct sam_error *error);
int __wrap_sam_queue_start(struct sam_queue *q, const struct sam_device *device,
                           const struct sam_queue_options *o, struct sam_error *error)
{
    const int status = __real_sam_queue_start(q, device, o, error);
    if (status || strcmp(sam_queue_backend(q), "cpu") || q->ops == &times.timed)
        return status;
    times.real = q->ops;
    times.timed = *times.real;
#define ENTRY(name, cpu, cuda) times.timed.name = times.real->name ? timed_##name : NULL;
    SAM_OPS(ENTRY)
    q->ops = &times.timed;
    return status;
}

void op_times_cpu_start(void)
{
    times.on = true;
}

void op_times_cpu_write(FILE *f, int frames)
{
    times.on = false;
    op_kinds_write(&times.kinds, f, frames);
}

// SPDX-License-Identifier: MIT
// The fast CPU backend: its tables, threads and instruction set.

#include "ops/cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "ops/backends.h"
#include "ops/ref/ref.h"

#define ENTRY(name, cpu, cuda) .name = sam_##name##_##cpu,
static const struct sam_ops table = {
    .pack_bytes = sam_pack_bytes_cpu,
    .pack = sam_pack_cpu,
    .least_bf16_terms = 32, // windows of 3 x 3 pixels come in F32, and fill no vector of BF16
    .rope_attention_room = sam_rope_attention_room_cpu,
    .takes_bottleneck = sam_takes_bottleneck_cpu,
    SAM_OPS(ENTRY)
};

static void list_levels(char *text, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < SAM_CPU_NUM_LEVELS && at < size; i++)
        at += (size_t) snprintf(text + at, size - at, "%s%s",
                                i == 0                        ? ""
                                : i + 1 == SAM_CPU_NUM_LEVELS ? " or "
                                                              : ", ",
                                sam_cpu_level_names[i]);
}

static enum sam_cpu_level choose_level(const struct sam_log *log)
{
    const enum sam_cpu_level level = sam_cpu_detect();
    const char *wanted = getenv("SAMTRACK_CPU_LEVEL");
    char known[128];
    if (!wanted || !*wanted)
        return level;
    for (int i = 0; i < SAM_CPU_NUM_LEVELS; i++) {
        if (strcmp(wanted, sam_cpu_level_names[i]))
            continue;
        if (i <= (int) level)
            return (enum sam_cpu_level) i;
        sam_log(log, SAM_LOG_WARNING,
                "SAMTRACK_CPU_LEVEL is '%s', which this processor lacks: it has '%s'", wanted,
                sam_cpu_level_names[level]);
        return level;
    }
    list_levels(known, sizeof(known));
    sam_log(log, SAM_LOG_WARNING,
            "SAMTRACK_CPU_LEVEL is '%.32s', expected %s: ignored, the level is '%s'", wanted, known,
            sam_cpu_level_names[level]);
    return level;
}

static int resolve_precision(struct sam_queue *q, enum sam_cpu_level level)
{
    const bool has_bf16 = sam_cpu_has_bf16(level);
    q->bf16_is_faster = has_bf16 && sam_cpu_is_bf16_faster(level);
    q->int8 = q->precision == SAM_PRECISION_INT8;
    if (q->precision == SAM_PRECISION_AUTO || q->int8)
        q->precision = q->bf16_is_faster ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
    if (q->precision == SAM_PRECISION_BF16 && !has_bf16)
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "precision 'bf16' needs a processor with %s, this one has '%s': "
                       "use 'fp32' or 'auto'",
                       sam_cpu_bf16_needs, sam_cpu_level_names[level]);
    return q->status;
}

static int cpu_open(struct sam_queue *q, int ordinal, int threads)
{
    if (threads < 0 || threads > SAM_MAX_THREADS) {
        sam_queue_fail(q, SAM_EINVAL, "threads is %d, expected 0 (one per processor) to %d",
                       threads, SAM_MAX_THREADS);
        return q->status;
    }
    const enum sam_cpu_level level = choose_level(&q->log);
    if (resolve_precision(q, level))
        return q->status;

    struct sam_cpu *cpu = calloc(1, sizeof(*cpu));
    if (!cpu)
        goto no_memory;
    q->priv = cpu;
    cpu->level = level;
    cpu->pool = sam_pool_open(threads);
    if (!cpu->pool)
        goto no_memory;

    sam_cpu_choose_kernels(cpu, q->precision == SAM_PRECISION_BF16);
    q->ops = &table;
    q->threads = sam_pool_threads(cpu->pool);
    q->device_name = sam_cpu_level_names[level];
    if (level == SAM_CPU_GENERIC)
        sam_log(&q->log, SAM_LOG_WARNING,
                "cpu: there are no kernels for this processor's vectors, or $SAMTRACK_CPU_LEVEL "
                "forbids them: plain C, which is slow");
    sam_log(&q->log, SAM_LOG_INFO, "cpu: %d threads, %s, %s%s products",
            sam_pool_threads(cpu->pool), sam_cpu_level_names[level], q->int8 ? "int8 and " : "",
            q->precision == SAM_PRECISION_BF16 ? "bf16" : "fp32");
    return SAM_OK;
no_memory:
    sam_queue_fail(q, SAM_ENOMEM, "out of memory: the CPU backend needs %zu bytes",
                   sizeof(*cpu) + (size_t) sam_crew_count(threads) * SAM_POOL_WORKSPACE);
    return q->status;
}

static void cpu_close(struct sam_queue *q)
{
    struct sam_cpu *cpu = sam_cpu(q);
    if (!cpu)
        return;
    sam_pool_close(&cpu->pool);
    free(cpu);
    q->priv = NULL;
}

// Nothing is current on a CPU: what is between the two is a caller's share of the processors.
static void cpu_enter(struct sam_queue *q)
{
    sam_pool_begin(sam_cpu(q)->pool);
}

static void cpu_leave(struct sam_queue *q)
{
    sam_pool_end(sam_cpu(q)->pool);
}

static struct sam_places_list *cpu_places(const struct sam_queue *q)
{
    const struct sam_cpu *cpu = q->priv;
    return sam_pool_places(cpu->pool);
}

static size_t cpu_workspace_bytes(const struct sam_queue *q)
{
    const struct sam_cpu *cpu = q->priv;
    return sizeof(*cpu) + sam_pool_bytes(cpu->pool);
}

const struct sam_device *sam_device_cpu(void)
{
    static const struct sam_device device = {
        .name            = "cpu",
        .open            = cpu_open,
        .close           = cpu_close,
        .workspace_bytes = cpu_workspace_bytes,
        .enter           = cpu_enter,
        .leave           = cpu_leave,
        .places          = cpu_places,
    };
    return &device;
}

// SPDX-License-Identifier: MIT
// Means over the positions of a map. Threads share the map by parts. A part is summed in runs of
// many positions, each of which keeps a sum of its own, so that vectors are long where channels are
// few. The sums of a part's positions, and those of all parts, are added up pairwise.

#include <string.h>

#include "ops/cpu/rows.h"
#include "ops/ref/ref.h"

enum {
    MAX_PARTS    = 64,      // of one n
    PART_NUMBERS = 1 << 15, // that are worth a thread: some microseconds
    RUN_NUMBERS  = 1 << 10, // whose sums stay in the first cache
    MAX_CHANNELS = SAM_POOL_WORKSPACE / 2 / MAX_PARTS / sizeof(float),
};

struct job {
    struct sam_cpu *cpu;
    const struct sam_tensor *src; // one n
    float *sums;                  // (parts, c)
    int parts;
};

static struct sam_span floats(float *numbers)
{
    return (struct sam_span) { numbers, SAM_F32 };
}

// The sum of `rows` rows, into the first of them.
static void add_up(const struct sam_cpu *cpu, float *sums, size_t rows, size_t c)
{
    for (size_t half; rows > 1; rows = half) {
        half = (rows + 1) / 2;
        cpu->rows->add(floats(sums), floats(sums), floats(sums + half * c), 1, (rows - half) * c);
    }
}

static void part_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const size_t c = job->src->c, rows = sam_rows(job->src);
    const size_t first = rows * i / job->parts, end = rows * (i + 1) / job->parts;
    const size_t wanted = c < RUN_NUMBERS ? RUN_NUMBERS / c : 1;
    const size_t run = wanted < end - first ? wanted : end - first;
    float *sums = (float *) sam_pool_workspace(job->cpu->pool, thread) + MAX_PARTS * MAX_CHANNELS;

    job->cpu->rows->convert(floats(sums), sam_span_at(job->src, first * c), run * c);
    for (size_t row = first + run; row < end; row += run) {
        const size_t count = run < end - row ? run : end - row;
        job->cpu->rows->add(floats(sums), floats(sums), sam_span_at(job->src, row * c), 1,
                            count * c);
    }
    add_up(job->cpu, sums, run, c);
    memcpy(job->sums + i * c, sums, c * sizeof(float));
}

void sam_mean_rows_cpu(struct sam_queue *q, const struct sam_mean_rows *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const size_t c = p->src.c, rows = (size_t) p->src.h * p->src.w, parts = rows * c / PART_NUMBERS;
    float *sums = sam_pool_workspace(cpu->pool, 0);
    if (c > MAX_CHANNELS) {
        sam_mean_rows_ref(q, p);
        return;
    }
    for (int n = 0; n < p->src.n; n++) {
        const struct sam_tensor src = sam_slice(p->src, n);
        struct job job = { cpu, &src, sums, (int) (parts < 1 ? 1 : parts) };
        job.parts = parts > MAX_PARTS ? MAX_PARTS : job.parts;
        sam_pool_run(cpu->pool, job.parts, part_task, &job);
        add_up(cpu, sums, job.parts, c);
        for (size_t i = 0; i < c; i++)
            sums[i] /= rows;
        cpu->rows->convert(sam_span_at(&p->dst, n * c), floats(sums), c);
    }
}

// SPDX-License-Identifier: MIT
// What cells are most like: a thread has a block of an object's cells, then an object's logits.

#include <math.h>

#include "ops/cpu/cells.h"
#include "ops/cpu/cpu.h"
#include "ops/ref/ref.h"

enum {
    LEAST_CELLS = 48, // of a block
    ITEMS = 4,        // of a thread, or more: so that none waits long for the last
    MAX_KEYS = 1 << 24,
};

static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

struct job {
    struct sam_cpu *cpu;
    const struct sam_recall_score *p;
    int cells, blocks; // of a block; of an object
};

static bool is_recalled(const struct sam_recall_score *p, int n)
{
    return ref_count(&p->slot, n) >= 0 && sam_load(&p->score, n) > 0;
}

static void match_task(void *priv, int item, int thread)
{
    const struct job *job = priv;
    const struct sam_recall_score *p = job->p;
    const int n = item / job->blocks, c = p->features.c, cells = p->features.h * p->features.w;
    const int begin = item % job->blocks * job->cells, end = ref_min(begin + job->cells, cells);
    const float *x = (const float *) p->features.data + (size_t) begin * c;
    float *room = (float *) p->room.data + (size_t) n * cells, most[SAM_RECALL_CELLS];
    int best[SAM_RECALL_CELLS];
    if (!is_recalled(p, n))
        return;
    const int count = p->keys.c / (c + 1);
    const float *keys = (const float *) p->keys.data + (size_t) ref_count(&p->slot, n) * p->keys.c;
    job->cpu->recall_match(
        &(struct sam_recall){ .x = x,
                              .cells = end - begin,
                              .keys = keys,
                              .num_keys = count,
                              .c = c,
                              .most = most,
                              .best = best,
                              .room = sam_pool_workspace(job->cpu->pool, thread) });
    for (int i = 0; i < end - begin; i++, x += c) {
        const float y = best[i] < 0 ? 0 : keys[(size_t) c * count + best[i]];
        const float likeness = most[i] / fmaxf(sqrtf(ref_dot_f32(x, x, c)), 1e-12f);
        room[begin + i] = y / (1 + expf((p->likeness - likeness) / p->softness));
    }
}

static void add_task(void *priv, int n, int thread)
{
    const struct job *job = priv;
    const struct sam_recall_score *p = job->p;
    const int h = p->features.h, w = p->features.w;
    const size_t cells = (size_t) h * w;
    if (is_recalled(p, n))
        sam_add_cells((float *) p->logits.data + 4 * n * cells,
                      (const float *) p->room.data + n * cells, h, w, p->scale,
                      sam_pool_workspace(job->cpu->pool, thread));
}

void sam_recall_score_cpu(struct sam_queue *q, const struct sam_recall_score *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const int cells = p->features.h * p->features.w;
    const int items = sam_pool_width(cpu->pool) * ITEMS;
    const int most = ceil_div(cells, LEAST_CELLS), least = ceil_div(cells, SAM_RECALL_CELLS);
    struct job job = { cpu, p,
                       .blocks = ref_max(ref_min(ceil_div(items, p->logits.n), most), least) };
    job.cells = ceil_div(cells, job.blocks);
    if (p->features.w > SAM_MAX_CELLS_WIDE || p->keys.c / (p->features.c + 1) > MAX_KEYS) {
        sam_recall_score_ref(q, p);
        return;
    }
    sam_pool_run(job.cpu->pool, p->logits.n * job.blocks, match_task, &job);
    sam_pool_run(job.cpu->pool, p->logits.n, add_task, &job);
}

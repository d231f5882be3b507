// SPDX-License-Identifier: MIT
// A thread has an object: scores of its cells, then its logits.

#include <math.h>

#include "ops/cpu/cells.h"
#include "ops/cpu/cpu.h"
#include "ops/ref/ref.h"

struct job {
    struct sam_cpu *cpu;
    const struct sam_ridge_score *p;
};

static void score_task(void *priv, int n, int thread)
{
    const struct job *job = priv;
    const struct sam_ridge_score *p = job->p;
    const int c = p->features.c, h = p->features.h, w = p->features.w, cells = h * w;
    const float *weights = (const float *) p->weights.data + (size_t) n * (c + 1);
    const float *x = p->features.data;
    float *room = (float *) p->room.data + (size_t) n * cells;
    float *logits = (float *) p->logits.data + (size_t) n * 4 * cells;
    float *wide = sam_pool_workspace(job->cpu->pool, thread);
    if (!(sam_load(&p->score, n) > 0))
        return;
    for (int i = 0; i < cells; i++, x += c)
        room[i] = fminf(fmaxf(weights[c] + ref_dot_f32(weights, x, c), -p->most), p->most);
    sam_add_cells(logits, room, h, w, p->scale, wide);
}

void sam_ridge_score_cpu(struct sam_queue *q, const struct sam_ridge_score *p)
{
    struct job job = { sam_cpu(q), p };
    if (p->features.w > SAM_MAX_CELLS_WIDE)
        sam_ridge_score_ref(q, p);
    else
        sam_pool_run(job.cpu->pool, p->logits.n, score_task, &job);
}

// SPDX-License-Identifier: MIT
// Multi-scale deformable attention: queries go to the threads by eights.
#include "ops/cpu/cpu.h"

enum { QUERIES = 8 }; // of a task

struct job {
    const struct sam_deform_attention *p;
    sam_deform_query *run;
    struct sam_deform_maps maps;
};

static void list_maps(const struct sam_deform_attention *p, struct sam_deform_maps *m)
{
    int32_t first = 0;

    for (int s = 0; s < SAM_MAX_SAMPLES; s++) {
        const int level = s / p->points, real = level < p->levels;
        m->columns[s] = real ? p->width[level] : 1;
        m->rows[s] = real ? p->height[level] : 1;
        m->width[s] = (float) m->columns[s];
        m->height[s] = (float) m->rows[s];
        m->first[s] = real ? first : 0;
        if (real && (s + 1) % p->points == 0)
            first += p->width[level] * p->height[level];
    }
}

static void attend_task(void *priv, int task, int thread)
{
    const struct job *job = priv;
    const size_t all = (size_t) job->p->dst.n * (size_t) job->p->dst.w;

    for (size_t i = (size_t) task * QUERIES; i < all && i < ((size_t) task + 1) * QUERIES; i++)
        job->run(job->p, &job->maps, i);
}

void sam_deform_attention_cpu(struct sam_queue *q, const struct sam_deform_attention *p)
{
    struct job job = { .p = p, .run = sam_cpu(q)->deform_query };
    const size_t all = (size_t) p->dst.n * (size_t) p->dst.w;

    list_maps(p, &job.maps);
    sam_pool_run(sam_cpu(q)->pool, (int) ((all + QUERIES - 1) / QUERIES), attend_task, &job);
}

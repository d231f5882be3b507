// SPDX-License-Identifier: MIT
// Attention with a mask, by chunks of queries of one head.

#include <math.h>

#include "ops/cpu/biased_task.h"

struct job {
    struct sam_cpu *cpu;
    const struct sam_masked_attention *p;
    int chunks; // of the queries of one n
};

static bool leaves_none(const float *mask, int keys)
{
    int j = 0;
    while (j < keys && mask[j] < 0)
        j++;
    return j == keys;
}

// Keys [first, first + keys) of one n and head.
static void take_keys(struct sam_biased_task *t, const struct sam_masked_attention *p, int n,
                      int head, int first, int keys)
{
    const size_t k_row = (p->k.n == 1 ? 0 : (size_t) n * p->k.w) + first;
    const size_t v_row = (p->v.n == 1 ? 0 : (size_t) n * p->v.w) + first;

    sam_biased_set_block(t, keys);
    for (int j = 0; j < keys; j++)
        sam_biased_set_key(t, j, &p->k, (k_row + j) * p->k.c + (size_t) head * t->b.dim, &p->v,
                           (v_row + j) * p->v.c + (size_t) head * t->dv);
}

static void attend_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_masked_attention *p = job->p;
    const int head = i % p->heads, chunk = i / p->heads % job->chunks;
    const int n = i / p->heads / job->chunks;
    const int first = (int) ((long) p->q.w * chunk / job->chunks);
    const int rows = (int) ((long) p->q.w * (chunk + 1) / job->chunks) - first;
    const size_t row = (size_t) n * p->q.w + first;
    const float *mask = (const float *) p->mask.data + row * p->k.w;
    bool all[SAM_BIASED_CHUNK];
    struct sam_biased_task t;

    sam_biased_open(&t, job->cpu, thread, p->q.c / p->heads, p->v.c / p->heads);
    sam_biased_begin(&t, rows);
    for (int r = 0; r < rows; r++) {
        all[r] = leaves_none(mask + (size_t) r * p->k.w, p->k.w);
        sam_biased_set_query(&t, r, &p->q, (row + r) * p->q.c + (size_t) head * t.b.dim, p->scale);
    }
    for (int key = 0; key < p->k.w; key += t.most_keys) {
        const int keys = p->k.w - key < t.most_keys ? p->k.w - key : t.most_keys;
        take_keys(&t, p, n, head, key, keys);
        for (int r = 0; r < rows; r++) {
            const float *of_row = mask + (size_t) r * p->k.w + key;
            float *bias = sam_biased_row(&t, r);
            for (int j = 0; j < keys; j++)
                bias[j] = of_row[j] < 0 && !all[r] ? SAM_BIASED_OUT : 0;
        }
        sam_biased_add(&t);
    }
    for (int r = 0; r < rows; r++)
        sam_biased_store(&t, r, &p->dst, (row + r) * p->dst.c + (size_t) head * t.dv);
}

void sam_masked_attention_cpu(struct sam_queue *q, const struct sam_masked_attention *p)
{
    struct job job = { sam_cpu(q), p, (p->q.w + SAM_BIASED_CHUNK - 1) / SAM_BIASED_CHUNK };
    sam_pool_run(job.cpu->pool, p->q.n * job.chunks * p->heads, attend_task, &job);
}

// SPDX-License-Identifier: MIT
// Random walks: a thread has a mask. Rows are relaxed in order, and every second place of a row:
// neither order matters, for neighbours of a place have the other colour.

#include <math.h>

#include "ops/cpu/cpu.h"
#include "ops/ref/ref.h"

struct job {
    struct sam_cpu *cpu;
    const struct sam_random_walk *p;
};

// One mask and its room, two planes of it.
struct walk {
    const struct job *job;
    float *logits, *given, *now;
};

static void begin(const struct walk *m)
{
    const struct sam_random_walk *p = m->job->p;
    const int w = p->logits.w;
    for (int y = 0; y < p->logits.h; y++) {
        float *given = m->given + (size_t) y * w, *now = m->now + (size_t) y * w;
        m->job->cpu->walk->prior(given, m->logits + (size_t) y * w, w);
        for (int x = 0; x < w; x++) {
            const bool is_free = x >= p->x0 && x < p->x1 && y >= p->y0 && y < p->y1;
            now[x] = given[x] = is_free ? given[x] : p->outside;
        }
    }
}

static void relax(const struct walk *m, int y, int colour, const float *zeros)
{
    const struct sam_random_walk *p = m->job->p;
    const int h = p->logits.h, w = p->logits.w;
    const size_t at = (size_t) y * w;
    const float *right = (const float *) p->edges.data + at, *down = right + (size_t) h * w;
    m->job->cpu->walk->relax(&(struct sam_walk_row) {
        .now = m->now + at, .given = m->given + at,
        .above = m->now + (y ? at - w : at), .below = m->now + (y + 1 < h ? at + w : at),
        .right = right, .up = y ? down - w : zeros, .down = down,
        .begin = p->x0 + (p->x0 + y + colour) % 2, .end = p->x1, .width = w,
        .fidelity = p->fidelity, .relaxation = p->relaxation });
}

// Most places are sure, and so many logarithms are one.
static void end(const struct walk *m)
{
    const struct sam_random_walk *p = m->job->p;
    const size_t places = (size_t) p->logits.h * p->logits.w;
    const float most = 2 * atanhf(p->most);
    for (size_t i = 0; i < places; i++) {
        const float x = m->now[i];
        m->logits[i] = x >= p->most ? most : x <= -p->most ? -most : logf((1 + x) / (1 - x));
    }
}

static void walk_task(void *priv, int n, int thread)
{
    const struct job *job = priv;
    const struct sam_random_walk *p = job->p;
    const size_t places = (size_t) p->logits.h * p->logits.w;
    float *room = (float *) p->room.data + 2 * (size_t) n * places;
    const struct walk m = { job, (float *) p->logits.data + (size_t) n * places, room,
                            room + places };
    float *zeros = sam_pool_workspace(job->cpu->pool, thread);
    if (!(((const float *) p->score.data)[n] > 0))
        return;
    for (int x = 0; x < p->logits.w; x++)
        zeros[x] = 0;
    begin(&m);
    for (int turn = 0; turn < 2 * p->rounds; turn++)
        for (int y = p->y0; y < p->y1; y++)
            relax(&m, y, turn, zeros);
    end(&m);
}

void sam_random_walk_cpu(struct sam_queue *q, const struct sam_random_walk *p)
{
    struct job job = { sam_cpu(q), p };
    if ((size_t) p->logits.w > SAM_POOL_WORKSPACE / sizeof(float)) // of zeros
        sam_random_walk_ref(q, p);
    else
        sam_pool_run(job.cpu->pool, p->logits.n, walk_task, &job);
}

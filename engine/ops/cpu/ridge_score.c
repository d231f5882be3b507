// SPDX-License-Identifier: MIT
// A thread has an object: scores of its cells, then rows of logits, each between two rows of cells
// that were stretched before.

#include <math.h>

#include "ops/cpu/cpu.h"
#include "ops/ref/ref.h"

enum { MAX_WIDTH = 1 << 18 }; // of cells, by which a stretched row fits in a thread's workspace

struct job {
    struct sam_cpu *cpu;
    const struct sam_ridge_score *p;
};

// The four cells nearest to a logit weigh 9, 3, 3 and 1 sixteenths; the border repeats itself.
static void stretch(float *wide, const float *cell, int w)
{
    for (int x = 0; x < w; x++) {
        const float here = 0.75f * cell[x];
        wide[2 * x] = here + 0.25f * cell[x ? x - 1 : 0];
        wide[2 * x + 1] = here + 0.25f * cell[x + 1 < w ? x + 1 : x];
    }
}

static void add_row(float *logits, const float *near, const float *far, float scale, int count)
{
    for (int i = 0; i < count; i++)
        logits[i] += scale * (0.75f * near[i] + 0.25f * far[i]);
}

static void score_task(void *priv, int n, int thread)
{
    const struct job *job = priv;
    const struct sam_ridge_score *p = job->p;
    const int c = p->features.c, h = p->features.h, w = p->features.w, cells = h * w;
    const float *weights = (const float *) p->weights.data + (size_t) n * (c + 1);
    const float *x = p->features.data;
    float *room = (float *) p->room.data + (size_t) n * cells;
    float *logits = (float *) p->logits.data + (size_t) n * 4 * cells;
    float *wide = sam_pool_workspace(job->cpu->pool, thread); // rows y - 1, y, y + 1 by y mod 3
    if (!(sam_load(&p->score, n) > 0))
        return;
    for (int i = 0; i < cells; i++, x += c)
        room[i] = fminf(fmaxf(weights[c] + ref_dot_f32(weights, x, c), -p->most), p->most);
    stretch(wide, room, w);
    for (int y = 0; y < h; y++) {
        const float *here = wide + (size_t) (y % 3) * 2 * w;
        const float *above = y ? wide + (size_t) ((y + 2) % 3) * 2 * w : here, *below = here;
        if (y + 1 < h) {
            stretch(wide + (size_t) ((y + 1) % 3) * 2 * w, room + (size_t) (y + 1) * w, w);
            below = wide + (size_t) ((y + 1) % 3) * 2 * w;
        }
        add_row(logits + (size_t) y * 4 * w, here, above, p->scale, 2 * w);
        add_row(logits + (size_t) y * 4 * w + 2 * w, here, below, p->scale, 2 * w);
    }
}

void sam_ridge_score_cpu(struct sam_queue *q, const struct sam_ridge_score *p)
{
    struct job job = { sam_cpu(q), p };
    if (p->features.w > MAX_WIDTH / 2)
        sam_ridge_score_ref(q, p);
    else
        sam_pool_run(job.cpu->pool, p->logits.n, score_task, &job);
}

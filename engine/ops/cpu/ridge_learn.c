// SPDX-License-Identifier: MIT
// Sums of ridge regression: a thread has an object. Its cells are weighed, and then multiplied in
// blocks: the features, times the weight, the weight itself and weight times wanted score are the
// rows of a matrix product with the features, of which a lower triangle is wanted.

#include <math.h>
#include <string.h>

#include "ops/cpu/rows.h"
#include "ops/ref/ref.h"

enum {
    BLOCK = 128, // cells
    MAX_ROWS = SAM_MAX_RIDGE + 2 + SAM_RIDGE_ROWS,
    MAX_CELLS = 1 << 20,
};

struct job {
    struct sam_cpu *cpu;
    const struct sam_ridge_learn *p;
};

// What a thread works with, in its workspace.
struct room {
    float left[BLOCK * MAX_ROWS], product[MAX_ROWS * SAM_MAX_RIDGE];
    float share[2][4 * SAM_MAX_SIDE]; // of two rows of logits
    uint8_t near[MAX_CELLS], wide[MAX_CELLS];
};
_Static_assert(sizeof(struct room) <= SAM_POOL_WORKSPACE, "a thread's workspace holds it");

// p of all cells. Returns how many are above 0.5.
static int average(const struct job *job, struct room *room, int n, float *shares)
{
    const struct sam_ridge_learn *p = job->p;
    const int h = p->features.h, w = p->features.w;
    const float *logits = (const float *) p->logits.data + (size_t) n * 4 * h * w;
    int inside = 0;
    for (int y = 0; y < h; y++) {
        for (int k = 0; k < 2; k++)
            job->cpu->rows->signal(room->share[k], logits + (size_t) (2 * y + k) * 2 * w, false, 1,
                                   0, 2 * (size_t) w);
        for (int x = 0; x < w; x++) {
            const float *top = room->share[0] + 2 * x, *low = room->share[1] + 2 * x;
            const float sum = top[0] + top[1] + low[0] + low[1];
            shares[y * w + x] = sum / 4;
            inside += sum / 4 > 0.5f;
        }
    }
    return inside;
}

// dst[i] = whether any of src[i - near] .. src[i + near] is set, of `count` that are `step` apart.
static void spread(uint8_t *dst, const uint8_t *src, int count, int step, int near)
{
    int last = -near - 1; // the latest that is set, at or before i + near
    for (int i = 0; i < near && i < count; i++)
        last = src[(size_t) i * step] ? i : last;
    for (int i = 0; i < count; i++) {
        if (i + near < count && src[(size_t) (i + near) * step])
            last = i + near;
        dst[(size_t) i * step] = last >= i - near;
    }
}

static void find_near(const struct sam_ridge_learn *p, struct room *room, const float *shares)
{
    const int h = p->features.h, w = p->features.w;
    const int near = p->near < h + w ? p->near : h + w;
    for (int i = 0; i < h * w; i++)
        room->near[i] = shares[i] > 0.5f;
    for (int y = 0; y < h; y++)
        spread(room->wide + (size_t) y * w, room->near + (size_t) y * w, w, 1, near);
    for (int x = 0; x < w; x++)
        spread(room->near + x, room->wide + x, h, w, near);
}

static float *row_of(struct room *room, int r, int c)
{
    return room->product + (size_t) r * c;
}

// Sums over all cells, times `part`, into room->product: rows of features, of 1 and of y. The last
// two's products with the constant 1 are returned.
static void multiply(const struct job *job, struct room *room, const float *shares, int inside,
                     float part, float last[2])
{
    const struct sam_ridge_learn *p = job->p;
    const int c = p->features.c, cells = p->features.h * p->features.w;
    const int rows = (c + 2 + SAM_RIDGE_ROWS - 1) / SAM_RIDGE_ROWS * SAM_RIDGE_ROWS;
    memset(room->product, 0, (size_t) rows * c * sizeof(float));
    last[0] = last[1] = 0;
    for (int begin = 0; begin < cells; begin += BLOCK) {
        const int count = cells - begin < BLOCK ? cells - begin : BLOCK;
        const float *features = (const float *) p->features.data + (size_t) begin * c;
        for (int i = 0; i < count; i++) {
            const float share = shares[begin + i], y = 2 * share - 1;
            const float *x = features + (size_t) i * c;
            float *left = room->left + (size_t) i * rows;
            float weight = part / (float) (share > 0.5f ? inside : cells - inside);
            weight *= room->near[begin + i] ? 1 : p->far;
            weight *= p->unsure + (1 - p->unsure) * fabsf(y);
            for (int k = 0; k < c; k++)
                left[k] = weight * x[k];
            left[c] = weight;
            left[c + 1] = weight * y;
            for (int k = c + 2; k < rows; k++)
                left[k] = 0;
            last[0] += weight;
            last[1] += weight * y;
        }
        job->cpu->ridge_products(room->product, room->left, features, count, rows, c);
    }
}

// s, a triangle and the right-hand side, = keep s + what was multiplied.
static void add_up(struct room *room, float *s, int c, float keep, const float last[2])
{
    for (int r = 0; r <= c; r++, s += r) {
        const float *product = row_of(room, r, c);
        for (int k = 0; k < (r < c ? r + 1 : c); k++)
            s[k] = keep * s[k] + product[k];
        if (r == c)
            s[c] = keep * s[c] + last[0];
    }
    for (int k = 0; k < c; k++)
        s[k] = keep * s[k] + row_of(room, c + 1, c)[k];
    s[c] = keep * s[c] + last[1];
}

static void learn(const struct job *job, struct room *room, int n, float *sums)
{
    const struct sam_ridge_learn *p = job->p;
    const int c = p->features.c, k = ref_count(&p->prompted, n);
    float *shares = (float *) p->room.data + (size_t) n * 2 * p->features.h * p->features.w;
    float *tracked = sums + p->sums.c / 2, last[2];
    const int inside = average(job, room, n, shares);
    find_near(p, room, shares);
    multiply(job, room, shares, inside, k ? 1 / (float) k : 1 - p->keep, last);
    if (k) {
        add_up(room, sums, c, 1 - 1 / (float) k, last);
        memset(tracked, 0, (size_t) p->sums.c / 2 * sizeof(*sums));
    } else {
        add_up(room, tracked, c, p->keep, last);
    }
}

static void learn_task(void *priv, int n, int thread)
{
    const struct job *job = priv;
    const struct sam_ridge_learn *p = job->p;
    const int after = ref_count(&p->after, n);
    if (after < 0)
        return;
    float *sums = ref_carry_row(&p->sums, ref_count(&p->before, n), after);
    if (sam_load(&p->score, n) > 0)
        learn(job, sam_pool_workspace(job->cpu->pool, thread), n, sums);
}

void sam_ridge_learn_cpu(struct sam_queue *q, const struct sam_ridge_learn *p)
{
    struct job job = { sam_cpu(q), p };
    if ((size_t) p->features.h * p->features.w > MAX_CELLS || p->features.w > 2 * SAM_MAX_SIDE)
        sam_ridge_learn_ref(q, p);
    else
        sam_pool_run(job.cpu->pool, p->logits.n, learn_task, &job);
}

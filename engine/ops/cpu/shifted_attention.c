// SPDX-License-Identifier: MIT
// Swin's attention, a window and a head at a time.

#include <math.h>
#include <string.h>

#include "ops/cpu/biased_task.h"

struct job {
    struct sam_cpu *cpu;
    const struct sam_shifted_attention *p;
    int down, across; // windows
};

// One window: its first position, on the torus of down * window x across * window positions.
struct window {
    const struct sam_shifted_attention *p;
    int n, head, top, left, rows, columns;
};

// Position i of the window: where its channels begin in the map; -1: it is not of the map.
static long find(const struct window *w, int i)
{
    const struct sam_tensor *t = &w->p->qkv;
    const int y = (w->top + i / w->p->window) % w->rows;
    const int x = (w->left + i % w->p->window) % w->columns;
    return y < t->h && x < t->w ? ((long) w->n * t->h + y) * t->w + x : -1;
}

static void take_keys(struct sam_biased_task *t, const struct window *w, int first, int keys)
{
    const struct sam_shifted_attention *p = w->p;
    const size_t k = (size_t) p->dst.c + (size_t) w->head * t->b.dim, v = k + p->dst.c;

    sam_biased_set_block(t, keys);
    for (int j = 0; j < keys; j++) {
        const long row = find(w, first + j);
        const struct sam_tensor *from = row < 0 ? &p->pad : &p->qkv;
        const size_t at = row < 0 ? 0 : (size_t) row * p->qkv.c;
        sam_biased_set_key(t, j, from, at + k, from, at + v);
    }
}

// Whether the two positions of a window lie on different sides of the map's end.
static bool apart(const struct window *w, int i, int j)
{
    const int side = w->p->window;
    return (w->top + i / side >= w->rows) != (w->top + j / side >= w->rows) ||
           (w->left + i % side >= w->columns) != (w->left + j % side >= w->columns);
}

static void fill_row(const struct window *w, int query, int first, int keys, float *bias)
{
    const int side = w->p->window, wide = 2 * side - 1;
    const float *table = (const float *) w->p->bias.data + (size_t) w->head * wide * wide;
    const bool crosses = w->top + side > w->rows || w->left + side > w->columns;

    for (int j = 0; j < keys; j++) {
        const int key = first + j, y = query / side - key / side, x = query % side - key % side;
        bias[j] = table[(y + side - 1) * wide + x + side - 1];
        if (crosses && apart(w, query, key))
            bias[j] -= 100;
    }
}

// Queries [first, first + rows) of the window. packed: its keys are one block, and stand there.
static void attend(struct sam_biased_task *t, const struct window *w, int first, int rows,
                   bool packed)
{
    const struct sam_shifted_attention *p = w->p;
    const int all = p->window * p->window;
    const float scale = 1 / sqrtf((float) t->b.dim);

    sam_biased_begin(t, rows);
    for (int r = 0; r < rows; r++) {
        const long row = find(w, first + r);
        sam_biased_set_query(t, r, row < 0 ? &p->pad : &p->qkv,
                             (row < 0 ? 0 : (size_t) row * p->qkv.c) +
                                 (size_t) w->head * t->b.dim, scale);
    }
    for (int key = 0; key < all; key += t->most_keys) {
        const int keys = all - key < t->most_keys ? all - key : t->most_keys;
        if (!packed)
            take_keys(t, w, key, keys);
        for (int r = 0; r < rows; r++)
            fill_row(w, first + r, key, keys, sam_biased_row(t, r));
        sam_biased_add(t);
    }
    for (int r = 0; r < rows; r++) {
        const long row = find(w, first + r);
        if (row >= 0)
            sam_biased_store(t, r, &p->dst,
                             (size_t) row * p->dst.c + (size_t) w->head * t->dv);
    }
}

static void window_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_shifted_attention *p = job->p;
    const int dim = p->dst.c / p->heads, all = p->window * p->window;
    const int at = i / p->heads % (job->down * job->across);
    const struct window w = {
        .p = p, .head = i % p->heads, .n = i / p->heads / (job->down * job->across),
        .top = at / job->across * p->window + p->shift,
        .left = at % job->across * p->window + p->shift,
        .rows = job->down * p->window, .columns = job->across * p->window,
    };
    struct sam_biased_task t;

    sam_biased_open(&t, job->cpu, thread, dim, dim);
    for (int first = 0; first < all; first += SAM_BIASED_CHUNK)
        attend(&t, &w, first, all - first < SAM_BIASED_CHUNK ? all - first : SAM_BIASED_CHUNK,
               first && all <= t.most_keys);
}

void sam_shifted_attention_cpu(struct sam_queue *q, const struct sam_shifted_attention *p)
{
    struct job job = { sam_cpu(q), p, (p->qkv.h + p->window - 1) / p->window,
                       (p->qkv.w + p->window - 1) / p->window };
    sam_pool_run(job.cpu->pool, p->qkv.n * job.down * job.across * p->heads, window_task, &job);
}

// SPDX-License-Identifier: MIT
// What the two attentions with biased scores share: see biased.h.

#include "ops/cpu/biased_task.h"

#include <string.h>

#include "ops/cpu/rows.h"

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

static float *cut(float **at, size_t count)
{
    float *p = *at;
    *at += round_up((int) count, 16);
    return p;
}

void sam_biased_open(struct sam_biased_task *t, struct sam_cpu *cpu, int thread, int dk, int dv)
{
    struct sam_biased *b = &t->b;
    float *at = sam_pool_workspace(cpu->pool, thread);
    const int wide = round_up(dv, SAM_BIASED_LANES), larger = dk > wide ? dk : wide;
    const int fit = SAM_BIASED_PACKED / larger / SAM_BIASED_LANES * SAM_BIASED_LANES;

    _Static_assert((2 * SAM_BIASED_PACKED + 2 * SAM_BIASED_CHUNK * SAM_MAX_HEAD_DIM +
                    SAM_BIASED_CHUNK * (SAM_BIASED_KEYS + 2) + SAM_MAX_HEAD_DIM + 256) * 4 <=
                       SAM_POOL_WORKSPACE, "a task's arrays do not fit a thread's workspace");
    *t = (struct sam_biased_task) { .cpu = cpu, .dv = dv };
    t->most_keys = fit < SAM_BIASED_KEYS ? fit : SAM_BIASED_KEYS;
    b->dim = dk;
    b->wide = wide;
    b->key = cut(&at, SAM_BIASED_PACKED);
    b->value = cut(&at, SAM_BIASED_PACKED);
    b->query = cut(&at, (size_t) SAM_BIASED_CHUNK * dk);
    b->out = cut(&at, (size_t) SAM_BIASED_CHUNK * wide);
    b->score = cut(&at, (size_t) SAM_BIASED_CHUNK * SAM_BIASED_KEYS);
    b->largest = cut(&at, SAM_BIASED_CHUNK);
    b->sum = cut(&at, SAM_BIASED_CHUNK);
    t->row = cut(&at, SAM_MAX_HEAD_DIM);
}

const float *sam_biased_floats(const struct sam_biased_task *t, const struct sam_tensor *from,
                               size_t at, int count)
{
    if (from->type == SAM_F32)
        return (const float *) from->data + at;
    t->cpu->rows->convert((struct sam_span) { t->row, SAM_F32 }, sam_span_at(from, at), count);
    return t->row;
}

void sam_biased_begin(struct sam_biased_task *t, int rows)
{
    struct sam_biased *b = &t->b;

    t->rows = rows;
    b->rows = round_up(rows, SAM_BIASED_ROWS);
    memset(b->query + (size_t) rows * b->dim, 0,
           (size_t) (b->rows - rows) * b->dim * sizeof(float));
    memset(b->out, 0, (size_t) b->rows * b->wide * sizeof(float));
    for (int i = 0; i < b->rows; i++)
        b->largest[i] = SAM_BIASED_OUT, b->sum[i] = 0;
}

void sam_biased_set_query(struct sam_biased_task *t, int row, const struct sam_tensor *from,
                          size_t at, float scale)
{
    const float *q = sam_biased_floats(t, from, at, t->b.dim);
    for (int c = 0; c < t->b.dim; c++)
        t->b.query[(size_t) row * t->b.dim + c] = q[c] * scale;
}

void sam_biased_set_block(struct sam_biased_task *t, int keys)
{
    t->b.keys = keys;
    t->b.pitch = round_up(keys, SAM_BIASED_LANES);
    if (t->b.pitch > keys)
        for (int c = 0; c < t->b.dim; c++)
            memset(t->b.key + (size_t) c * t->b.pitch + keys, 0,
                   (size_t) (t->b.pitch - keys) * sizeof(float));
}

void sam_biased_set_key(struct sam_biased_task *t, int j, const struct sam_tensor *k, size_t k_at,
                        const struct sam_tensor *v, size_t v_at)
{
    struct sam_biased *b = &t->b;
    float *value = b->value + (size_t) j * b->wide;

    const float *key = sam_biased_floats(t, k, k_at, b->dim);
    for (int c = 0; c < b->dim; c++)
        b->key[(size_t) c * b->pitch + j] = key[c];
    memcpy(value, sam_biased_floats(t, v, v_at, t->dv), (size_t) t->dv * sizeof(float));
    memset(value + t->dv, 0, (size_t) (b->wide - t->dv) * sizeof(float));
}

float *sam_biased_row(struct sam_biased_task *t, int row)
{
    float *bias = t->b.score + (size_t) row * t->b.pitch;
    for (int j = t->b.keys; j < t->b.pitch; j++)
        bias[j] = SAM_BIASED_OUT;
    return bias;
}

void sam_biased_add(struct sam_biased_task *t)
{
    for (int i = t->rows; i < t->b.rows; i++)
        memset(t->b.score + (size_t) i * t->b.pitch, 0, (size_t) t->b.pitch * sizeof(float));
    t->cpu->biased_block(&t->b);
}

void sam_biased_store(struct sam_biased_task *t, int row, const struct sam_tensor *dst, size_t at)
{
    float *out = t->b.out + (size_t) row * t->b.wide;
    for (int c = 0; c < t->dv; c++)
        out[c] /= t->b.sum[row];
    t->cpu->rows->convert(sam_span_at(dst, at), (struct sam_span) { out, SAM_F32 }, t->dv);
}

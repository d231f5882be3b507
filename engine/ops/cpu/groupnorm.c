// SPDX-License-Identifier: MIT
// GroupNorm. Threads share the positions by parts, the same ones whatever their number. Sums of a
// part are kept per channel, in F32, and added up over parts and the channels of a group in double:
// first those of the numbers, then those of the squares of their distances from the mean.

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ops/cpu/rows.h"
#include "ops/ref/ref.h"

enum {
    MAX_PARTS    = 64,
    PART_NUMBERS = 1 << 15, // that are worth a thread
    MAX_CHANNELS = SAM_POOL_WORKSPACE / 4 / MAX_PARTS / sizeof(float),
    LANES        = 16,
};

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

struct job {
    struct sam_cpu *cpu;
    const struct sam_groupnorm *p;
    struct sam_tensor src, dst; // one n
    float *sums;                // (parts, c)
    float *mean, *scale, *shift; // (c): y = (x - mean) scale + shift
    int parts;
    bool squares;
};

typedef int32_t bits __attribute__((vector_size(LANES * sizeof(int32_t))));

#define INLINE static inline __attribute__((always_inline))

// sums[c] += x[c] - mean[c], or its square.
INLINE void add_row(float *restrict sums, const float *restrict x, const float *restrict mean,
                    int c, bool squares)
{
    int i = 0;
    for (; i + LANES <= c; i += LANES) {
        lanes s, v, m;
        memcpy(&s, sums + i, sizeof(s)), memcpy(&v, x + i, sizeof(v));
        memcpy(&m, mean + i, sizeof(m));
        v -= m;
        s += squares ? v * v : v;
        memcpy(sums + i, &s, sizeof(s));
    }
    for (; i < c; i++)
        sums[i] += squares ? (x[i] - mean[i]) * (x[i] - mean[i]) : x[i] - mean[i];
}

INLINE void normalize_row(float *y, const float *x, const struct job *job, int c, bool relu)
{
    int i = 0;
    for (; i + LANES <= c; i += LANES) {
        lanes v, m, s, b;
        memcpy(&v, x + i, sizeof(v)), memcpy(&m, job->mean + i, sizeof(m));
        memcpy(&s, job->scale + i, sizeof(s)), memcpy(&b, job->shift + i, sizeof(b));
        v = (v - m) * s + b;
        if (relu)
            v = (lanes) ((bits) v & ~(v < 0)); // a NaN stays one
        memcpy(y + i, &v, sizeof(v));
    }
    for (; i < c; i++) {
        const float v = (x[i] - job->mean[i]) * job->scale[i] + job->shift[i];
        y[i] = relu && v < 0 ? 0 : v;
    }
}

// A thread's own rows: behind the shared arrays.
static float *room(const struct job *job, int thread)
{
    return (float *) sam_pool_workspace(job->cpu->pool, thread) + SAM_POOL_WORKSPACE / 2 / 4;
}

static const float *floats(const struct job *job, size_t row, float *at)
{
    const int c = job->src.c;
    if (job->src.type == SAM_F32)
        return (const float *) job->src.data + row * c;
    job->cpu->rows->convert((struct sam_span) { at, SAM_F32 }, sam_span_at(&job->src, row * c), c);
    return at;
}

static void sum_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const int c = job->src.c;
    const size_t rows = sam_rows(&job->src);
    float *at = room(job, thread), *sums = job->sums + (size_t) i * c;

    memset(sums, 0, (size_t) c * sizeof(float));
    for (size_t row = rows * i / job->parts; row < rows * (i + 1) / job->parts; row++) {
        const float *x = floats(job, row, at);
        if (job->squares)
            add_row(sums, x, job->mean, c, true);
        else
            add_row(sums, x, job->mean, c, false);
    }
}

static void normalize_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const int c = job->src.c;
    const size_t rows = sam_rows(&job->src);
    float *at = room(job, thread);

    for (size_t row = rows * i / job->parts; row < rows * (i + 1) / job->parts; row++) {
        const bool plain = job->dst.type == SAM_F32;
        float *y = plain ? (float *) job->dst.data + row * c : at + c;
        normalize_row(y, floats(job, row, at), job, c, job->p->act == SAM_ACT_RELU);
        if (!plain)
            job->cpu->rows->convert(sam_span_at(&job->dst, row * c),
                                    (struct sam_span) { y, SAM_F32 }, c);
    }
}

// The sum over a group's channels of all parts, by the number of numbers.
static double mean_of_group(const struct job *job, int group)
{
    const int c = job->src.c, width = c / job->p->groups;
    double sum = 0;
    for (int i = 0; i < job->parts; i++)
        for (int k = group * width; k < (group + 1) * width; k++)
            sum += job->sums[(size_t) i * c + k];
    return sum / ((double) sam_rows(&job->src) * width);
}

// Distances are taken from the first number, so that the means of large numbers keep their digits.
static void normalize(struct job *job)
{
    const struct sam_groupnorm *p = job->p;
    const int c = job->src.c, width = c / p->groups;
    const float first = sam_load(&job->src, 0);

    for (int k = 0; k < c; k++)
        job->mean[k] = first;
    job->squares = false;
    sam_pool_run(job->cpu->pool, job->parts, sum_task, job);
    for (int g = 0; g < p->groups; g++) {
        const float mean = (float) (first + mean_of_group(job, g));
        for (int k = g * width; k < (g + 1) * width; k++)
            job->mean[k] = mean;
    }
    job->squares = true;
    sam_pool_run(job->cpu->pool, job->parts, sum_task, job);
    for (int g = 0; g < p->groups; g++) {
        const double scale = 1 / sqrt(mean_of_group(job, g) + p->eps);
        for (int k = g * width; k < (g + 1) * width; k++) {
            job->scale[k] = (float) (scale * sam_load(&p->gamma, k));
            job->shift[k] = sam_load(&p->beta, k);
        }
    }
    sam_pool_run(job->cpu->pool, job->parts, normalize_task, job);
}

void sam_groupnorm_cpu(struct sam_queue *q, const struct sam_groupnorm *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const size_t c = p->src.c, parts = (size_t) p->src.h * p->src.w * c / PART_NUMBERS;
    float *shared = sam_pool_workspace(cpu->pool, 0);

    if (c > MAX_CHANNELS) {
        sam_groupnorm_ref(q, p);
        return;
    }
    for (int n = 0; n < p->src.n; n++) {
        struct job job = { cpu, p, sam_slice(p->src, n), sam_slice(p->dst, n),
                           .sums = shared, .mean = shared + MAX_PARTS * c,
                           .scale = shared + (MAX_PARTS + 1) * c,
                           .shift = shared + (MAX_PARTS + 2) * c,
                           .parts = parts < 1 ? 1 : parts > MAX_PARTS ? MAX_PARTS : (int) parts };
        normalize(&job);
    }
}

// SPDX-License-Identifier: MIT
// A thread has an object: the reference's decomposition, whose products are summed in parts, side
// by side.

#include <math.h>

#include "ops/cpu/cpu.h"
#include "ops/ref/ref.h"

enum { LANES = 4 };

struct job {
    struct sam_cpu *cpu;
    const struct sam_ridge_fit *p;
};

static double dot(const double *a, const double *b, int count)
{
    double lane[LANES] = { 0 }, sum = 0;
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += a[i + l] * b[i + l];
    for (; i < count; i++)
        sum += a[i] * b[i];
    return sum + (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

// L in place of the lower triangle, and of x what L z = x has for z. False: it has none.
static bool decompose(double *a, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        double *row = a + (size_t) i * n;
        for (int k = 0; k < i; k++)
            row[k] = (row[k] - dot(row, a + (size_t) k * n, k)) / a[(size_t) k * n + k];
        const double left = row[i] - dot(row, row, i);
        if (!(left > 0))
            return false;
        row[i] = sqrt(left);
        x[i] = (x[i] - dot(row, x, i)) / row[i];
    }
    return true;
}

static void solve(const double *l, double *x, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        const double *row = l + (size_t) i * n;
        x[i] /= row[i];
        for (int k = 0; k < i; k++)
            x[k] -= row[k] * x[i];
    }
}

static void add_up(const struct sam_ridge_fit *p, const float *s, double *a, double *x)
{
    const int n = p->dst.c, half = p->sums.c / 2;
    double mean = 0;
    for (int i = 0; i < n; i++, s += i) {
        for (int k = 0; k <= i; k++)
            a[(size_t) i * n + k] = (double) s[k] + (double) s[half + k];
        mean += a[(size_t) i * n + i] / n;
    }
    for (int i = 0; i < n; i++) {
        x[i] = (double) s[i] + (double) s[half + i];
        a[(size_t) i * n + i] += (double) p->ridge * mean;
    }
}

static void fit_task(void *priv, int n, int thread)
{
    const struct sam_ridge_fit *p = ((const struct job *) priv)->p;
    const int slot = ref_count(&p->slot, n), numbers = p->dst.c;
    float *dst = (float *) p->dst.data + (size_t) n * numbers;
    float *begin = (float *) p->room.data + (size_t) n * p->room.w * p->room.c;
    double *a = (double *) (((uintptr_t) begin + 7) & ~(uintptr_t) 7), x[SAM_MAX_RIDGE + 1];
    bool fits = slot >= 0 && sam_load(&p->score, n) > 0;
    if (fits) {
        add_up(p, (const float *) p->sums.data + (size_t) slot * p->sums.c, a, x);
        fits = decompose(a, x, numbers);
    }
    if (fits)
        solve(a, x, numbers);
    for (int i = 0; i < numbers; i++)
        dst[i] = fits ? (float) x[i] : 0;
}

void sam_ridge_fit_cpu(struct sam_queue *q, const struct sam_ridge_fit *p)
{
    struct job job = { sam_cpu(q), p };
    sam_pool_run(job.cpu->pool, p->dst.n, fit_task, &job);
}

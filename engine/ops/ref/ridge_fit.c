// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// The room of entry n, which has a row more than it needs, so that it can be aligned.
static double *doubles_of(const struct sam_tensor *room, int n)
{
    float *begin = (float *) room->data + (size_t) n * room->w * room->c;
    return (double *) (((uintptr_t) begin + 7) & ~(uintptr_t) 7);
}

// L of the Cholesky decomposition of a lower triangle, in place, rows of n. False: it has none.
static bool decompose(double *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= i; k++) {
            double sum = a[i * n + k];
            for (int j = 0; j < k; j++)
                sum -= a[i * n + j] * a[k * n + j];
            if (i == k && !(sum > 0))
                return false;
            a[i * n + k] = i == k ? sqrt(sum) : sum / a[k * n + k];
        }
    return true;
}

static void solve(const double *l, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            x[i] -= l[i * n + j] * x[j];
        x[i] /= l[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            x[i] -= l[j * n + i] * x[j];
        x[i] /= l[i * n + i];
    }
}

// Both sums of a row: the lower triangle to a, the right-hand side to x.
static void add_up(const struct sam_ridge_fit *p, int slot, double *a, double *x)
{
    const int n = p->dst.c, half = p->sums.c / 2;
    const float *s = (const float *) p->sums.data + (size_t) slot * p->sums.c;
    double mean = 0;
    for (int i = 0; i < n; i++, s += i) {
        for (int k = 0; k <= i; k++)
            a[i * n + k] = (double) s[k] + (double) s[half + k];
        mean += a[i * n + i] / n;
    }
    for (int i = 0; i < n; i++) {
        x[i] = (double) s[i] + (double) s[half + i];
        a[i * n + i] += (double) p->ridge * mean;
    }
}

void sam_ridge_fit_ref(struct sam_queue *q, const struct sam_ridge_fit *p)
{
    double x[SAM_MAX_RIDGE + 1];
    const int numbers = p->dst.c;
    for (int n = 0; n < p->dst.n; n++) {
        const int slot = ref_count(&p->slot, n);
        double *a = doubles_of(&p->room, n);
        bool fits = slot >= 0 && sam_load(&p->score, n) > 0;
        if (fits) {
            add_up(p, slot, a, x);
            fits = decompose(a, numbers);
        }
        if (fits)
            solve(a, numbers, x);
        for (int i = 0; i < numbers; i++)
            sam_store(&p->dst, (size_t) n * numbers + i, fits ? (float) x[i] : 0);
    }
}

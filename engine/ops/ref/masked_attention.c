// SPDX-License-Identifier: MIT
// As attention.c, for one query and one head at a time, with the keys that the mask leaves.

#include "ops/ref/ref.h"

struct item {
    size_t q, k, v, dst; // where the query, key 0, its value and the result begin, for this head
    const float *mask;   // of the query's keys; NULL: all count
};

static void attend(const struct sam_masked_attention *p, const struct item *at)
{
    const int dk = p->q.c / p->heads, dv = p->v.c / p->heads;
    double largest = -INFINITY, total = 0, sum[SAM_MAX_HEAD_DIM] = { 0 };

    for (int j = 0; j < p->k.w; j++)
        if (!at->mask || !(at->mask[j] < 0))
            largest = fmax(largest, p->scale * ref_dot(&p->q, at->q, &p->k,
                                                       at->k + (size_t) j * p->k.c, dk));
    for (int j = 0; j < p->k.w; j++) {
        if (at->mask && at->mask[j] < 0)
            continue;
        const double dot = ref_dot(&p->q, at->q, &p->k, at->k + (size_t) j * p->k.c, dk);
        const double weight = exp(p->scale * dot - largest);
        total += weight;
        ref_accumulate(sum, weight, &p->v, at->v + (size_t) j * p->v.c, dv);
    }
    for (int c = 0; c < dv; c++)
        sam_store(&p->dst, at->dst + c, (float) (sum[c] / total));
}

static bool leaves_none(const float *mask, int keys)
{
    int j = 0;
    while (j < keys && mask[j] < 0)
        j++;
    return j == keys;
}

void sam_masked_attention_ref(struct sam_queue *q, const struct sam_masked_attention *p)
{
    const size_t dk = p->q.c / p->heads, dv = p->v.c / p->heads, keys = p->k.w;
    for (size_t row = 0; row < (size_t) p->q.n * p->q.w; row++) {
        const size_t n = row / p->q.w;
        const float *mask = (const float *) p->mask.data + row * keys;
        for (int head = 0; head < p->heads; head++)
            attend(p, &(struct item) {
                .q = row * p->q.c + head * dk,
                .k = (p->k.n == 1 ? 0 : n * keys) * p->k.c + head * dk,
                .v = (p->v.n == 1 ? 0 : n * keys) * p->v.c + head * dv,
                .dst = row * p->dst.c + head * dv,
                .mask = leaves_none(mask, p->k.w) ? NULL : mask });
    }
}

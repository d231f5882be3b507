// SPDX-License-Identifier: MIT
// Attention, one query and one head at a time: first the largest score, then the weighted sum. The
// scores are computed twice, so that no memory is needed for them, however many keys there are.

#include "ops/ref/ref.h"

// q_at, k_at, v_at, dst_at: where the numbers of this query, of key 0 and of its value, and of
// the result begin, for this head.
static void attend(const struct sam_attention *p, size_t q_at, size_t k_at, size_t v_at,
                   size_t dst_at, int num_keys, int num_first)
{
    const int dk = p->q.c / p->heads, dv = p->v.c / p->heads;
    double largest = -INFINITY, total = 0, sum[SAM_MAX_HEAD_DIM];

    for (int j = 0; j < num_keys; j++) {
        const double dot = ref_dot(&p->q, q_at, &p->k, k_at + (size_t) j * p->k.c, dk);
        largest = fmax(largest, p->scale * dot + (j < num_first ? 0 : p->rest));
    }
    for (int c = 0; c < dv; c++)
        sum[c] = 0;
    for (int j = 0; j < num_keys; j++) {
        const double dot = ref_dot(&p->q, q_at, &p->k, k_at + (size_t) j * p->k.c, dk);
        const double weight = exp(p->scale * dot + (j < num_first ? 0 : p->rest) - largest);
        total += weight;
        ref_accumulate(sum, weight, &p->v, v_at + (size_t) j * p->v.c, dv);
    }
    for (int c = 0; c < dv; c++)
        sam_store(&p->dst, dst_at + c, (float) (sum[c] / total));
}

void sam_attention_ref(struct sam_queue *q, const struct sam_attention *p)
{
    const size_t dk = p->q.c / p->heads, dv = p->v.c / p->heads;
    for (int n = 0; n < p->q.n; n++) {
        const size_t k_row = p->k.n == 1 ? 0 : (size_t) n * p->k.w;
        const size_t v_row = p->v.n == 1 ? 0 : (size_t) n * p->v.w;
        const int num_keys = p->num_keys.data ? ref_count(&p->num_keys, n) : p->k.w;
        const int num_first = p->num_first.data ? ref_count(&p->num_first, n) : num_keys;
        for (int i = 0; i < p->q.w; i++)
            for (int head = 0; head < p->heads; head++) {
                const size_t row = (size_t) n * p->q.w + i;
                attend(p, row * p->q.c + head * dk, k_row * p->k.c + head * dk,
                       v_row * p->v.c + head * dv, row * p->dst.c + head * dv, num_keys,
                       num_first);
            }
    }
}

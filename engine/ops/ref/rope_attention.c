// SPDX-License-Identifier: MIT
// Attention with keys that are computed on the fly, as the contract states it: every key is
// computed twice for every query. Written to be read; on backends without another version, models
// store their keys instead.
#include <math.h>

#include "ops/ref/ref.h"

// Key j of n: the product, then the turn.
static void make_key(const struct sam_rope_attention *p, int n, int j, double *key)
{
    const int d = p->q.c, m = p->keys.c, side = p->axis.w;
    for (int o = 0; o < d; o++)
        key[o] = sam_load(&p->weight, (size_t) m * d + o);
    for (int c = 0; c < m; c++)
        ref_accumulate(key, sam_load(&p->keys, ((size_t) n * p->keys.w + j) * m + c), &p->weight,
                       (size_t) c * d, d);
    if (j >= ref_count(&p->num_rotated, n))
        return;
    const int place = j % (side * side), x = place % side, y = place / side;
    for (int o = 0; o < d; o += 2) {
        const int half = d / 2, step = o < half ? x : y;
        const size_t angle = (size_t) step * half + o % half;
        const double cosine = sam_load(&p->axis, angle), sine = sam_load(&p->axis, angle + 1);
        const double re = key[o], im = key[o + 1];
        key[o] = re * cosine - im * sine;
        key[o + 1] = re * sine + im * cosine;
    }
}

static double score(const struct sam_rope_attention *p, int n, int i, int j)
{
    const int d = p->q.c;
    double key[SAM_MAX_HEAD_DIM], sum = 0;
    float room[REF_CHUNK];
    make_key(p, n, j, key);
    for (int o = 0; o < d; o += REF_CHUNK) {
        const int count = d - o < REF_CHUNK ? d - o : REF_CHUNK;
        const float *v = ref_floats(&p->q, ((size_t) n * p->q.w + i) * d + o, count, room);
        for (int k = 0; k < count; k++)
            sum += key[o + k] * v[k];
    }
    return p->scale * sum;
}

void sam_rope_attention_ref(struct sam_queue *q, const struct sam_rope_attention *p)
{
    const int dv = p->values.c;
    for (int n = 0; n < p->q.n; n++)
        for (int i = 0; i < p->q.w; i++) {
            const int num_keys = ref_count(&p->num_keys, n);
            double largest = -INFINITY, total = 0, sum[SAM_MAX_HEAD_DIM] = { 0 };
            for (int j = 0; j < num_keys; j++)
                largest = fmax(largest, score(p, n, i, j));
            for (int j = 0; j < num_keys; j++) {
                const double weight = exp(score(p, n, i, j) - largest);
                total += weight;
                ref_accumulate(sum, weight, &p->values, ((size_t) n * p->values.w + j) * dv, dv);
            }
            for (int c = 0; c < dv; c++)
                sam_store(&p->dst, ((size_t) n * p->q.w + i) * dv + c, (float) (sum[c] / total));
        }
}

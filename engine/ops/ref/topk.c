// SPDX-License-Identifier: MIT
// The k largest numbers, by looking for the largest that is left k times.

#include <string.h>

#include "ops/ref/ref.h"

static bool is_larger(float a, float b)
{
    return a > b || (isnan(b) && !isnan(a));
}

// -1: none is left.
static int best_of(const struct sam_topk *p, const float *src, const int32_t *taken)
{
    int best = -1;
    for (int i = 0; i < p->src.c; i++)
        if ((p->all || src[i] > p->threshold) && !taken[i] &&
            (best < 0 || is_larger(src[i], src[best])))
            best = i;
    return best;
}

void sam_topk_ref(struct sam_queue *q, const struct sam_topk *p)
{
    const int count = p->src.c, k = p->index.c;
    for (int n = 0; n < p->src.n; n++) {
        const float *src = (const float *) p->src.data + (size_t) n * count;
        int32_t *taken = (int32_t *) p->room.data + (size_t) n * p->room.c;
        int32_t *num = (int32_t *) p->num.data + n;
        memset(taken, 0, count * sizeof(*taken));
        *num = 0;
        for (int i = 0; i < k; i++) {
            const int best = *num == i ? best_of(p, src, taken) : -1;
            ((int32_t *) p->index.data)[(size_t) n * k + i] = best;
            ((float *) p->score.data)[(size_t) n * k + i] = best < 0 ? 0 : src[best];
            if (best >= 0)
                taken[best] = 1, *num = i + 1;
        }
    }
}

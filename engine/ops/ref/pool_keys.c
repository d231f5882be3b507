// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static float mean(const struct sam_pool_keys *p, size_t row, int c)
{
    const struct sam_tensor *src = &p->src;
    double sum = 0;

    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 2; x++)
            sum += sam_load(src, (row + (size_t) y * p->side + x) * src->c + c);
    return (float) (sum / 4 + p->shift);
}

void sam_pool_keys_ref(struct sam_queue *q, const struct sam_pool_keys *p)
{
    const int c = p->src.c, half = p->side / 2;

    for (int n = 0; n < p->src.n; n++) {
        const int rotated = ref_count(&p->num_rotated, n), keys = ref_count(&p->num_keys, n);
        const bool pools = rotated > p->side * p->side;
        const int means = pools ? rotated / 4 : 0, rows = means + keys - (pools ? rotated : 0);
        const int held = rows < p->dst.w ? rows : p->dst.w;

        for (int r = 0; r < held; r++) {
            const int map = r / (half * half), y = r / half % half, x = r % half;
            const size_t from = (size_t) n * p->src.w +
                (r < means ? (map * p->side + 2 * y) * p->side + 2 * x
                           : r + (pools ? rotated - means : 0));
            for (int i = 0; i < c; i++)
                sam_store(&p->dst, ((size_t) n * p->dst.w + r) * c + i,
                          r < means ? mean(p, from, i) : sam_load(&p->src, from * c + i));
        }
        ((int32_t *) p->counts.data)[n] = held;
        ((int32_t *) p->counts.data)[p->src.n + n] = pools && means < held ? means : held;
    }
}

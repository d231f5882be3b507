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
    const int c = p->src.c, half = p->side / 2, N = p->side * p->side;

    for (int n = 0; n < p->src.n; n++) {
        const int rotated = ref_count(&p->num_rotated, n), keys = ref_count(&p->num_keys, n);
        const int maps = rotated / N, pooled = p->between ? maps - 2 : maps;
        const int means = maps > 1 ? pooled * half * half : 0, rows = keys - 3 * means;
        const int held = rows < p->dst.w ? rows : p->dst.w;

        for (int r = 0; r < held; r++) {
            const int map = r / (half * half) + p->between, y = r / half % half, x = r % half;
            const int other = r - means, behind = p->between && other < N ? 0 : 4 * means;
            const size_t from = (size_t) n * p->src.w +
                (r < means ? (map * p->side + 2 * y) * p->side + 2 * x : other + behind);
            for (int i = 0; i < c; i++)
                sam_store(&p->dst, ((size_t) n * p->dst.w + r) * c + i,
                          r < means ? mean(p, from, i) : sam_load(&p->src, from * c + i));
        }
        ((int32_t *) p->counts.data)[n] = held;
        ((int32_t *) p->counts.data)[p->src.n + n] = means && means < held ? means : held;
    }
}

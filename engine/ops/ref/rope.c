// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

static void rotate_row(const struct sam_rope *p, size_t at, size_t angle_at)
{
    for (int i = 0; i < p->src.c; i += 2) {
        const float re = sam_load(&p->src, at + i), im = sam_load(&p->src, at + i + 1);
        const float cosine = sam_load(&p->table, angle_at + i);
        const float sine = sam_load(&p->table, angle_at + i + 1);
        sam_store(&p->dst, at + i, re * cosine - im * sine);
        sam_store(&p->dst, at + i + 1, re * sine + im * cosine);
    }
}

void sam_rope_ref(struct sam_queue *q, const struct sam_rope *p)
{
    const int rows = p->src.h * p->src.w, c = p->src.c;
    for (int n = 0; n < p->src.n; n++) {
        const int num_rotated = p->num_rotated.data ? ref_count(&p->num_rotated, n) : rows;
        for (int r = 0; r < rows; r++) {
            const size_t at = ((size_t) n * rows + r) * c;
            if (r < num_rotated)
                rotate_row(p, at, (size_t) (r % p->table.w) * c);
            else
                for (int i = 0; i < c; i++)
                    sam_store(&p->dst, at + i, sam_load(&p->src, at + i));
        }
    }
}

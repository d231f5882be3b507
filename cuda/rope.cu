// SPDX-License-Identifier: MIT
// Rotary positions.
//
// Shape: a thread turns two pairs, or one where rows or starts are odd.
// Traffic: src once, dst once; the table comes from the cache for every n after the first.
#include "view.cuh"

struct rope_at {
    view dst, src;
    const float *table;
    const int *num_rotated; // NULL: all
    unsigned rows, c, table_rows;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned channel = i % c, row = i / c % rows, n = i / c / rows;
        float v[N], angle[N];
        load(v, src, i);
        if (!num_rotated || (int) row < num_rotated[n]) {
            load(angle, { (void *) table, false }, row % table_rows * c + channel);
            for (int k = 0; k < N; k += 2) {
                const float re = v[k], im = v[k + 1], cosine = angle[k], sine = angle[k + 1];
                v[k] = re * cosine - im * sine;
                v[k + 1] = re * sine + im * cosine;
            }
        }
        store(dst, i, v);
    }
};

extern "C" void sam_rope_cuda(struct sam_queue *q, const struct sam_rope *p)
{
    const size_t count = sam_count(&p->src);
    const unsigned c = p->src.c;
    const rope_at f = { view_of(&p->dst), view_of(&p->src), (const float *) p->table.data,
                        (const int *) p->num_rotated.data, (unsigned) (p->src.h * p->src.w), c,
                        (unsigned) p->table.w };
    if (by_four(&p->dst, c) && by_four(&p->src, c) && by_four(&p->table, c))
        each_by<4>(q, "rope", f, count);
    else
        each_by<2>(q, "rope", f, count);
}

// SPDX-License-Identifier: MIT
// Means over cells of remembered maps.
//
// Shape: a thread makes four neighbouring channels of a row of dst, or one; rows that dst does not
// hold end at once. Traffic: src once, dst once.
#include "view.cuh"

struct pool_keys_at {
    view dst, src;
    const int *num_rotated, *num_keys;
    int *counts;
    int side, whole; // whole: rows of the first map, where it stays
    int rows, src_rows, c, n; // rows: of dst
    float shift;

    template <int N> __device__ void at(unsigned i) const
    {
        const int channel = i % c, row = i / c % rows, object = i / c / rows;
        const int rotated = num_rotated[object], half = side / 2;
        const int means = rotated > side * side ? (rotated - 2 * whole) / 4 : 0;
        const int held = min(num_keys[object] - 3 * means, rows);
        if (row == 0 && channel == 0) {
            counts[object] = held;
            counts[n + object] = means ? min(means, held) : held;
        }
        if (row >= held)
            return;
        const int map = row / (half * half), y = row / half % half, x = row % half;
        const int other = row - means, behind = other < whole ? 0 : 4 * means;
        const int cell = whole + (map * side + 2 * y) * side + 2 * x;
        const int from = row < means ? cell : other + behind;
        const unsigned at = (unsigned) (object * src_rows + from) * c + channel;
        float v[N];
        load(v, src, at);
        if (row < means) {
            float right[N], below[N], last[N];
            load(right, src, at + c);
            load(below, src, at + side * c);
            load(last, src, at + side * c + c);
            for (int k = 0; k < N; k++)
                v[k] = (v[k] + right[k] + below[k] + last[k]) * 0.25f + shift;
        }
        store(dst, i, v);
    }
};

extern "C" void sam_pool_keys_cuda(struct sam_queue *q, const struct sam_pool_keys *p)
{
    const unsigned c = p->src.c;
    const pool_keys_at f = { view_of(&p->dst), view_of(&p->src),
                             (const int *) p->num_rotated.data, (const int *) p->num_keys.data,
                             (int *) p->counts.data, p->side,
                             p->between ? p->side * p->side : 0, p->dst.w, p->src.w, (int) c,
                             p->src.n, p->shift };
    each(q, "pool_keys", f, sam_count(&p->dst), by_four(&p->dst, c) && by_four(&p->src, c));
}

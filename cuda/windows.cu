// SPDX-License-Identifier: MIT
// Maps cut into windows.
#include "view.cuh"

// Shape: a thread copies four neighbouring channels, or one. Traffic: src once, dst once.
struct windows_at {
    view dst, src;
    unsigned side, columns, c; // columns of windows

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned channel = i % c, x = i / c % side, y = i / c / side % side;
        const unsigned window = i / c / side / side;
        const unsigned row = window / columns * side + y, column = window % columns * side + x;
        float v[N];
        load(v, src, (row * columns * side + column) * c + channel);
        store(dst, i, v);
    }
};

extern "C" void sam_windows_cuda(struct sam_queue *q, const struct sam_windows *p)
{
    const unsigned c = p->src.c, side = p->side;
    const windows_at f = { view_of(&p->dst), view_of(&p->src), side, p->src.w / side, c };
    each(q, "windows", f, sam_count(&p->dst), by_four(&p->dst, c) && by_four(&p->src, c));
}

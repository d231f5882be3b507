// SPDX-License-Identifier: MIT
// The loop over the tiles of a block of products in int8, for the file that includes it, with its
// multiply(), its `number` and
//   GROUP  neighbouring inputs that stand together in the panels

SAM_INLINE void multiply_rows(int rows, int vectors, const number *a, size_t lda, struct weights w,
                              size_t inputs, float *sums)
{
    FOR_ROWS(rows, multiply(n, vectors, a, lda, w, inputs, sums))
}

static struct weights weights_of(const struct sam_gemm *g, size_t inputs, int column)
{
    const size_t numbers = inputs * SAM_PANEL * sizeof(number);
    const size_t bytes = numbers + SAM_PANEL * (sizeof(float) + sizeof(int32_t));
    const char *panel = (const char *) g->b + column / SAM_PANEL * bytes;
    const float *step = (const float *) (panel + numbers);
    const int at = column % SAM_PANEL;
    return (struct weights){ (const number *) panel + (size_t) at * GROUP, step + at,
                             (const int32_t *) (step + SAM_PANEL) + at };
}

static void gemm(const struct sam_gemm *g)
{
    const size_t inputs = ((size_t) g->k + GROUP - 1) / GROUP * GROUP;
    for (int column = g->first; column < g->last; column += NR) {
        const struct weights w = weights_of(g, inputs, column);
        for (int row = 0; row < g->m; row += MR) {
            const number *a = (const number *) g->a + row * g->lda;
            struct tile t;
            begin_tile(g, &t, row, column);
            fetch_output(g, &t);
            if (g->last - column > VL)
                multiply_rows(t.rows, 2, a, g->lda, w, inputs, t.sums);
            else
                multiply_rows(t.rows, 1, a, g->lda, w, inputs, t.sums);
            store_tile(g, &t);
        }
    }
}

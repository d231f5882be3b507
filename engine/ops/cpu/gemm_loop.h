// The loop over the tiles of a block, for the multiply() and the `number` of the file that
// includes it.

#define ROWS(n)                                                                                    \
    case n:                                                                                        \
        if (n <= MR)                                                                               \
            multiply(n <= MR ? n : 1, vectors, a, lda, b, k, sums);                                \
        return;

SAM_INLINE void multiply_rows(int rows, int vectors, const number *a, size_t lda, const number *b,
                              int k, float *sums)
{
    switch (rows) {
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
        ROWS(5)
        ROWS(6)
        ROWS(7)
        ROWS(8)
        ROWS(9)
        ROWS(10)
        ROWS(11)
        ROWS(12)
    }
}

// pair: neighbouring inputs that stand together in the panels.
SAM_INLINE void multiply_block(const struct sam_gemm *g, int pair)
{
    const int k = (g->k + pair - 1) / pair * pair;
    for (int column = g->first; column < g->last; column += NR) {
        const number *b = (const number *) g->b +
                          (size_t) (column / SAM_PANEL) * SAM_PANEL * k +
                          column % SAM_PANEL * pair;
        for (int row = 0; row < g->m; row += MR) {
            struct tile t; // not cleared: that would cost as much as 50 products a row
            t.row = row, t.column = column, t.rows = g->m - row < MR ? g->m - row : MR;
            const number *a = (const number *) g->a + row * g->lda;
            if (g->last - column > VL)
                multiply_rows(t.rows, 2, a, g->lda, b, k, t.sums);
            else
                multiply_rows(t.rows, 1, a, g->lda, b, k, t.sums);
            store_tile(g, &t);
        }
    }
}

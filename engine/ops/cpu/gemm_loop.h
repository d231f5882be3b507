// SPDX-License-Identifier: MIT
// The loop over the tiles of a block, for the file that includes it, with its multiply(), its
// `number` and
//   PAIR   neighbouring inputs that stand together in the panels
//   CHUNK  inputs after which it goes on to the next tile, so that their weights stay in the
//          first-level cache for all rows; 0: it takes all of a row at once

SAM_INLINE void multiply_rows(int rows, int vectors, const number *a, size_t lda, const number *b,
                              struct inputs in, float *sums)
{
    FOR_ROWS(rows, multiply(n, vectors, a, lda, b, in, sums))
}

// Of the panel that `column` is in, from input `from` on.
SAM_INLINE const number *weights_at(const struct sam_gemm *g, int column, int from)
{
    const int k = (g->k + PAIR - 1) / PAIR * PAIR;
    return (const number *) g->b + (size_t) (column / SAM_PANEL) * SAM_PANEL * k +
           (size_t) from * SAM_PANEL + column % SAM_PANEL * PAIR;
}

// a: the first of the inputs in the tile's first row; b: its weights.
SAM_INLINE void multiply_tile(const struct sam_gemm *g, struct tile *t, const number *a,
                              const number *b, struct inputs in)
{
    if (g->last - t->column > VL)
        multiply_rows(t->rows, 2, a, g->lda, b, in, t->sums);
    else
        multiply_rows(t->rows, 1, a, g->lda, b, in, t->sums);
}

// ---- in chunks: tiles of DOWN x ACROSS hold their sums from one to the next

enum { DOWN = 16, ACROSS = 4, STRIP = DOWN * MR };

// What begins at input `from` of k: some whole runs, or a part of the only one.
struct chunk {
    int count;
    size_t at; // in a row of a
    struct inputs in;
};

SAM_INLINE struct chunk chunk_from(const struct sam_gemm *g, int from)
{
    const int left = g->k - from;
    struct chunk c = { .at = from };
    if (g->runs <= 1) {
        c.count = left < CHUNK ? left : CHUNK;
        c.in = (struct inputs) { 1, c.count, 0, from > 0 };
        return c;
    }
    const int run = g->k / g->runs, most = CHUNK > run ? CHUNK / run : 1;
    const int runs = left / run < most ? left / run : most;
    c.count = runs * run, c.at = from / run * g->run_step;
    c.in = (struct inputs) { runs, run, g->run_step, from > 0 };
    return c;
}

// A part of the weights that come next: each tile of a column fetches one.
SAM_INLINE void fetch_weights(const struct sam_gemm *g, int column, int from, int part)
{
    const int first = from + part * CHUNK / DOWN, end = from + (part + 1) * CHUNK / DOWN;
    for (int i = first; i < end && i < g->k; i++)
        __builtin_prefetch(weights_at(g, column, i));
}

SAM_INLINE void multiply_strip(const struct sam_gemm *g, int top, int left)
{
    struct tile tiles[ACROSS][DOWN];
    const int bottom = g->m - top < STRIP ? g->m : top + STRIP;
    const int right = g->last - left < ACROSS * NR ? g->last : left + ACROSS * NR;
    struct chunk c;

    for (int from = 0; from < g->k; from += c.count) {
        c = chunk_from(g, from);
        for (int column = left; column < right; column += NR) {
            const bool is_last = column + NR >= right;
            for (int row = top; row < bottom; row += MR) {
                const int down = (row - top) / MR;
                struct tile *t = &tiles[(column - left) / NR][down];
                fetch_weights(g, is_last ? left : column + NR, is_last ? from + c.count : from,
                              down);
                if (from == 0)
                    begin_tile(g, t, row, column);
                if (from + c.count == g->k)
                    fetch_output(g, t);
                multiply_tile(g, t, (const number *) g->a + row * g->lda + c.at,
                              weights_at(g, column, from), c.in);
                if (from + c.count == g->k)
                    store_tile(g, t);
            }
        }
    }
}

SAM_INLINE void multiply_chunks(const struct sam_gemm *g)
{
    for (int top = 0; top < g->m; top += STRIP)
        for (int left = g->first; left < g->last; left += ACROSS * NR)
            multiply_strip(g, top, left);
}

// ----

SAM_INLINE void multiply_block(const struct sam_gemm *g)
{
    const int runs = g->runs > 1 ? g->runs : 1;
    const struct inputs all = { runs, (g->k / runs + PAIR - 1) / PAIR * PAIR, g->run_step, false };

    if (CHUNK > 0 && g->k > CHUNK) {
        multiply_chunks(g);
        return;
    }
    for (int column = g->first; column < g->last; column += NR)
        for (int row = 0; row < g->m; row += MR) {
            struct tile t; // not cleared: that would cost as much as 50 products a row
            begin_tile(g, &t, row, column);
            fetch_output(g, &t);
            if (FETCHES && column + NR < g->last)
                fetch_weights(g, column + NR, 0, row / MR);
            multiply_tile(g, &t, (const number *) g->a + row * g->lda, weights_at(g, column, 0),
                          all);
            store_tile(g, &t);
        }
}

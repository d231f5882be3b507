// SPDX-License-Identifier: MIT
// How products of rows with packed weights are cut among caches and threads: private to ops/cpu.
// Rows are cut into blocks that fit a core's second-level cache; threads share the blocks.
#ifndef SAM_PRODUCT_H
#define SAM_PRODUCT_H

#include <stdint.h>

#include "ops/cpu/gemm.h"
#include "ops/cpu/rows.h"

enum {
    HALF           = SAM_POOL_WORKSPACE / 2, // of a thread's workspace: see workspace()
    BLOCK_ROWS     = 96,                     // at most: more would not make weights' reads rarer
    BLOCK_BYTES    = 512 << 10,              // of a block's rows: they are read once per panel
    ITEMS_A_THREAD = 8,                      // so that no thread waits long for the last
};

static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }

static inline int ceil_div(size_t a, int b)
{
    return (int) ((a + b - 1) / b);
}

// A thread's workspace: rows made ready for the kernel in one half, results in the other.
static inline void *workspace(struct sam_cpu *cpu, int thread, int half)
{
    return (char *) sam_pool_workspace(cpu->pool, thread) + half * HALF;
}

// The kernels that multiply by this matrix.
static inline const struct sam_gemm_kernels *kernels(const struct sam_cpu *cpu,
                                                     const struct sam_matrix *m)
{
    return m->int8 ? cpu->gemm_int8 : m->exact ? cpu->gemm_f32 : cpu->gemm;
}

// Rows whose distance is a multiple of a cache way (4 KiB) fall on the same few lines of the cache;
// at half of one every second row does, which hurts if a tile has many.
static inline bool rows_collide(size_t bytes, int tile_rows)
{
    return bytes % 4096 == 0 || (tile_rows > 8 && bytes % 2048 == 0);
}

// Numbers from one prepared row of k to the next; size: bytes of one.
static inline size_t row_length(int k, size_t size)
{
    const size_t ld = ((size_t) k + 31) / 32 * 32;
    return ld * size % 2048 == 0 ? ld + 32 : ld;
}

// The same of rows that these kernels read; in int8 a step stands behind its numbers.
static inline size_t prepared_length(const struct sam_gemm_kernels *g, int k)
{
    const size_t size = sam_gemm_number(g);
    return g->group ? row_length((int) (sam_gemm_inputs(g, k) + sizeof(float) / size), size)
                    : row_length(k, size);
}

// Rows of an item, at most `most`, a multiple of `tile`, such that `threads` that take one item
// after the other end soonest: a last item that one of them does alone can cost 3 % of all.
static inline int even_rows(size_t rows, int most, int tile, int threads)
{
    int best = most - most % tile;
    size_t best_end = SIZE_MAX;
    for (int size = best; size > best / 2; size -= tile) {
        const size_t whole = rows / size, rest = rows % size;
        const size_t end = whole / threads * size + (whole % threads ? (size_t) size : rest);
        if (end < best_end)
            best = size, best_end = end;
    }
    return best;
}

#endif // SAM_PRODUCT_H

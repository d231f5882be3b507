// SPDX-License-Identifier: MIT
// Copies between host and device: pieces of the pinned ring, and more than it holds. The emulator
// copies when the stream is waited for, so that a piece given out again too early shows.
#include <stdlib.h>

#include "../../cuda/backend.h"
#include "ops/backends.h"
#include "../expect.h"

enum { LARGEST = 2 * SAM_CUDA_RING + 77 };

static void open_queue(struct sam_queue *q)
{
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };

    params.backend = SAM_BACKEND_CUDA;
    expect(!sam_queue_open_for(q, &params, false, &error), "%s", error.text);
}

static void expect_done(struct sam_queue *q, const char *what)
{
    struct sam_error error = { "" };

    expect(!sam_queue_finish(q, &error), "%s: %s", what, error.text);
}

// No two neighbourhoods alike, whatever the size of a piece.
static uint8_t byte_at(size_t i, unsigned seed)
{
    return (uint8_t) ((i * 2654435761u + seed * 40503u) >> 16);
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = byte_at(i, seed);
}

static size_t first_wrong(const uint8_t *p, size_t n, unsigned seed)
{
    size_t i = 0;

    while (i < n && p[i] == byte_at(i, seed))
        i++;
    return i;
}

// There and back; what was copied from may change at once.
static void check_sizes(struct sam_queue *q, uint8_t *host, uint8_t *device)
{
    static const size_t sizes[] = {
        1, 63, SAM_CUDA_PIECE - 1, SAM_CUDA_PIECE, SAM_CUDA_PIECE + 1, SAM_CUDA_RING - 1,
        SAM_CUDA_RING, SAM_CUDA_RING + 1, LARGEST,
    };

    for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        const size_t n = sizes[k];
        fill(host, n, k);
        sam_queue_upload(q, device, host, n);
        memset(host, 0, n);
        sam_queue_fetch(q, host, device, n);
        expect_done(q, "there and back");
        expect(first_wrong(host, n, k) == n, "%zu bytes: the one at %zu is wrong", n,
               first_wrong(host, n, k));
    }
}

// More copies than can be under way, in order: each is fetched before the next overwrites it.
static void check_order(struct sam_queue *q, uint8_t *host, uint8_t *device)
{
    enum { COPIES = 3 * SAM_CUDA_FETCHES + 1, BYTES = 1000 };
    uint8_t next[BYTES];

    for (unsigned k = 0; k < COPIES; k++) {
        fill(next, BYTES, k);
        sam_queue_upload(q, device, next, BYTES);
        sam_queue_fetch(q, host + (size_t) k * BYTES, device, BYTES);
    }
    expect_done(q, "in order");
    for (unsigned k = 0; k < COPIES; k++)
        expect(first_wrong(host + (size_t) k * BYTES, BYTES, k) == BYTES, "copy %u is wrong", k);
}

// Rows that lie apart on the host, more of them than the ring holds; between them nothing changes.
static void check_rows(struct sam_queue *q, uint8_t *host, uint8_t *device)
{
    enum { WIDTH = 7681, STRIDE = 7700, ROWS = SAM_CUDA_RING / WIDTH + 5, UNTOUCHED = 0xa5 };
    const size_t bytes = (size_t) WIDTH * ROWS;
    size_t wrong = 0;

    fill(host, bytes, 1);
    sam_queue_upload(q, device, host, bytes);
    memset(host, UNTOUCHED, (size_t) STRIDE * ROWS);
    sam_cuda_fetch_rows(q, host, STRIDE, device, WIDTH, ROWS);
    expect_done(q, "rows");
    for (size_t y = 0; y < ROWS; y++)
        for (size_t x = 0; x < STRIDE; x++)
            wrong += host[y * STRIDE + x] !=
                     (x < WIDTH ? byte_at(y * WIDTH + x, 1) : UNTOUCHED);
    expect(!wrong, "%zu bytes of rows are wrong", wrong);
}

int main(void)
{
    struct sam_queue q;
    uint8_t *host = malloc(LARGEST);

    open_queue(&q);
    uint8_t *device = sam_queue_alloc(&q, LARGEST);
    expect(host && device, "no memory for the test");
    check_sizes(&q, host, device);
    check_order(&q, host, device);
    check_rows(&q, host, device);
    sam_queue_free(&q, device);
    sam_queue_close(&q);
    free(host);
    return expect_status();
}

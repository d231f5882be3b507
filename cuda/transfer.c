// SPDX-License-Identifier: MIT
// Device memory, and copies between it and the host.

#include "backend.h"

#include <string.h>

// ---- the workspace and the ring

enum { TILES_BYTES = SAM_CUDA_TILES * sizeof(unsigned) };

static size_t workspace_bytes(const struct sam_queue *q)
{
    return q->work_bytes ? q->work_bytes : SAM_CUDA_WORKSPACE;
}

static size_t ring_bytes(const struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    const size_t at_open = q->work_bytes ? q->work_bytes : SAM_CUDA_RING;
    return cuda->ring_bytes ? cuda->ring_bytes : at_open;
}

// For a room of `bytes`: a frame of that size, each piece of which begins a cache line. A limit
// that was asked for holds.
static size_t ring_wanted(const struct sam_queue *q, size_t bytes)
{
    const size_t wanted = bytes + bytes / 1024 + 1024, there = ring_bytes(q);
    return q->work_bytes || wanted < there ? there : wanted;
}

// Queues of less than the whole workspace run none of the kernels that give up.
static size_t told_bytes(const struct sam_queue *q)
{
    return q->work_bytes ? 0 : sizeof(int);
}

static void take_told(struct sam_queue *q, struct sam_cuda *cuda)
{
    if (q->status || !told_bytes(q))
        return;
    if (sam_cuda_check(q, "pinned memory", cudaMallocHost((void **) &cuda->gave_up, told_bytes(q))))
        *cuda->gave_up = 0;
    else
        cuda->gave_up = NULL;
}

int sam_cuda_memory_take(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const double mib = 1 << 20;
    const size_t workspace = workspace_bytes(q), ring = ring_bytes(q);
    cuda->workspace = sam_cuda_alloc(q, workspace + TILES_BYTES);
    if (!cuda->workspace) {
        sam_queue_fail(q, SAM_ENOMEM,
                       "CUDA: no memory on device %d, %.80s: %.1f MiB wanted to work with, %.1f "
                       "MiB are free",
                       cuda->device, cuda->name, (double) workspace / mib,
                       (double) sam_cuda_memory_left(q) / mib);
        return q->status;
    }
    cuda->room = cuda->workspace;
    cuda->room_bytes = workspace;
    cuda->ring_bytes = ring;
    if (cudaMallocHost((void **) &cuda->ring, ring) != cudaSuccess) {
        cudaGetLastError();
        cuda->ring = NULL;
        sam_queue_fail(q, SAM_ENOMEM, "CUDA: %.1f MiB of pinned memory could not be allocated",
                       (double) ring / mib);
    }
    take_told(q, cuda);
    if (!q->status)
        sam_blaslt_open(q);
    return q->status;
}

static void free_room(struct sam_cuda *cuda)
{
    if (cuda->room != cuda->workspace)
        cudaFree(cuda->room);
}

void sam_cuda_memory_free(struct sam_cuda *cuda)
{
    sam_blaslt_close(cuda);
    if (cuda->is_lost)
        return;
    free_room(cuda);
    if (cuda->workspace)
        cudaFree(cuda->workspace);
    if (cuda->ring)
        cudaFreeHost(cuda->ring);
    if (cuda->gave_up)
        cudaFreeHost(cuda->gave_up);
}

size_t sam_cuda_memory_bytes(const struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    size_t bytes = sizeof(*cuda) + ring_bytes(q) + workspace_bytes(q) + TILES_BYTES;
    bytes += cuda->room != cuda->workspace ? cuda->room_bytes : 0;
    bytes += sam_blaslt_bytes(q) + told_bytes(q);
    return bytes;
}

size_t sam_cuda_memory_left(struct sam_queue *q)
{
    size_t left = 0, total;
    sam_cuda_stream(q);
    if (cudaMemGetInfo(&left, &total) != cudaSuccess)
        cudaGetLastError();
    return left;
}

// ---- memory

void *sam_cuda_alloc(struct sam_queue *q, size_t bytes)
{
    void *p = NULL;
    const cudaStream_t stream = sam_cuda_stream(q);
    if (cudaMalloc(&p, bytes ? bytes : 1) != cudaSuccess) {
        cudaGetLastError();
        return NULL;
    }
    sam_cuda_check(q, "clearing memory", cudaMemsetAsync(p, 0, bytes, stream));
    return p;
}

void sam_cuda_release(struct sam_queue *q, void *data)
{
    if (!data || sam_cuda(q)->is_lost)
        return;
    sam_cuda_check(q, "freeing memory", cudaStreamSynchronize(sam_cuda_stream(q)));
    cudaFree(data);
}

size_t sam_cuda_reserve_bytes(const struct sam_queue *q, size_t bytes)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    if (bytes <= cuda->room_bytes)
        return 0;
    return (cuda->room == cuda->workspace ? bytes : bytes - cuda->room_bytes)
           + ring_wanted(q, bytes) - ring_bytes(q);
}

// The stream is through. Without more memory the old ring does, with waits.
static void grow_ring(struct sam_queue *q, size_t bytes)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const size_t wanted = ring_wanted(q, bytes);
    uint8_t *ring = NULL;
    if (wanted <= cuda->ring_bytes)
        return;
    if (cudaMallocHost((void **) &ring, wanted) != cudaSuccess) {
        cudaGetLastError();
        sam_log(&q->log, SAM_LOG_INFO, "cuda: %zu bytes of pinned memory could not be allocated",
                wanted);
        return;
    }
    cudaFreeHost(cuda->ring);
    cuda->ring = ring;
    cuda->ring_bytes = wanted;
}

int sam_cuda_reserve(struct sam_queue *q, size_t bytes, struct sam_error *error)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const double mib = 1 << 20;
    void *room = NULL;
    if (bytes <= cuda->room_bytes)
        return SAM_OK;
    if (!sam_cuda_wait(q, "making room for frames"))
        return sam_fail(error, q->status, "%s", q->error.text);
    if (cudaMalloc(&room, bytes) != cudaSuccess) {
        cudaGetLastError();
        return sam_fail(error, SAM_ENOMEM,
                        "CUDA: no memory on device %d, %.80s, for a frame, label map or overlay of "
                        "%.1f MiB: %.1f MiB are free",
                        cuda->device, cuda->name, (double) bytes / mib,
                        (double) sam_cuda_memory_left(q) / mib);
    }
    free_room(cuda);
    sam_log(&q->log, SAM_LOG_INFO, "cuda: room for frames grows to %zu bytes", bytes);
    cuda->room = room;
    cuda->room_bytes = bytes;
    grow_ring(q, bytes);
    return SAM_OK;
}

void *sam_cuda_room(struct sam_queue *q, size_t bytes)
{
    struct sam_error error;
    const int status = sam_cuda_reserve(q, bytes, &error);
    if (!status)
        return sam_cuda(q)->room;
    sam_queue_fail(q, status, "%s", error.text);
    return NULL;
}

// ---- copies

bool sam_cuda_gave_up(struct sam_cuda *cuda)
{
    volatile int *told = cuda->gave_up;
    const bool gave_up = told && *told;
    if (gave_up)
        *told = 0;
    return gave_up;
}

bool sam_cuda_wait(struct sam_queue *q, const char *what)
{
    struct sam_cuda *cuda = sam_cuda(q);
    bool done = !cuda->is_lost &&
                sam_cuda_check(q, what, cudaStreamSynchronize(sam_cuda_stream(q)));
    if (done && sam_cuda_gave_up(cuda)) {
        sam_queue_fail(q, SAM_EDEVICE,
                       "CUDA: %s: attend_wgmma_kernel waited for a copy that did not come, so the "
                       "masks would be wrong; SAMTRACK_CUDA_WITHOUT=wgmma does without it", what);
        done = false;
    }
    for (int i = 0; done && i < cuda->num_fetches; i++) {
        const struct sam_cuda_fetch *f = &cuda->fetch[i];
        for (size_t row = 0; row < f->rows; row++)
            memcpy(f->dst + row * f->stride, f->pinned + row * f->width, f->width);
    }
    cuda->num_fetches = 0;
    cuda->ring_used = 0;
    return done;
}

// The next `bytes` of the ring, at most its size; NULL: the queue has failed.
static uint8_t *take_ring(struct sam_queue *q, size_t bytes, const char *what)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const size_t ring = ring_bytes(q);
    if (cuda->ring_used + bytes > ring && !sam_cuda_wait(q, what))
        return NULL;
    uint8_t *p = cuda->ring + cuda->ring_used;
    const size_t after = cuda->ring_used + (bytes + 63) / 64 * 64; // the next begins a cache line
    cuda->ring_used = after < ring ? after : ring;
    return p;
}

void sam_cuda_upload_rows(struct sam_queue *q, void *dst, const void *src, size_t stride,
                          size_t width, size_t rows)
{
    const cudaStream_t stream = sam_cuda_stream(q);
    const size_t piece = ring_bytes(q) < SAM_CUDA_PIECE ? ring_bytes(q) : SAM_CUDA_PIECE;
    const size_t most = rows ? piece / width : 0; // at once; a row is shorter than a piece
    const uint8_t *from = src;
    uint8_t *to = dst;
    for (size_t some; rows; to += some * width, rows -= some) {
        some = rows < most ? rows : most;
        uint8_t *pinned = take_ring(q, some * width, "upload");
        if (!pinned)
            return;
        for (size_t row = 0; row < some; row++, from += stride)
            memcpy(pinned + row * width, from, width);
        if (!sam_cuda_check(q, "upload", cudaMemcpyAsync(to, pinned, some * width,
                                                         cudaMemcpyHostToDevice, stream)))
            return;
    }
}

void sam_cuda_upload(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    const size_t most = ring_bytes(q) < SAM_CUDA_PIECE ? ring_bytes(q) : SAM_CUDA_PIECE;
    const uint8_t *from = src;
    uint8_t *to = dst;
    for (size_t some; bytes && !q->status; from += some, to += some, bytes -= some) {
        some = bytes < most ? bytes : most;
        sam_cuda_upload_rows(q, to, from, some, some, 1);
    }
}

void sam_cuda_fetch_rows(struct sam_queue *q, void *dst, size_t stride, const void *src,
                         size_t width, size_t rows)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const cudaStream_t stream = sam_cuda_stream(q);
    const size_t most = ring_bytes(q) / width; // rows at once; a row is shorter than the ring
    const uint8_t *from = src;
    uint8_t *to = dst;
    for (size_t some; rows; from += some * width, to += some * stride, rows -= some) {
        some = rows < most ? rows : most;
        if (cuda->num_fetches == SAM_CUDA_FETCHES && !sam_cuda_wait(q, "download"))
            return;
        uint8_t *pinned = take_ring(q, some * width, "download");
        if (!pinned || !sam_cuda_check(q, "download",
                                       cudaMemcpyAsync(pinned, from, some * width,
                                                       cudaMemcpyDeviceToHost, stream)))
            return;
        cuda->fetch[cuda->num_fetches++] =
            (struct sam_cuda_fetch) { to, pinned, stride, width, some };
    }
}

void sam_cuda_fetch(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    const size_t ring = ring_bytes(q);
    const uint8_t *from = src;
    uint8_t *to = dst;
    for (size_t some; bytes && !q->status; from += some, to += some, bytes -= some) {
        some = bytes < ring ? bytes : ring;
        sam_cuda_fetch_rows(q, to, some, from, some, 1);
    }
}

void sam_cuda_download(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    sam_cuda_fetch(q, dst, src, bytes);
    sam_cuda_wait(q, "download");
}

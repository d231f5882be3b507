// SPDX-License-Identifier: MIT
#include "faults.h"

#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "emu.h"

struct faults faults = { .countdown = -1 };

static cudaError_t fault(const char *name)
{
    if (faults.dead)
        return faults.error;
    if (faults.only && strcmp(faults.only, name))
        return cudaSuccess;
    faults.count.calls++;
    if (faults.countdown < 0 || faults.countdown-- > 0)
        return cudaSuccess;
    faults.happened = true;
    faults.dead = faults.sticky;
    return faults.error;
}

#define WRAP(name, params, ...)                                                                \
    cudaError_t __real_##name params;                                                          \
    cudaError_t __wrap_##name params;                                                          \
    cudaError_t __wrap_##name params                                                           \
    {                                                                                          \
        const cudaError_t error = fault(#name);                                                \
        return error ? error : __real_##name(__VA_ARGS__);                                     \
    }

WRAP(cudaStreamCreateWithFlags, (cudaStream_t *s, unsigned flags), s, flags)
WRAP(cudaMemcpyAsync, (void *d, const void *s, size_t n, enum cudaMemcpyKind k, cudaStream_t t), d,
     s, n, k, t)
WRAP(cudaMemsetAsync, (void *p, int v, size_t n, cudaStream_t t), p, v, n, t)

cudaError_t __real_cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long f);
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long f);
cudaError_t __wrap_cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long f)
{
    const cudaError_t error = fault("cudaGraphInstantiate");
    if (!error && faults.refuses_overlap && emu_overlaps(g) > 2)
        return cudaErrorNotSupported;
    return error ? error : __real_cudaGraphInstantiate(e, g, f);
}

// ---- captures

cudaError_t __real_cudaMalloc(void **p, size_t bytes);
cudaError_t __real_cudaGetLastError(void);

// As another thread would: in a capture nobody may allocate.
static void reach_node(void)
{
    void *theirs = NULL;

    if (!faults.captures_now || !faults.spoil || faults.node != faults.spoil_node
        || faults.reached++ % faults.spoil == faults.spoil - 1)
        return;
    faults.captures_now = false; // once is enough
    faults.spoil_node += faults.moves;
    faults.spoilt += __real_cudaMalloc(&theirs, 1) != cudaSuccess;
    __real_cudaGetLastError(); // it is theirs
}

cudaError_t __real_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m)
{
    cudaError_t error = fault("cudaStreamBeginCapture");
    if (!error)
        error = __real_cudaStreamBeginCapture(s, m);
    faults.captures_now = !error;
    faults.node = 0;
    return error;
}

cudaError_t __real_cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g);
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g);
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    reach_node();
    faults.captures_now = false;
    if (faults.node > faults.most_nodes)
        faults.most_nodes = faults.node;
    return __real_cudaStreamEndCapture(s, g);
}

// ---- what is counted, too

#define COUNTED(name, number, params, ...)                                                     \
    cudaError_t __real_##name params;                                                          \
    cudaError_t __wrap_##name params;                                                          \
    cudaError_t __wrap_##name params                                                           \
    {                                                                                          \
        const cudaError_t error = fault(#name);                                                \
        faults.count.number++;                                                                 \
        return error ? error : __real_##name(__VA_ARGS__);                                     \
    }

COUNTED(cudaStreamSynchronize, waits, (cudaStream_t s), s)
COUNTED(cudaGraphLaunch, replays, (cudaGraphExec_t e, cudaStream_t s), e, s)

cudaError_t __real_cudaDeviceSynchronize(void);
cudaError_t __wrap_cudaDeviceSynchronize(void);
cudaError_t __wrap_cudaDeviceSynchronize(void)
{
    faults.count.device_waits++;
    return __real_cudaDeviceSynchronize();
}

// The backend asks this after every launch: so a launch fails.
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void)
{
    reach_node();
    faults.node++;
    const cudaError_t real = __real_cudaGetLastError(), error = fault("cudaGetLastError");
    faults.count.launches++;
    return error ? error : real;
}

cudaError_t __real_cudaDeviceReset(void);
cudaError_t __wrap_cudaDeviceReset(void);
cudaError_t __wrap_cudaDeviceReset(void)
{
    faults.dead = false;
    faults.count.resets++;
    return __real_cudaDeviceReset();
}

// ---- memory

static struct { void *p; size_t bytes; } held[64];

cudaError_t __wrap_cudaMalloc(void **p, size_t bytes);
cudaError_t __wrap_cudaMalloc(void **p, size_t bytes)
{
    cudaError_t error = fault("cudaMalloc");
    if (!error && faults.limit && faults.held + bytes > faults.limit)
        error = cudaErrorMemoryAllocation;
    if (!error)
        error = __real_cudaMalloc(p, bytes);
    if (error)
        return error;
    faults.count.allocations++;
    faults.held += bytes;
    for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
        if (!held[i].p) {
            held[i].p = *p;
            held[i].bytes = bytes;
            return error;
        }
    abort();
}

// On a dead device nothing is freed; it goes with the reset.
cudaError_t __real_cudaFree(void *p);
cudaError_t __wrap_cudaFree(void *p);
cudaError_t __wrap_cudaFree(void *p)
{
    for (size_t i = 0; p && i < sizeof(held) / sizeof(*held); i++)
        if (held[i].p == p) {
            faults.held -= held[i].bytes;
            faults.count.frees++;
            held[i].p = NULL;
        }
    const cudaError_t error = __real_cudaFree(p);
    return faults.dead ? (cudaError_t) faults.error : error;
}

cudaError_t __real_cudaMallocHost(void **p, size_t bytes);
cudaError_t __wrap_cudaMallocHost(void **p, size_t bytes);
cudaError_t __wrap_cudaMallocHost(void **p, size_t bytes)
{
    cudaError_t error = fault("cudaMallocHost");
    if (!error)
        error = __real_cudaMallocHost(p, bytes);
    faults.count.pinned += !error;
    return error;
}

cudaError_t __real_cudaFreeHost(void *p);
cudaError_t __wrap_cudaFreeHost(void *p);
cudaError_t __wrap_cudaFreeHost(void *p)
{
    faults.count.frees += p != NULL;
    return __real_cudaFreeHost(p);
}

cudaError_t __real_cudaMemGetInfo(size_t *left, size_t *total);
cudaError_t __wrap_cudaMemGetInfo(size_t *left, size_t *total);
cudaError_t __wrap_cudaMemGetInfo(size_t *left, size_t *total)
{
    const cudaError_t error = fault("cudaMemGetInfo");
    if (error)
        return error;
    const cudaError_t real = __real_cudaMemGetInfo(left, total);
    if (!real && faults.limit)
        *left = faults.limit - faults.held;
    return real;
}

// SPDX-License-Identifier: MIT
// Kernels that are loaded at open. The runtime loads one when it is first asked for (unless
// CUDA_MODULE_LOADING=EAGER is set), which may wait for the whole device: in the middle of a stream
// for a format, a size or an alignment that the warm-up did not have.

#include "backend.h"

#include <stdatomic.h>

struct sam_cuda_kernel *sam_cuda_kernels;

// Launches may overlap where every kernel has the instruction that waits for the one before it,
// which code for devices before sm_90 has not; and where graphs know of it, since CUDA 12.3.
enum { WAITS_SINCE_SM = 90, GRAPHS_SINCE_DRIVER = 12030 };

// Records two launches and runs them, as frames are run. Says why this fails.
static bool replays_two(struct sam_queue *q, struct sam_error *why)
{
    const bool records = sam_cuda_uses(sam_cuda(q), SAM_CUDA_GRAPHS);
    if (records)
        sam_cuda_record_begin(q);
    sam_cuda_launch_probe(q);
    sam_cuda_launch_probe(q);
    void *made = records ? sam_cuda_record_end(q) : NULL;
    if (made)
        sam_cuda_replay(q, made);
    const int status = sam_queue_finish(q, why);
    if (made)
        sam_cuda_forget(q, made);
    return !status;
}

// What overlaps must also work in a record: a driver that refuses it costs speed, no records.
static void try_overlap(struct sam_queue *q)
{
    enum { TRIES = 5 }; // another thread may have spoilt one
    struct sam_error why;

    for (int i = 0; i < TRIES; i++) {
        sam_cuda(q)->overlaps = true;
        q->is_spoilt = false;
        if (replays_two(q, &why))
            return;
        sam_cuda(q)->overlaps = false;
        if (!q->is_spoilt)
            break;
    }
    sam_log(&q->log, SAM_LOG_WARNING, "launches do not overlap, which costs time: %s", why.text);
}

// By default the driver fits the division of shared memory and cache to each kernel, and the
// multiprocessor must be empty when it changes. Switched off, all have the most shared memory. What
// this changes of kernels lasts as long as their context does: so a queue without it takes back
// what another one may have done.
static void set_carveout(struct sam_queue *q)
{
    enum { AS_THE_DRIVER_LIKES = -1, MOST_SHARED = 100 };
    static atomic_bool was_set;
    const bool is_fixed = !sam_cuda_uses(sam_cuda(q), SAM_CUDA_CARVEOUT);
    if (!is_fixed && !atomic_load(&was_set))
        return;
    atomic_store(&was_set, true);
    for (const struct sam_cuda_kernel *k = sam_cuda_kernels; k; k = k->next)
        cudaFuncSetAttribute(k->entry, cudaFuncAttributePreferredSharedMemoryCarveout,
                             is_fixed ? MOST_SHARED : AS_THE_DRIVER_LIKES);
    cudaGetLastError(); // a hint, and a kernel that cannot be loaded is told of already
}

// One that cannot be loaded fails its launch, with the operation's name, if there ever is one.
void sam_cuda_load_kernels(struct sam_queue *q)
{
    int count = 0, failed = 0, waiting = 0, driver = 0;

    sam_cuda_stream(q);
    for (const struct sam_cuda_kernel *k = sam_cuda_kernels; k && !q->status; k = k->next) {
        struct cudaFuncAttributes attributes;
        count++;
        if (cudaFuncGetAttributes(&attributes, k->entry) != cudaSuccess)
            failed++;
        else
            waiting += attributes.ptxVersion >= WAITS_SINCE_SM;
    }
    const bool may_overlap = waiting == count && sam_cuda_uses(sam_cuda(q), SAM_CUDA_OVERLAP)
                             && cudaDriverGetVersion(&driver) == cudaSuccess
                             && driver >= GRAPHS_SINCE_DRIVER;
    if (failed)
        cudaGetLastError(); // it must not be met again by the next launch
    set_carveout(q);
    if (may_overlap && !q->status)
        try_overlap(q);
    q->overlaps = sam_cuda(q)->overlaps;
    sam_log(&q->log, failed ? SAM_LOG_WARNING : SAM_LOG_DEBUG,
            "cuda: device %d, %.80s: %d of %d kernels are loaded; launches %s", sam_cuda(q)->device,
            sam_cuda(q)->name, count - failed, count,
            sam_cuda(q)->overlaps ? "overlap" : "wait for each other");
}

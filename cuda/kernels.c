// Kernels that are loaded at open. The runtime loads one when it is first asked for (unless
// CUDA_MODULE_LOADING=EAGER is set), which may wait for the whole device: in the middle of a stream
// for a format, a size or an alignment that the warm-up did not have.

#include "backend.h"

struct sam_cuda_kernel *sam_cuda_kernels;

// Launches may overlap where every kernel has the instruction that waits for the one before it,
// which code for devices before sm_90 has not; and where graphs know of it, since CUDA 12.3.
enum { WAITS_SINCE_SM = 90, GRAPHS_SINCE_DRIVER = 12030 };

// Records two launches and runs them, as frames are run. Says why this fails.
static bool replays_two(struct sam_queue *q, struct sam_error *why)
{
    sam_cuda_record_begin(q);
    sam_cuda_launch_probe(q);
    sam_cuda_launch_probe(q);
    void *made = sam_cuda_record_end(q);
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
    const bool may_overlap = waiting == count && cudaDriverGetVersion(&driver) == cudaSuccess
                             && driver >= GRAPHS_SINCE_DRIVER;
    if (failed)
        cudaGetLastError(); // it must not be met again by the next launch
    if (may_overlap && !q->status)
        try_overlap(q);
    sam_log(&q->log, failed ? SAM_LOG_WARNING : SAM_LOG_DEBUG,
            "cuda: device %d, %.80s: %d of %d kernels are loaded; launches %s", sam_cuda(q)->device,
            sam_cuda(q)->name, count - failed, count,
            sam_cuda(q)->overlaps ? "overlap" : "wait for each other");
}

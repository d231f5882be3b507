// Kernels that are loaded at open. The runtime loads one when it is first asked for (unless
// CUDA_MODULE_LOADING=EAGER is set), which may wait for the whole device: in the middle of a stream
// for a format, a size or an alignment that the warm-up did not have.

#include "backend.h"

struct sam_cuda_kernel *sam_cuda_kernels;

// Launches overlap where every kernel has the instruction that waits for the one before it, which
// code for devices before sm_90 has not; and where graphs know of it, since CUDA 12.3.
enum { WAITS_SINCE_SM = 90, GRAPHS_SINCE_DRIVER = 12030 };

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
    sam_cuda(q)->overlaps = waiting == count && cudaDriverGetVersion(&driver) == cudaSuccess
                            && driver >= GRAPHS_SINCE_DRIVER;
    if (failed)
        cudaGetLastError(); // it must not be met again by the next launch
    sam_log(&q->log, failed ? SAM_LOG_WARNING : SAM_LOG_DEBUG,
            "cuda: device %d, %.80s: %d of %d kernels are loaded; launches %s", sam_cuda(q)->device,
            sam_cuda(q)->name, count - failed, count,
            sam_cuda(q)->overlaps ? "overlap" : "wait for each other");
}

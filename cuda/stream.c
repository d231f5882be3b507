// SPDX-License-Identifier: MIT
// The stream of a queue, and what its calls return: the first CUDA error is the queue's failure.

#include "backend.h"

#include "device/device.h"

bool sam_cuda_check(struct sam_queue *q, const char *what, cudaError_t error)
{
    if (error != cudaSuccess)
        sam_queue_fail(q, SAM_EDEVICE, "CUDA: %s: %s", what, cudaGetErrorString(error));
    return error == cudaSuccess;
}

void sam_cuda_launched(struct sam_queue *q, const char *op)
{
    sam_cuda_check(q, op, cudaGetLastError());
}

cudaStream_t sam_cuda_stream(struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    if (cuda->sets_device)
        cudaSetDevice(cuda->device); // costs nothing where the thread is there already
    return cuda->stream;
}

// SPDX-License-Identifier: MIT
// Recorded work: CUDA graphs, captured from the stream.

#include "backend.h"

// Thread-local: what other threads allocate meanwhile is none of the capture's business.
void sam_cuda_record_begin(struct sam_queue *q)
{
    sam_cuda_check(q, "recording a graph",
                   cudaStreamBeginCapture(sam_cuda_stream(q), cudaStreamCaptureModeThreadLocal));
}

// What a capture ends with that came to depend on work outside of it. All that this thread does in
// it is ours, and ours alone; so it was another thread, with a default stream that waits for a
// stream that was given, or in a capture of a stricter mode.
static bool is_spoilt(cudaError_t error)
{
    return error == cudaErrorStreamCaptureUnsupported || error == cudaErrorStreamCaptureInvalidated
           || error == cudaErrorStreamCaptureMerge || error == cudaErrorStreamCaptureUnmatched
           || error == cudaErrorStreamCaptureUnjoined || error == cudaErrorStreamCaptureIsolation
           || error == cudaErrorStreamCaptureImplicit;
}

void *sam_cuda_record_end(struct sam_queue *q)
{
    const cudaStream_t stream = sam_cuda_stream(q);
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;

    if (cudaStreamIsCapturing(stream, &capturing) != cudaSuccess
        || capturing == cudaStreamCaptureStatusNone) { // it never began: the queue has failed
        cudaGetLastError();
        sam_queue_fail(q, SAM_EDEVICE, "CUDA: no graph is being recorded");
        return NULL;
    }
    // It must end even where an operation has failed, lest the stream stay in capture.
    const cudaError_t error = cudaStreamEndCapture(stream, &graph);
    q->is_spoilt = capturing == cudaStreamCaptureStatusInvalidated || is_spoilt(error);
    if (sam_cuda_check(q, "recording a graph", error) && !q->status
        && !sam_cuda_check(q, "making a graph", cudaGraphInstantiate(&exec, graph, 0)))
        exec = NULL;
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError(); // said already
    return exec;
}

bool sam_cuda_stop_overlap(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const bool did = cuda->overlaps;

    cuda->overlaps = q->overlaps = false;
    return did;
}

void sam_cuda_replay(struct sam_queue *q, void *record)
{
    sam_cuda_check(q, "launching a graph", cudaGraphLaunch(record, sam_cuda_stream(q)));
}

// The driver waits for a launch of it that is under way.
void sam_cuda_forget(struct sam_queue *q, void *record)
{
    sam_cuda_stream(q);
    if (!sam_cuda(q)->is_lost)
        cudaGraphExecDestroy(record);
}

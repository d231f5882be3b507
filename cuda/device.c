// SPDX-License-Identifier: MIT
// The CUDA backend: its device.

#include "backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "ops/backends.h"

// ---- opening

// The first driver for a major version of CUDA; what is built with any toolkit of it runs there.
// CUDA Compatibility, "Minor Version Compatibility". 0: not known.
static int first_driver(int built)
{
    return built / 1000 == 12 ? 525 : built / 1000 == 13 ? 580 : 0;
}

static void fail_for_driver(struct sam_queue *q, int driver, int built)
{
    char wanted[40] = "";
    if (first_driver(built))
        snprintf(wanted, sizeof(wanted), " (driver %d or later)", first_driver(built));
    sam_queue_fail(q, SAM_EUNSUPPORTED,
                   "CUDA: the driver supports CUDA %d.%d, this build needs %d.%d%s: update the "
                   "driver, or use backend 'cpu'", driver / 1000, driver % 1000 / 10, built / 1000,
                   first_driver(built) ? 0 : built % 1000 / 10, wanted);
}

// Whether this build's kernels can run at all; else the queue has failed with a sentence.
static bool find_devices(struct sam_queue *q, int *count)
{
    int driver = 0, built = 0;
    const cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaSuccess && *count > 0)
        return true;
    cudaGetLastError(); // it must not be met again by the next launch of anybody's
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&built);
    if (driver == 0)
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "CUDA: this machine has no NVIDIA driver; use backend 'cpu'");
    else if (driver < built)
        fail_for_driver(q, driver, built);
    else
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "CUDA: no device to use: %s; use backend 'cpu'",
                       error == cudaSuccess ? "there is none" : cudaGetErrorString(error));
    return false;
}

static bool choose_device(struct sam_queue *q, struct sam_cuda *cuda, int device, int count)
{
    if (device >= count) {
        sam_queue_fail(q, SAM_EINVAL, "CUDA: device %d, wanted 0 to %d or -1 for the current one",
                       device, count - 1);
        return false;
    }
    // Without a number: the device of the caller's context, which need not be the primary one.
    if (!sam_cuda_check(q, "current device", cudaGetDevice(&cuda->device)))
        return false;
    if (q->is_given && device >= 0 && device != cuda->device) {
        sam_queue_fail(q, SAM_EINVAL,
                       "CUDA: device %d is wanted, but the context that was given is of device %d",
                       device, cuda->device);
        return false;
    }
    if (device >= 0 && device != cuda->device) {
        cuda->sets_device = true;
        cuda->device = device;
        return sam_cuda_check(q, "choosing the device", cudaSetDevice(device));
    }
    return true;
}

static bool look_at_device(struct sam_queue *q, struct sam_cuda *cuda)
{
    struct cudaDeviceProp prop;
    if (!sam_cuda_check(q, "properties of the device",
                        cudaGetDeviceProperties(&prop, cuda->device)))
        return false;
    if (prop.major < 8) {
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "CUDA: device %d, %.80s, has compute capability %d.%d, wanted 8.0 or later",
                       cuda->device, prop.name, prop.major, prop.minor);
        return false;
    }
    cuda->num_sms = prop.multiProcessorCount;
    cuda->shared_limit = prop.sharedMemPerBlockOptin;
    cuda->is_hopper = prop.major == 9 && prop.minor == 0;
    memcpy(cuda->name, prop.name, sizeof(cuda->name) - 1);
    return true;
}

// A fault in a kernel, of anybody's, ends the context for all its users. It is not ours to reset:
// what others hold in it would dangle.
static bool is_context_alive(struct sam_queue *q, const struct sam_cuda *cuda)
{
    size_t left, total;
    cudaGetLastError();
    const cudaError_t error = cudaMemGetInfo(&left, &total);
    if (error == cudaSuccess)
        return true;
    cudaGetLastError();
    sam_queue_fail(q, SAM_EDEVICE,
                   "CUDA: the context of device %d, %.80s, cannot be used: %s; where a kernel has "
                   "failed in it, only a new process or another context helps",
                   cuda->device, cuda->name, cudaGetErrorString(error));
    return false;
}

static bool start_stream(struct sam_queue *q, struct sam_cuda *cuda)
{
    CUcontext current = NULL;
    if (!is_context_alive(q, cuda))
        return false;
    cuda->stream = (cudaStream_t) q->stream;
    if (cuda->stream == cudaStreamLegacy || cuda->stream == cudaStreamPerThread) {
        sam_queue_fail(q, SAM_EINVAL, "CUDA: the stream that was given is a default one, where "
                                      "nothing can be recorded");
        return false;
    }
    if (!cuda->stream) {
        if (!sam_cuda_check(q, "stream",
                            cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking)))
            return false;
        cuda->owns_stream = true;
    }
    cuda->driver.current(&current);
    q->context = current;
    return true;
}

static int cuda_open(struct sam_queue *q, int ordinal, int threads)
{
    int count;
    if (!find_devices(q, &count))
        return q->status;
    struct sam_cuda *cuda = calloc(1, sizeof(*cuda));
    if (!cuda) {
        sam_queue_fail(q, SAM_ENOMEM, "no memory for the CUDA backend: %zu bytes wanted",
                       sizeof(*cuda));
        return q->status;
    }
    q->priv = cuda;
    sam_cuda_switches_read(q);
    if (!sam_cuda_driver_find(q))
        return q->status;
    sam_cuda_enter(q);
    const bool works = !q->status && choose_device(q, cuda, ordinal, count)
                       && look_at_device(q, cuda) && start_stream(q, cuda) && sam_cuda_probe(q);
    sam_cuda_leave(q);
    if (!works)
        return q->status;
    if (q->precision == SAM_PRECISION_INT8)
        sam_log(&q->log, SAM_LOG_WARNING,
                "precision 'int8': the backend 'cuda' has none, it takes 'bf16'");
    if (q->precision == SAM_PRECISION_AUTO || q->precision == SAM_PRECISION_INT8)
        q->precision = SAM_PRECISION_BF16;
    q->bf16_is_faster = true; // of every GPU with tensor cores
    q->ordinal = cuda->device;
    q->ops = sam_cuda_ops();
    q->device_name = cuda->name;
    sam_log(&q->log, SAM_LOG_INFO, "cuda: device %d, %s, %d multiprocessors, %s products",
            cuda->device, cuda->name, cuda->num_sms,
            q->precision == SAM_PRECISION_BF16 ? "bf16" : "fp32");
    return SAM_OK;
}

static int cuda_prepare(struct sam_queue *q)
{
    sam_cuda_switches_tell(q);
    if (!sam_cuda_memory_take(q)) {
        sam_cuda_load_kernels(q);
        sam_cuda_compare_twins(q);
    }
    return q->status;
}

static void cuda_close(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    if (!cuda)
        return;
    sam_cuda_enter(q);
    if (cuda->stream && !cuda->is_lost)
        cudaStreamSynchronize(sam_cuda_stream(q));
    sam_cuda_memory_free(cuda);
    if (cuda->owns_stream && !cuda->is_lost)
        cudaStreamDestroy(cuda->stream);
    cudaGetLastError(); // a lost device fails all of these; the queue has said so already
    sam_cuda_leave(q);
    free(cuda);
    q->priv = NULL;
}

static void cuda_finish(struct sam_queue *q)
{
    sam_cuda_wait(q, "the device's work");
}

const struct sam_device *sam_device_cuda(void)
{
    static const struct sam_device device = {
        .name            = "cuda",
        .open            = cuda_open,
        .prepare         = cuda_prepare,
        .close           = cuda_close,
        .finish          = cuda_finish,
        .enter           = sam_cuda_enter,
        .leave           = sam_cuda_leave,
        .holds           = sam_cuda_holds,
        .reserve         = sam_cuda_reserve,
        .more            = sam_cuda_reserve_bytes,
        .workspace_bytes = sam_cuda_memory_bytes,
        .alloc           = sam_cuda_alloc,
        .release         = sam_cuda_release,
        .left            = sam_cuda_memory_left,
        .upload          = sam_cuda_upload,
        .upload_rows     = sam_cuda_upload_rows,
        .download        = sam_cuda_download,
        .fetch           = sam_cuda_fetch,
        .record_begin    = sam_cuda_record_begin,
        .record_end      = sam_cuda_record_end,
        .replay          = sam_cuda_replay,
        .forget          = sam_cuda_forget,
        .stop_overlap    = sam_cuda_stop_overlap,
    };
    return &device;
}

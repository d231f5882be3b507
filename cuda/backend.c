// The CUDA backend: the queue's table, its stream and its memory.

#include "backend.h"

#include <stdlib.h>
#include <string.h>

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

// ---- opening

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
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "CUDA: the driver supports CUDA %d.%d, this build needs %d.%d: update the "
                       "driver, or use backend 'cpu'",
                       driver / 1000, driver % 1000 / 10, built / 1000, built % 1000 / 10);
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
    memcpy(cuda->name, prop.name, sizeof(cuda->name) - 1);
    return true;
}

static bool take_memory(struct sam_queue *q, struct sam_cuda *cuda)
{
    return sam_cuda_check(q, "stream", cudaStreamCreateWithFlags(&cuda->stream,
                                                                 cudaStreamNonBlocking))
        && sam_cuda_check(q, "pinned memory", cudaMallocHost((void **) &cuda->ring, SAM_CUDA_RING))
        && sam_cuda_check(q, "workspace", cudaMalloc(&cuda->workspace, SAM_CUDA_WORKSPACE));
}

static int cuda_open(struct sam_queue *q, int device, int threads)
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
    if (!choose_device(q, cuda, device, count) || !look_at_device(q, cuda) || !take_memory(q, cuda)
        || !sam_cuda_probe(q))
        return q->status;
    if (q->precision == SAM_PRECISION_AUTO)
        q->precision = SAM_PRECISION_BF16;
    q->device = cuda->device;
    q->device_name = cuda->name;
    sam_log(&q->log, SAM_LOG_INFO, "cuda: device %d, %s, %d multiprocessors, %s products",
            cuda->device, cuda->name, cuda->num_sms,
            q->precision == SAM_PRECISION_BF16 ? "bf16" : "fp32");
    return SAM_OK;
}

static void cuda_close(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    if (!cuda)
        return;
    if (cuda->stream)
        cudaStreamSynchronize(sam_cuda_stream(q));
    cudaFree(cuda->frame.data);
    cudaFree(cuda->labels.data);
    cudaFree(cuda->workspace);
    cudaFreeHost(cuda->ring);
    if (cuda->stream)
        cudaStreamDestroy(cuda->stream);
    cudaGetLastError(); // a lost device fails all of these; the queue has said so already
    free(cuda);
    q->priv = NULL;
}

// ---- memory

static int cuda_finish(struct sam_queue *q)
{
    sam_cuda_check(q, "the device's work", cudaStreamSynchronize(sam_cuda_stream(q)));
    sam_cuda(q)->ring_used = 0;
    return q->status;
}

static void *cuda_alloc(struct sam_queue *q, size_t bytes)
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

static void cuda_release(struct sam_queue *q, void *data)
{
    sam_cuda_check(q, "freeing memory", cudaStreamSynchronize(sam_cuda_stream(q)));
    cudaFree(data);
}

void *sam_cuda_room(struct sam_queue *q, struct sam_cuda_room *room, size_t bytes, const char *what)
{
    if (bytes <= room->bytes)
        return room->data;
    const cudaStream_t stream = sam_cuda_stream(q);
    if (!sam_cuda_check(q, what, cudaStreamSynchronize(stream)))
        return NULL;
    cudaFree(room->data);
    *room = (struct sam_cuda_room) { 0 };
    if (cudaMalloc(&room->data, bytes) != cudaSuccess) {
        cudaGetLastError();
        sam_queue_fail(q, SAM_ENOMEM, "CUDA: no device memory for %s: %zu bytes wanted", what,
                       bytes);
        return NULL;
    }
    room->bytes = bytes;
    return room->data;
}

void sam_cuda_upload(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const cudaStream_t stream = sam_cuda_stream(q);
    const uint8_t *from = src;
    uint8_t *to = dst;
    while (bytes) {
        if (cuda->ring_used == SAM_CUDA_RING) {
            if (!sam_cuda_check(q, "upload", cudaStreamSynchronize(stream)))
                return;
            cuda->ring_used = 0;
        }
        const size_t room = SAM_CUDA_RING - cuda->ring_used, some = bytes < room ? bytes : room;
        uint8_t *pinned = cuda->ring + cuda->ring_used;
        memcpy(pinned, from, some);
        if (!sam_cuda_check(q, "upload", cudaMemcpyAsync(to, pinned, some, cudaMemcpyHostToDevice,
                                                         stream)))
            return;
        from += some, to += some, bytes -= some;
        cuda->ring_used += some;
    }
}

void sam_cuda_download(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    const cudaStream_t stream = sam_cuda_stream(q);
    if (sam_cuda_check(q, "download", cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost,
                                                      stream))
        && sam_cuda_check(q, "download", cudaStreamSynchronize(stream)))
        sam_cuda(q)->ring_used = 0;
}

static size_t cuda_workspace_bytes(const struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    return sizeof(*cuda) + SAM_CUDA_RING + SAM_CUDA_WORKSPACE + cuda->frame.bytes
         + cuda->labels.bytes;
}

static const struct sam_ops table = {
    .name             = "cuda",
    .open             = cuda_open,
    .close            = cuda_close,
    .finish           = cuda_finish,
    .alloc            = cuda_alloc,
    .release          = cuda_release,
    .upload           = sam_cuda_upload,
    .download         = sam_cuda_download,
    .workspace_bytes  = cuda_workspace_bytes,
    .pack_bytes       = sam_pack_bytes_cuda,
    .pack             = sam_pack_cuda,
    .copy             = sam_copy_cuda,
    .copy_rows        = sam_copy_rows_cuda,
    .add              = sam_add_cuda,
    .layernorm        = sam_layernorm_cuda,
    .linear           = sam_linear_cuda,
    .conv             = sam_conv_cuda,
    .depthwise        = sam_depthwise_cuda,
    .conv_transpose   = sam_conv_transpose_cuda,
    .maxpool          = sam_maxpool_cuda,
    .window_attention = sam_window_attention_cuda,
    .attention        = sam_attention_cuda,
    .rope             = sam_rope_cuda,
    .upsample_add     = sam_upsample_add_cuda,
    .resize           = sam_resize_cuda,
    .mask_signal      = sam_mask_signal_cuda,
    .matmul           = sam_matmul_cuda,
    .select_mask      = sam_select_mask_cuda,
    .gate             = sam_gate_cuda,
    .scatter          = sam_scatter_cuda,
    .gather_memory    = sam_gather_memory_cuda,
    .preprocess       = sam_preprocess_cuda,
    .draw_masks       = sam_draw_masks_cuda,
};

const struct sam_ops *sam_ops_cuda(void)
{
    return &table;
}

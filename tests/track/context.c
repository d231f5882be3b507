// SPDX-License-Identifier: MIT
// context MODEL
// The CUDA backend in a context and on a stream of the caller's, on frames and into label maps
// that are on the device: the same masks to the bit, no copy of either, nothing left behind; and
// what is refused. On the emulator and on a GPU; 77 where there is none.
#include <stdlib.h>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <samtrack/samtrack.h>

#include "copies.h"
#include "scene.h"

enum { FRAMES = 4, LOW = 64 * 64, Y_BYTES = SCENE_W * SCENE_H_PX, UV_BYTES = Y_BYTES / 2 };

// A frame in NV12, and where it and its label map are on the device.
struct nv12 {
    uint8_t *pinned;
    CUdeviceptr y, uv, map;
    size_t pitch;
    struct sam_frame frame;
};

struct run {
    float low[FRAMES][LOW];
    float score[FRAMES];
    uint8_t map[FRAMES][Y_BYTES];
    size_t copied, fetched; // bytes to the device and to the host, by the frames
};

// The driver's calls: its library is not linked, and not there on most machines.
static struct {
    CUresult (*create)(CUcontext *, unsigned, CUdevice);
    CUresult (*destroy)(CUcontext);
    CUresult (*push)(CUcontext);
    CUresult (*pop)(CUcontext *);
    CUresult (*current)(CUcontext *);
    CUresult (*alloc_pitch)(CUdeviceptr *, size_t *, size_t, size_t, unsigned);
    CUresult (*alloc_host)(void **, size_t);
    CUresult (*free)(CUdeviceptr);
    CUresult (*free_host)(void *);
    CUresult (*copy)(const CUDA_MEMCPY2D *, CUstream);
    CUresult (*stream_create)(CUstream *, unsigned);
    CUresult (*stream_destroy)(CUstream);
    CUresult (*stream_wait)(CUstream);
} cu;

// version: of CUDA, since when the call has had the arguments of above. A later one may get others.
static void find(const char *name, unsigned version, void *entry)
{
    enum cudaDriverEntryPointQueryResult found;

    cudaGetDriverEntryPointByVersion(name, entry, version, cudaEnableDefault, &found);
    if (found != cudaDriverEntryPointSuccess) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
}

static void find_driver(void)
{
    find("cuCtxCreate", 3020, &cu.create);
    find("cuCtxDestroy", 4000, &cu.destroy);
    find("cuCtxPushCurrent", 4000, &cu.push);
    find("cuCtxPopCurrent", 4000, &cu.pop);
    find("cuCtxGetCurrent", 4000, &cu.current);
    find("cuMemAllocPitch", 3020, &cu.alloc_pitch);
    find("cuMemAllocHost", 3020, &cu.alloc_host);
    find("cuMemFree", 3020, &cu.free);
    find("cuMemFreeHost", 2000, &cu.free_host);
    find("cuMemcpy2DAsync", 3020, &cu.copy);
    find("cuStreamCreate", 2000, &cu.stream_create);
    find("cuStreamDestroy", 4000, &cu.stream_destroy);
    find("cuStreamSynchronize", 2000, &cu.stream_wait);
}

static CUcontext new_context(void)
{
    CUcontext c = NULL, popped;

    expect(!cu.create(&c, 0, 0) && !cu.pop(&popped) && popped == c, "a new context");
    return c;
}

static CUcontext current(void)
{
    CUcontext c = NULL;

    cu.current(&c);
    return c;
}

static void nv12_open(struct nv12 *n, CUcontext c)
{
    cu.push(c);
    expect(!cu.alloc_host((void **) &n->pinned, Y_BYTES + UV_BYTES) &&
           !cu.alloc_pitch(&n->y, &n->pitch, SCENE_W, SCENE_H_PX, 16) &&
           !cu.alloc_pitch(&n->uv, &n->pitch, SCENE_W, SCENE_H_PX / 2, 16) &&
           !cu.alloc_pitch(&n->map, &n->pitch, SCENE_W, SCENE_H_PX, 16), "memory");
    cu.pop(NULL);
    expect(n->pitch > SCENE_W, "the device's rows are longer");
}

static void nv12_close(struct nv12 *n, CUcontext c)
{
    cu.push(c);
    expect(!cu.free_host(n->pinned) && !cu.free(n->y) && !cu.free(n->uv) && !cu.free(n->map),
           "memory");
    cu.pop(NULL);
}

static void nv12_draw(struct nv12 *n, int t)
{
    static struct scene s;

    scene_draw(&s, t);
    for (int i = 0; i < Y_BYTES; i++)
        n->pinned[i] = (uint8_t) (16 + s.rgb[3 * i + 1] * 6 / 7);
    for (int i = 0; i < UV_BYTES; i++) {
        const int x = i % SCENE_W / 2 * 2, y = i / SCENE_W * 2;
        n->pinned[Y_BYTES + i] = (uint8_t) (64 + s.rgb[3 * (y * SCENE_W + x) + 2 * (i % 2)] / 2);
    }
    n->frame = (struct sam_frame) { .size = sizeof(struct sam_frame),
                                    .format = SAM_PIXEL_NV12, .width = SCENE_W,
                                    .height = SCENE_H_PX,
                                    .plane = { n->pinned, n->pinned + Y_BYTES },
                                    .stride = { SCENE_W, SCENE_W } };
}

// The frame drawn last, to the device; on its way when this returns.
static void nv12_send(struct nv12 *n, CUstream stream)
{
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = n->pinned,
                           .srcPitch = SCENE_W, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = n->y, .dstPitch = n->pitch, .WidthInBytes = SCENE_W,
                           .Height = SCENE_H_PX };

    expect(!cu.copy(&copy, stream), "the luma's copy");
    copy.srcHost = n->pinned + Y_BYTES;
    copy.dstDevice = n->uv;
    copy.Height = SCENE_H_PX / 2;
    expect(!cu.copy(&copy, stream), "the chroma's copy");
    n->frame.plane[0] = (const uint8_t *) (uintptr_t) n->y;
    n->frame.plane[1] = (const uint8_t *) (uintptr_t) n->uv;
    n->frame.stride[0] = n->frame.stride[1] = (int) n->pitch;
    n->frame.on_device = 1;
}

static struct sam_labels map_of(const struct nv12 *n, int width, int height)
{
    return (struct sam_labels) { (uint8_t *) (uintptr_t) n->map, width, height, (int) n->pitch, 1 };
}

// A map that was drawn on the device, packed.
static void fetch_map(const struct sam_labels *l, uint8_t *packed, CUcontext c)
{
    const CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = (CUdeviceptr) (uintptr_t) l->data,
                                 .srcPitch = (size_t) l->stride,
                                 .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = packed,
                                 .dstPitch = (size_t) l->width, .WidthInBytes = (size_t) l->width,
                                 .Height = (size_t) l->height };

    cu.push(c);
    expect(!cu.copy(&copy, NULL) && !cu.stream_wait(NULL), "the map's copy");
    cu.pop(NULL);
}

// Some frames of two objects. stream: the frames go to the device there first, in context c, and
// the label maps stay there.
static void track(sam_tracker *t, struct nv12 *n, CUcontext c, CUstream stream, struct run *run)
{
    struct sam_error error = { "" };
    uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);

    give_mask(t, 0, 1);
    run->copied = run->fetched = 0;
    for (int f = 0; f < FRAMES; f++) {
        struct sam_labels labels = { run->map[f], SCENE_W, SCENE_H_PX, SCENE_W, 0 };
        struct sam_result r = SAM_RESULT_INIT;
        nv12_draw(n, f);
        if (stream) {
            cu.push(c);
            nv12_send(n, stream);
            cu.pop(NULL);
            labels = map_of(n, SCENE_W, SCENE_H_PX);
        }
        const CUcontext before = current();
        const size_t sent = copied_to_device(), fetched = copied_to_host();
        const int status = sam_tracker_step(t, &n->frame, &labels, &r, &error);
        run->copied += copied_to_device() - sent;
        run->fetched += copied_to_host() - fetched;
        if (stream)
            fetch_map(&labels, run->map[f], c);
        expect(!status, "frame %d: %s", f, error.text);
        expect(current() == before, "frame %d: another context is current", f);
        run->score[f] = r.num_objects == 2 ? r.objects[0].score : -1e9f;
        expect(fetch(t, id, "low_res", run->low[f], LOW) > 0, "no mask");
        expect(current() == before, "reading: another context is current");
    }
}

static void expect_same(const struct run *a, const struct run *b, const char *what)
{
    expect(!memcmp(a->low, b->low, sizeof(a->low)), "%s: other masks", what);
    expect(!memcmp(a->score, b->score, sizeof(a->score)), "%s: other scores", what);
    expect(!memcmp(a->map, b->map, sizeof(a->map)), "%s: other label maps", what);
}

// The last frame's map at another size, and after nothing is left to draw.
static void check_drawn_again(sam_tracker *t, const struct nv12 *n, CUcontext c)
{
    enum { W = 37, H = 23 };
    struct sam_error error = { "" };
    static uint8_t host[W * H], device[W * H];
    const struct sam_labels near = { host, W, H, W, 0 }, labels = map_of(n, W, H);
    int drawn = 0;

    expect(!sam_tracker_draw(t, &near, &error), "%s", error.text);
    for (int i = 0; i < W * H; i++)
        drawn += host[i] != 0;
    expect(drawn > 0, "nothing is drawn");
    for (int i = 0; i < 2; i++) {
        const size_t fetched = copied_to_host(), sent = copied_to_device();
        expect(!sam_tracker_draw(t, &labels, &error), "%s", error.text);
        expect(copied_to_host() == fetched && copied_to_device() == sent, "drawing copies");
        fetch_map(&labels, device, c);
        expect(!memcmp(host, device, sizeof(host)), "the map of %s differs", i ? "nothing" : "all");
        sam_tracker_clear(t);
        expect(!sam_tracker_step(t, &n->frame, &labels, NULL, &error), "%s", error.text);
        memset(host, 0, sizeof(host));
    }
}

static size_t device_left(void)
{
    size_t left, total;

    cudaMemGetInfo(&left, &total);
    return left;
}

static struct run own, given, on_device;

// What a tracker of its own gives, one in the caller's context, and one that reads there.
static void check_same_masks(const char *model)
{
    struct sam_params p = scene_cuda_params(model, 2);
    const size_t left = device_left();
    const CUcontext a = new_context(), b = new_context();
    struct nv12 n;
    CUstream stream;
    sam_tracker *t, *other;

    nv12_open(&n, a);
    t = scene_open(&p);
    track(t, &n, a, NULL, &own);
    sam_tracker_close(&t);

    // From a thread that is elsewhere, and stays there.
    cu.push(b);
    p.cuda_context = a;
    t = scene_open(&p);
    expect(current() == b, "opening: another context is current");
    track(t, &n, a, NULL, &given);
    sam_tracker_close(&t);
    expect(current() == b, "closing: another context is current");
    expect_same(&own, &given, "a given context");
    expect(own.copied == given.copied, "%zu and %zu bytes copied", own.copied, given.copied);

    // Behind the frames, in the same stream; beside another tracker of these weights elsewhere.
    cu.push(a);
    expect(!cu.stream_create(&stream, cudaStreamNonBlocking), "stream");
    cu.pop(NULL);
    p.cuda_stream = stream;
    t = scene_open(&p);
    p.cuda_context = b;
    p.cuda_stream = NULL;
    other = scene_open(&p);
    track(t, &n, a, stream, &on_device);
    check_drawn_again(t, &n, a);
    sam_tracker_close(&t);
    expect_same(&own, &on_device, "frames on the device");
    const size_t frames = FRAMES * (Y_BYTES + UV_BYTES);
    expect(!copies_count || given.copied - on_device.copied == frames,
           "%zu bytes copied with and %zu without %zu bytes of frames", given.copied,
           on_device.copied, frames);
    expect(!copies_count || given.fetched - on_device.fetched == FRAMES * Y_BYTES,
           "%zu bytes fetched with and %zu without %d bytes of label maps", given.fetched,
           on_device.fetched, FRAMES * Y_BYTES);
    track(other, &n, b, NULL, &given);
    sam_tracker_close(&other);
    expect_same(&own, &given, "another context");

    // They are the caller's still.
    cu.push(a);
    expect(!cu.stream_wait(stream) && !cu.stream_destroy(stream), "the stream is gone");
    cu.pop(NULL);
    nv12_close(&n, a);
    cu.pop(NULL);
    expect(!copies_count || device_left() == left, "%zu bytes are left on the device",
           left - device_left());
    expect(!cu.destroy(a) && !cu.destroy(b), "the contexts are gone");
}

static void expect_refused(const struct sam_params *p, const char *why)
{
    struct sam_error error = { "" };
    sam_tracker *t;

    expect(sam_tracker_open(&t, p, &error) == SAM_EINVAL && !t, "opened: %s", why);
    expect(strstr(error.text, why) != NULL, "'%s', expected '%s'", error.text, why);
}

static void check_refused(const char *model)
{
    struct sam_params p = scene_cuda_params(model, 2);
    const CUcontext a = new_context();

    p.cuda_stream = (void *) 64;
    expect_refused(&p, "cuda_context is NULL");
    p.cuda_context = a;
    p.cuda_stream = cudaStreamLegacy;
    expect_refused(&p, "a default one");
    p.cuda_stream = NULL;
    p.device = 0;
    sam_tracker *t = scene_open(&p);
    sam_tracker_close(&t);
    cu.destroy(a);
}

static void expect_frame_refused(sam_tracker *t, const struct sam_frame *f, const char *why)
{
    struct sam_error error = { "" };

    expect(sam_tracker_step(t, f, NULL, NULL, &error) == SAM_EINVAL, "a frame: %s", why);
    expect(strstr(error.text, why) != NULL, "'%s', expected '%s'", error.text, why);
}

static void expect_map_refused(sam_tracker *t, struct sam_labels labels, const char *why)
{
    struct sam_error error = { "" };

    expect(sam_tracker_draw(t, &labels, &error) == SAM_EINVAL, "a map: %s", why);
    expect(strstr(error.text, why) != NULL, "'%s', expected '%s'", error.text, why);
}

// A frame or a map elsewhere is refused with one sentence, and the next one is tracked on.
static void check_frames_refused(const char *model)
{
    struct sam_params p = scene_cuda_params(model, 2);
    const CUcontext a = new_context(), b = new_context();
    struct nv12 foreign;
    sam_tracker *t;

    nv12_open(&foreign, b);
    nv12_draw(&foreign, 0);
    cu.push(b);
    nv12_send(&foreign, NULL);
    cu.pop(NULL);

    p.cuda_context = a;
    t = scene_open(&p);
    expect_frame_refused(t, &foreign.frame, "is not in the memory of device 0");
    expect_map_refused(t, map_of(&foreign, SCENE_W, SCENE_H_PX),
                       "is not in the memory of device 0");
    expect_map_refused(t, (struct sam_labels) { foreign.pinned, 8, 8, 8, 1 },
                       "is not in the memory of device 0");
    // What begins in the device's memory must end there.
    struct sam_labels long_map = map_of(&foreign, 8, 3);
    long_map.stride = 1 << 30;
    p.cuda_context = b;
    sam_tracker *other = scene_open(&p);
    expect_map_refused(other, long_map, "labels: data, 2147483656 bytes, is not in the memory");
    foreign.frame.stride[1] = 1 << 30;
    expect_frame_refused(other, &foreign.frame, "plane 1, 31138512976 bytes, is not in the memory");
    foreign.frame.stride[1] = foreign.frame.stride[0];
    sam_tracker_close(&other);
    foreign.frame.plane[0] = foreign.pinned;
    expect_frame_refused(t, &foreign.frame, "is not in the memory of device 0");
    track(t, &foreign, a, NULL, &given);
    expect_same(&own, &given, "after refused frames");
    sam_tracker_close(&t);

    p.backend = SAM_BACKEND_CPU;
    p.precision = SAM_PRECISION_FP32;
    t = scene_open(&p);
    foreign.frame.on_device = 1;
    expect_frame_refused(t, &foreign.frame, "the backend 'cpu' works in host memory");
    expect_map_refused(t, map_of(&foreign, 8, 8), "the backend 'cpu' works in host memory");
    sam_tracker_close(&t);
    nv12_close(&foreign, b);
    cu.destroy(a);
    cu.destroy(b);
}

// A context that ends too early: one sentence, and closing is safe.
static void check_destroyed(const char *model)
{
    struct sam_params p = scene_cuda_params(model, 2);
    const CUcontext a = new_context();
    struct sam_error error = { "" };
    struct scene s;
    sam_tracker *t;

    p.cuda_context = a;
    t = scene_open(&p);
    give_mask(t, 0, 1);
    cu.destroy(a);
    expect(sam_tracker_step(t, scene_draw(&s, 0), NULL, NULL, &error) == SAM_EDEVICE, "a frame");
    expect(strstr(error.text, "cannot be made current") != NULL, "%s", error.text);
    sam_tracker_close(&t);

    p.cuda_context = NULL;
    t = scene_open(&p);
    step(t, &s, 0);
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
        printf("no GPU\n");
        return 77;
    }
    find_driver();
    check_same_masks(argv[1]);
    check_refused(argv[1]);
    check_frames_refused(argv[1]);
    check_destroyed(argv[1]);
    return expect_status();
}

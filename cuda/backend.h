// SPDX-License-Identifier: MIT
// Private to cuda/: what its files share. No file outside this folder includes it, and no CUDA
// type appears outside this folder.
#ifndef SAM_CUDA_BACKEND_H
#define SAM_CUDA_BACKEND_H

#include <cuda.h>
#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "ops/ops.h"

// Unless the queue asks for less:
// The workspace holds what one operation hands from kernel to kernel, a frame on its way in, or a
// label map on its way out: all in the order of the stream, so that one block serves the three.
// A larger frame or label map gets a room of its own: recorded work holds the workspace's address.
enum {
    SAM_CUDA_WORKSPACE = 17 << 20, // bytes of device memory: 3840 x 2160 in YUY2; 4096 queries'
                                   // attention of 256 channels in four parts
    SAM_CUDA_TILES     = 1024,     // numbers behind it, zeros between operations: see struct attend
    SAM_CUDA_RING      = 25 << 20, // bytes of pinned memory: such a frame, and its label map. It
                                   // grows with the room, so that no upload waits for a piece
    SAM_CUDA_PIECE     = 1 << 20,  // bytes of it that are on their way while the next are copied in
    SAM_CUDA_FETCHES   = 16,       // copies to the host under way at once
};

// A copy to the host that has reached pinned memory once the stream is through.
struct sam_cuda_fetch {
    uint8_t *dst;
    const uint8_t *pinned;
    size_t stride, width, rows; // of dst; rows of `width` bytes
};

// What the runtime has no calls for; from the driver, whose library is not linked.
struct sam_cuda_driver {
    __typeof__(&cuCtxPushCurrent) push;
    __typeof__(&cuCtxPopCurrent) pop;
    __typeof__(&cuCtxGetCurrent) current;
    __typeof__(&cuPointerGetAttribute) pointer;
    __typeof__(&cuTensorMapEncodeTiled) tensor_map; // NULL: of drivers that know no sm_90
};

struct sam_blaslt;

// The kernels of sm_90a: memory attention over values of 64 and of 256 channels; heads of at most
// so many.
enum {
    SAM_CUDA_WGMMA_64,
    SAM_CUDA_WGMMA_256,
    SAM_CUDA_WGMMA_HEADS_64,
    SAM_CUDA_WGMMA_HEADS_80,
    SAM_CUDA_WGMMA_HEADS_96,
    SAM_CUDA_NUM_WGMMA,
};

// What SAMTRACK_CUDA_WITHOUT switches off: bits of `without`, see switches.c.
enum {
    SAM_CUDA_OVERLAP  = 1 << 0, // launches that overlap
    SAM_CUDA_WGMMA    = 1 << 1, // kernels of sm_90a
    SAM_CUDA_GRAPHS   = 1 << 2,
    SAM_CUDA_CUBLASLT = 1 << 3,
    SAM_CUDA_CARVEOUT = 1 << 4, // shared memory's part of the cache that follows each kernel
};

// q->priv of a CUDA queue.
struct sam_cuda {
    struct sam_cuda_driver driver;
    int entered; // how often a given context was pushed
    bool is_lost; // it is no more: what was in it went with it
    cudaStream_t stream;
    bool owns_stream;
    int device;
    bool sets_device;    // the device was asked for by number: threads are pointed to it
    int num_sms;         // streaming multiprocessors
    size_t shared_limit; // bytes of shared memory that a block may ask for
    bool overlaps;       // launches do, each with the one before it: see launch.cuh
    bool is_hopper;      // has the instructions of sm_90a
    bool has_wgmma[SAM_CUDA_NUM_WGMMA]; // and the kernels of these may be used: see twins.cu
    struct sam_twin twins[SAM_CUDA_NUM_WGMMA];
    int *gave_up;        // pinned; 1: a kernel gave up waiting, and its results are wrong
    unsigned without;    // what is switched off
    char without_words[64];
    size_t blaslt_bytes; // of workspace for cuBLASLt; beyond SAM_CUDA_WORKSPACE it has its own
    void *workspace;     // device; valid inside one operation
    struct sam_blaslt *blaslt; // NULL: our kernel makes all products
    void *room;          // device; for frames in or label maps out: the workspace, or larger
    size_t room_bytes;
    uint8_t *ring;       // pinned; [0, ring_used) may be in flight until the next wait
    size_t ring_bytes, ring_used;
    struct sam_cuda_fetch fetch[SAM_CUDA_FETCHES];
    int num_fetches;
    char name[256];
};

// ---- stream.c

// The stream of a queue, after pointing the calling thread to the queue's device.
cudaStream_t sam_cuda_stream(struct sam_queue *q);

// Turn a CUDA error into the queue's failure, which names what was tried. False: it failed.
bool sam_cuda_check(struct sam_queue *q, const char *what, cudaError_t error);

// Likewise for the launch just made. Faults inside a kernel surface later, at finish.
void sam_cuda_launched(struct sam_queue *q, const char *op);

// ---- context.c

// Find the driver's entries. False: the queue has failed.
bool sam_cuda_driver_find(struct sam_queue *q);
void sam_cuda_enter(struct sam_queue *q);
void sam_cuda_leave(struct sam_queue *q);
bool sam_cuda_holds(struct sam_queue *q, const void *p);

// ---- ops.c

const struct sam_ops *sam_cuda_ops(void);

// ---- device.c

// Launch a kernel that does nothing, and wait for it. False: the queue has failed.
bool sam_cuda_probe(struct sam_queue *q);
void sam_cuda_launch_probe(struct sam_queue *q); // without the wait

// ---- switches.c

// Read them from the environment. What is unknown there is told by sam_cuda_switches_tell().
void sam_cuda_switches_read(struct sam_queue *q);
void sam_cuda_switches_tell(struct sam_queue *q);

// Whether a part is used, as far as the switches go.
static inline bool sam_cuda_uses(const struct sam_cuda *cuda, unsigned part)
{
    return !(cuda->without & part);
}

// ---- transfer.c

// What operations need beyond their arguments: the workspace and the pinned ring.
int sam_cuda_memory_take(struct sam_queue *q);
void sam_cuda_memory_free(struct sam_cuda *cuda);
size_t sam_cuda_memory_bytes(const struct sam_queue *q);
size_t sam_cuda_memory_left(struct sam_queue *q);

void *sam_cuda_alloc(struct sam_queue *q, size_t bytes);
void sam_cuda_release(struct sam_queue *q, void *data);

int sam_cuda_reserve(struct sam_queue *q, size_t bytes, struct sam_error *error);
size_t sam_cuda_reserve_bytes(const struct sam_queue *q, size_t bytes);

// The room, at least `bytes` of it; NULL: out of memory, the queue has failed. Trackers and
// painters reserve it before an operation asks.
void *sam_cuda_room(struct sam_queue *q, size_t bytes);

// Whether a kernel has given up waiting since this was asked last. The stream must be through.
bool sam_cuda_gave_up(struct sam_cuda *cuda);

// Wait for the stream; what was fetched reaches its place. False: the queue has failed, as it does
// if a kernel has given up.
bool sam_cuda_wait(struct sam_queue *q, const char *what);

// Host memory to the device through the pinned ring, in stream order; src may be reused.
void sam_cuda_upload(struct sam_queue *q, void *dst, const void *src, size_t bytes);
// Rows of `width` bytes, `stride` bytes apart at src, close together on the device.
void sam_cuda_upload_rows(struct sam_queue *q, void *dst, const void *src, size_t stride,
                          size_t width, size_t rows);
void sam_cuda_download(struct sam_queue *q, void *dst, const void *src, size_t bytes);

// Device memory to the host: it is there after the next wait. rows: of `width` bytes, close
// together on the device, `stride` bytes apart at dst.
void sam_cuda_fetch(struct sam_queue *q, void *dst, const void *src, size_t bytes);
void sam_cuda_fetch_rows(struct sam_queue *q, void *dst, size_t stride, const void *src,
                         size_t width, size_t rows);

// ---- blaslt.c

// Memory that opening takes; 0: this queue is for no products of BF16, and gets none.
size_t sam_blaslt_bytes(const struct sam_queue *q);

// Open cuBLASLt, if the machine has it; a warning tells if not, and q->products.
void sam_blaslt_open(struct sam_queue *q);
void sam_blaslt_close(struct sam_cuda *cuda);

// A product with a BF16 weight. False: it is for our kernel.
bool sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p);

// Whether it is asked for a product, which does not turn: one that is large, of its types.
bool sam_blaslt_takes(const struct sam_queue *q, const struct sam_linear *p);

// ---- blaslt_find.c

// Offer libraries that are named like cuBLASLt until one is taken. False: none was, why says in
// words.
typedef bool sam_blaslt_take(void *library, void *data);
bool sam_blaslt_find(sam_blaslt_take *take, void *data, char *why, size_t size);

// ---- twins.cu

// Compare kernels with those that they take the place of; one warning where these are taken.
void sam_cuda_compare_twins(struct sam_queue *q);

// ---- kernels.c

// All kernels of this build: see launch.cuh.
struct sam_cuda_kernel {
    const void *entry; // on the host
    struct sam_cuda_kernel *next;
};
extern struct sam_cuda_kernel *sam_cuda_kernels;

// Load them all, lest a frame wait for it; find out whether launches may overlap.
void sam_cuda_load_kernels(struct sam_queue *q);

// ---- graph.c

void sam_cuda_record_begin(struct sam_queue *q);
void *sam_cuda_record_end(struct sam_queue *q);
void sam_cuda_replay(struct sam_queue *q, void *record);
void sam_cuda_forget(struct sam_queue *q, void *record);
bool sam_cuda_stop_overlap(struct sam_queue *q);

static inline struct sam_cuda *sam_cuda(const struct sam_queue *q)
{
    return (struct sam_cuda *) q->priv;
}

size_t sam_pack_bytes_cuda(const struct sam_queue *q, struct sam_matrix m);
void sam_pack_cuda(struct sam_queue *q, struct sam_matrix dst, const float *weight);
#define SAM_CUDA(name, cpu, cuda) \
    void sam_##name##_cuda(struct sam_queue *q, const struct sam_##name *p);
SAM_OPS(SAM_CUDA)
#undef SAM_CUDA

// The reference makes these by the queue's own operations, one after the other: so does CUDA where
// it has no kernel for both.
void sam_product_norm_ref(struct sam_queue *q, const struct sam_product_norm *p);
void sam_linear_upsample_ref(struct sam_queue *q, const struct sam_linear_upsample *p);

#ifdef __cplusplus
}
#endif
#endif // SAM_CUDA_BACKEND_H

// SPDX-License-Identifier: MIT
// A queue: an ordered stream of operations on one device. It keeps the first failure, skips all
// later operations, and sam_queue_finish() reports it. So a network is straight-line code with one
// check at its end.
#ifndef SAM_QUEUE_H
#define SAM_QUEUE_H

#include <stdbool.h>

#include "base/log.h"
#include "base/tensor.h"

struct sam_device;
struct sam_ops;
struct sam_queue;

// Who is told of tensors when they have been made: see sam_queue_mark().
struct sam_listener {
    void (*hear)(void *priv, struct sam_queue *q, const char *name, struct sam_tensor t);
    void *priv;
};

struct sam_queue {
    const struct sam_device *device; // the backend's table, see device.h. NULL: not open
    const struct sam_ops *ops;       // the backend's operations
    void *priv;                      // the backend's data: threads, stream, workspace
    int ordinal;                     // of the device; open resolves -1
    void *context; // CUcontext that the queue's memory belongs to; NULL for other backends
    bool is_given; // the caller gave the context: it is current only between enter and leave
    void *stream;  // given by the caller; NULL: the queue has its own
    size_t work_bytes; // limit of the workspace for operations and of the buffers for copies; 0:
                       // as much as all operations can use
    struct sam_log log;
    enum sam_precision precision; // of matrix products: SAM_PRECISION_FP32 or _BF16
    bool bf16_is_faster;          // than FP32, on this device, whatever the precision
    bool int8; // matrices that say so are multiplied in int8; `precision` is that of all else
    int threads;                  // of the backend; 1 if it has none of its own
    const char *device_name;      // for reports; valid until the queue is closed
    const char *products;         // who makes large products: see struct sam_info
    // Likewise, of CUDA alone; a switch says whether records are to be used.
    bool overlaps, wgmma, without_records;
    const char *without;
    const struct sam_twin *twins;
    int num_twins;

    bool is_spoilt; // the last record is: see sam_queue_record_end()
    struct sam_listener listener; // hear is NULL: nobody listens

    int status; // the first failure, or SAM_OK
    struct sam_error error;
};

// To open a queue with operations, see ops/backends.h.
//
// Open a queue of its own on the same device and in the same context as `other`. No operation can
// run on it. copy_bytes: of its buffer for copies to and from the device; 0: it can only allocate
// and free, also memory of `other` after that is closed.
int sam_queue_open_beside(struct sam_queue *q, const struct sam_queue *other, size_t copy_bytes,
                          struct sam_error *error);
void sam_queue_close(struct sam_queue *q);

static inline bool sam_queue_is_open(const struct sam_queue *q)
{
    return q->device;
}

// The name of the backend: "ref", "cpu" or "cuda". Equal names have equal addresses.
const char *sam_queue_backend(const struct sam_queue *q);

// "fp32", "bf16" or "int8": what products are made in.
const char *sam_queue_precision(const struct sam_queue *q);

// Make a given context current, and restore the previous one. All calls on an open queue must be
// made between the two. They nest. On failure the queue has failed.
void sam_queue_enter(struct sam_queue *q);
void sam_queue_leave(struct sam_queue *q);

// Whether the device has its own memory, separate from host memory.
bool sam_queue_has_own_memory(const struct sam_queue *q);

// Whether p is an address in that memory. False if the device has none.
bool sam_queue_holds(struct sam_queue *q, const void *p);

// Record a failure, unless one is recorded already: later ones are consequences of the first.
void sam_queue_fail(struct sam_queue *q, int status, const char *fmt, ...)
    SAM_PRINTF(3, 4);

// Wait for all work. Returns the recorded failure, writes its text to *error and clears it.
int sam_queue_finish(struct sam_queue *q, struct sam_error *error);

// Allocate device memory, of any content. Returns NULL if there is none left. Must not be called
// during frames.
void *sam_queue_alloc(struct sam_queue *q, size_t bytes);
void sam_queue_free(struct sam_queue *q, void *data);

// Grow the buffers for copying one frame, label map or overlay between host and device to `bytes`
// (rows without padding). If memory runs out, the queue has not failed and keeps its old buffers.
// Does nothing if the device uses host memory.
int sam_queue_reserve(struct sam_queue *q, size_t bytes, struct sam_error *error);
// The additional bytes that sam_queue_reserve() would allocate.
size_t sam_queue_reserve_bytes(const struct sam_queue *q, size_t bytes);

// Bytes that can still be allocated; SIZE_MAX if unknown.
size_t sam_queue_memory_left(struct sam_queue *q);

// Bytes that the queue itself has allocated, without those of sam_queue_alloc().
size_t sam_queue_workspace_bytes(const struct sam_queue *q);

// Copy between host and device, in order with the operations. upload: src may be reused when the
// call returns; rows: of `width` bytes, `stride` bytes apart at src, close together at dst.
// download waits: dst is filled when the call returns. fetch does not wait: dst is filled when
// sam_queue_finish() returns.
void sam_queue_upload(struct sam_queue *q, void *dst, const void *src, size_t bytes);
void sam_queue_upload_rows(struct sam_queue *q, void *dst, const void *src, size_t stride,
                           size_t width, size_t rows);
void sam_queue_download(struct sam_queue *q, void *dst, const void *src, size_t bytes);
void sam_queue_fetch(struct sam_queue *q, void *dst, const void *src, size_t bytes);

// Record operations once and replay them many times (a CUDA graph). Operations between begin and
// end are recorded, not run; in between, the caller must not allocate, copy from or to the host, or
// wait. A record holds addresses, extents and constants; the data they point to is read at each
// replay. May be used only if sam_queue_records(). end returns NULL if the queue has failed; then
// q->is_spoilt tells that calls of another thread may have spoilt the record, which is worth
// another try.
bool sam_queue_records(const struct sam_queue *q);
void sam_queue_record_begin(struct sam_queue *q);
void *sam_queue_record_end(struct sam_queue *q);
void sam_queue_replay(struct sam_queue *q, void *record);
void sam_queue_forget(struct sam_queue *q, void *record); // free a record; it may be NULL

// Tell the listener of a tensor that the operations so far have made, as it is: by its name among
// the stages of docs/MODEL.md. It is valid during the call, which may download it, but not while
// operations are recorded; a replay tells nothing. Without a listener nothing happens. Who listens
// must change nothing: what runs does not depend on it.
static inline void sam_queue_mark(struct sam_queue *q, const char *name, struct sam_tensor t)
{
    if (q->listener.hear && !q->status)
        q->listener.hear(q->listener.priv, q, name, t);
}

// From now on begin no operation before the one ahead of it is through. Returns false if none did:
// where a record fails, it is worth another try only if this was true.
bool sam_queue_stop_overlap(struct sam_queue *q);

// Storage type of activations that only feed matrix products: BF16 if the products are BF16, else
// F32. Residual streams, sums of norms, coordinates and logits are always F32.
static inline enum sam_type sam_queue_type(const struct sam_queue *q)
{
    return q->precision == SAM_PRECISION_BF16 ? SAM_BF16 : SAM_F32;
}

#endif // SAM_QUEUE_H

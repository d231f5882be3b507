// An ordered stream of operations on one device. The first failure sticks: every later
// operation is skipped and sam_queue_finish() reports it. So a network is written as
// straight-line code and checked once.
#ifndef SAM_QUEUE_H
#define SAM_QUEUE_H

#include <stdbool.h>

#include "base/log.h"
#include "base/tensor.h"

struct sam_device;
struct sam_ops;

struct sam_queue {
    const struct sam_device *device; // the backend's life: see device.h. NULL: not open
    const struct sam_ops *ops;       // and its arithmetic: one entry per operation
    void *priv;                      // the backend's own: threads, stream, workspace
    int ordinal;                     // of the device; open resolves -1
    void *context; // of the device, that its memory belongs to; NULL where there is no such thing
    bool is_given; // the context, by the caller: it is current only between enter and leave
    void *stream;  // given by the caller; NULL: the queue has its own
    size_t work_bytes; // most memory that operations get beyond arguments, and that copies go
                       // through; 0: what all operations together work best with
    struct sam_log log;
    enum sam_precision precision; // of matrix products: SAM_PRECISION_FP32 or _BF16
    int threads;                  // that the backend works with; 1 where it has none of its own
    const char *device_name;      // its name, for reports; lives as long as the queue

    int status; // the first failure, or SAM_OK
    struct sam_error error;
};

// ops/backends.h opens queues: a queue comes with the operations of its backend.
//
// Open a queue on the device of another one, that frees what the other one allocated. It outlives
// the other one; no operation can run on it.
int sam_queue_open_beside(struct sam_queue *q, const struct sam_queue *other,
                          struct sam_error *error);
void sam_queue_close(struct sam_queue *q);

static inline bool sam_queue_is_open(const struct sam_queue *q)
{
    return q->device;
}

// The name of the backend: "ref", "cpu" or "cuda". A constant: names may be compared by address.
const char *sam_queue_backend(const struct sam_queue *q);

// Around all that is done with an open queue, so that a given context is current meanwhile, and
// only then. They nest. A failure is the queue's.
void sam_queue_enter(struct sam_queue *q);
void sam_queue_leave(struct sam_queue *q);

// Whether the device has memory of its own, apart from the host's.
bool sam_queue_has_own_memory(const struct sam_queue *q);

// Whether p is an address in that memory. False where there is none.
bool sam_queue_holds(struct sam_queue *q, const void *p);

// Record a failure, unless one is recorded already: the first is the cause, the rest its echoes.
void sam_queue_fail(struct sam_queue *q, int status, const char *fmt, ...)
    SAM_PRINTF(3, 4);

// Wait until all is done. Returns and clears the sticky failure; its sentence goes to *error.
int sam_queue_finish(struct sam_queue *q, struct sam_error *error);

// Memory of the device; NULL when there is no more. Only at open.
void *sam_queue_alloc(struct sam_queue *q, size_t bytes);
void sam_queue_free(struct sam_queue *q, void *data);

// Make room, where there is less, for one frame, label map or overlay of so many bytes (rows
// without padding) on its way between the host and the device. On failure the queue has not failed,
// unless the device has, and what fitted before still does. Nothing to do in the host's memory.
int sam_queue_reserve(struct sam_queue *q, size_t bytes, struct sam_error *error);
// The bytes that this would take beside those the queue has.
size_t sam_queue_reserve_bytes(const struct sam_queue *q, size_t bytes);

// Bytes that can still be had; SIZE_MAX where nobody says.
size_t sam_queue_memory_left(struct sam_queue *q);

// Bytes that the queue itself takes, beside what sam_queue_alloc() gave.
size_t sam_queue_workspace_bytes(const struct sam_queue *q);

// Copy between host and device, in order with the operations. upload: src may be reused when
// the call returns. download: waits, dst is filled when the call returns. fetch: does not, dst is
// filled when sam_queue_finish() returns.
void sam_queue_upload(struct sam_queue *q, void *dst, const void *src, size_t bytes);
void sam_queue_download(struct sam_queue *q, void *dst, const void *src, size_t bytes);
void sam_queue_fetch(struct sam_queue *q, void *dst, const void *src, size_t bytes);

// Work that is asked for once and run many times (a CUDA graph): between begin and end operations
// are recorded, not run; no memory may be had, copied to or from the host, or waited for. A record
// holds addresses, extents and constants as they were; what they point to is read at each replay.
// Only where sam_queue_records(). end: NULL, the queue has failed.
bool sam_queue_records(const struct sam_queue *q);
void sam_queue_record_begin(struct sam_queue *q);
void *sam_queue_record_end(struct sam_queue *q);
void sam_queue_replay(struct sam_queue *q, void *record);
void sam_queue_forget(struct sam_queue *q, void *record); // NULL: nothing

// How activations are stored that only feed matrix products: BF16 where the products are, else
// F32. Residual streams, norms' sums, coordinates and logits are F32 everywhere.
static inline enum sam_type sam_queue_type(const struct sam_queue *q)
{
    return q->precision == SAM_PRECISION_BF16 ? SAM_BF16 : SAM_F32;
}

#endif // SAM_QUEUE_H

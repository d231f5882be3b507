// An ordered stream of operations on one device. The first failure sticks: every later
// operation is skipped and sam_queue_finish() reports it. So a network is written as
// straight-line code and checked once.
#ifndef SAM_QUEUE_H
#define SAM_QUEUE_H

#include <stdbool.h>

#include "base/log.h"
#include "base/tensor.h"

struct sam_ops;

struct sam_queue {
    const struct sam_ops *ops; // the backend: one entry per operation
    void *priv;                // the backend's own: threads, stream, workspace
    int device;                // ordinal; open resolves -1
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

// Open a queue. AUTO is resolved: the best backend that this build and machine have, the best
// precision that backend has. threads: see struct sam_params.
int sam_queue_open(struct sam_queue *q, enum sam_backend backend, int device,
                   enum sam_precision precision, int threads, const struct sam_log *log,
                   struct sam_error *error);
// The same for a tracker. to_plan: only to ask what memory it would take: it takes none, and
// nothing can run on it.
int sam_queue_open_for(struct sam_queue *q, const struct sam_params *params, bool to_plan,
                       struct sam_error *error);
// The same for one who asks for few operations, and small ones.
int sam_queue_open_small(struct sam_queue *q, const struct sam_params *params, size_t work_bytes,
                         struct sam_error *error);
void sam_queue_close(struct sam_queue *q);

// Around all that is done with an open queue, so that a given context is current meanwhile, and
// only then. They nest. A failure is the queue's.
void sam_queue_enter(struct sam_queue *q);
void sam_queue_leave(struct sam_queue *q);

// Whether this is an address in the memory of the device, where it is not the host's.
bool sam_queue_holds(struct sam_queue *q, const void *p);

// Record a failure, unless one is recorded already: the first is the cause, the rest its echoes.
void sam_queue_fail(struct sam_queue *q, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Wait until all is done. Returns and clears the sticky failure; its sentence goes to *error.
int sam_queue_finish(struct sam_queue *q, struct sam_error *error);

// Memory of the device; NULL when there is no more. Only at open.
void *sam_queue_alloc(struct sam_queue *q, size_t bytes);
void sam_queue_free(struct sam_queue *q, void *data);

// Bytes that can still be had; SIZE_MAX where nobody says.
size_t sam_queue_memory_left(struct sam_queue *q);

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

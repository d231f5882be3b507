// SPDX-License-Identifier: MIT
// A backend's table of functions beside the operations: opening, memory, copies, records. Only
// device/ and the backends access it; all other code calls sam_queue_*().
#ifndef SAM_DEVICE_H
#define SAM_DEVICE_H

#include "device/places.h"
#include "device/queue.h"

// The comment of an entry that may be NULL says what queue.c does then.
struct sam_device {
    const char *name; // of the backend: "ref", "cpu", "cuda"

    // open sets q->ops and the other fields of the queue, and resolves the precision. On failure it
    // calls sam_queue_fail() and returns the status; close is called after a failure, too.
    // prepare allocates the workspace of the operations. NULL: there is none.
    // workspace_bytes: size of the workspace and of the backend's own data. NULL: 0.
    // finish waits for all work. NULL: work has finished when a call returns.
    int (*open)(struct sam_queue *q, int ordinal, int threads);
    int (*prepare)(struct sam_queue *q);
    void (*close)(struct sam_queue *q);
    size_t (*workspace_bytes)(const struct sam_queue *q);
    void (*finish)(struct sam_queue *q);

    // Make the queue's context current for the calling thread, and restore the previous one; where
    // queues share processors, what is between them is a share of these. Both NULL: neither.
    void (*enter)(struct sam_queue *q);
    void (*leave)(struct sam_queue *q);

    // Memory. All nine NULL: host memory is used. left: bytes that can still be allocated. holds:
    // whether p is in this memory. reserve: see sam_queue_reserve(). more: the additional bytes
    // that reserve would allocate.
    void *(*alloc)(struct sam_queue *q, size_t bytes);
    void (*release)(struct sam_queue *q, void *data);
    size_t (*left)(struct sam_queue *q);
    bool (*holds)(struct sam_queue *q, const void *p);
    int (*reserve)(struct sam_queue *q, size_t bytes, struct sam_error *error);
    size_t (*more)(const struct sam_queue *q, size_t bytes);
    void (*upload)(struct sam_queue *q, void *dst, const void *src, size_t bytes);
    void (*upload_rows)(struct sam_queue *q, void *dst, const void *src, size_t stride,
                        size_t width, size_t rows);
    void (*download)(struct sam_queue *q, void *dst, const void *src, size_t bytes);
    void (*fetch)(struct sam_queue *q, void *dst, const void *src, size_t bytes);

    // Records. The first four NULL: it has none, as a replay would not be faster. record_end
    // returns NULL if the queue has failed.
    void (*record_begin)(struct sam_queue *q);
    void *(*record_end)(struct sam_queue *q);
    void (*replay)(struct sam_queue *q, void *record);
    void (*forget)(struct sam_queue *q, void *record);
    // NULL: nothing overlaps.
    bool (*stop_overlap)(struct sam_queue *q);

    // The list of those whose queues share processors with this one, see places.h. NULL, as a
    // function and as its answer: each has scratch of its own.
    struct sam_places_list *(*places)(const struct sam_queue *q);
};

// Options of a queue. to_plan: the queue only answers how much memory it would allocate; it
// allocates none, and nothing can run on it. The other fields are those of struct sam_queue.
struct sam_queue_options {
    int ordinal; // of the device; -1: the current one
    enum sam_precision precision;
    int threads; // see struct sam_params
    const struct sam_log *log;
    void *context, *stream;
    size_t work_bytes;
    bool to_plan;
};

// Open a queue on a backend.
int sam_queue_start(struct sam_queue *q, const struct sam_device *device,
                    const struct sam_queue_options *o, struct sam_error *error);

#endif // SAM_DEVICE_H

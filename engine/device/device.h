// What a backend gives beside arithmetic: opening, memory, copies, recorded work. One table per
// backend. Only device/ and the backends look into it; everyone else calls sam_queue_*().
#ifndef SAM_DEVICE_H
#define SAM_DEVICE_H

#include "device/queue.h"

// An entry that may be NULL says so, and says what queue.c does then.
struct sam_device {
    const char *name; // of the backend: "ref", "cpu", "cuda"

    // open sets q->ops and what else the queue tells, and resolves the precision. On failure it
    // calls sam_queue_fail() and returns the status; close is called after a failure, too.
    // prepare takes the memory that operations need beyond their arguments. NULL: none.
    // workspace_bytes: the bytes of it, and of the backend itself. NULL: 0.
    // finish waits for all work. NULL: all is done when a call returns.
    int (*open)(struct sam_queue *q, int ordinal, int threads);
    int (*prepare)(struct sam_queue *q);
    void (*close)(struct sam_queue *q);
    size_t (*workspace_bytes)(const struct sam_queue *q);
    void (*finish)(struct sam_queue *q);

    // Make the queue's context current for the calling thread, and undo that. NULL, both: there is
    // no context.
    void (*enter)(struct sam_queue *q);
    void (*leave)(struct sam_queue *q);

    // Memory. NULL, all nine: it is the host's. left: bytes that alloc can still give. holds:
    // whether p is in this memory. reserve: room for what operations copy from and to the host, see
    // sam_queue_reserve(); more: the bytes that it would take beside those it has.
    void *(*alloc)(struct sam_queue *q, size_t bytes);
    void (*release)(struct sam_queue *q, void *data);
    size_t (*left)(struct sam_queue *q);
    bool (*holds)(struct sam_queue *q, const void *p);
    int (*reserve)(struct sam_queue *q, size_t bytes, struct sam_error *error);
    size_t (*more)(const struct sam_queue *q, size_t bytes);
    void (*upload)(struct sam_queue *q, void *dst, const void *src, size_t bytes);
    void (*download)(struct sam_queue *q, void *dst, const void *src, size_t bytes);
    void (*fetch)(struct sam_queue *q, void *dst, const void *src, size_t bytes);

    // Recorded work. NULL, all four: a replay would be no faster than the operations themselves.
    // record_end returns NULL if the queue has failed.
    void (*record_begin)(struct sam_queue *q);
    void *(*record_end)(struct sam_queue *q);
    void (*replay)(struct sam_queue *q, void *record);
    void (*forget)(struct sam_queue *q, void *record);
};

// What a queue is opened with. `to_plan`: the queue is only asked what memory it would take; it
// takes none, and nothing can run on it. The rest as in struct sam_queue.
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

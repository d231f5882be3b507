#include "queue.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ops/ops.h"

static const struct sam_ops *find_backend(enum sam_backend backend)
{
    switch (backend) {
    case SAM_BACKEND_REF:  return sam_ops_ref();
    case SAM_BACKEND_CPU:  return sam_ops_cpu();
    case SAM_BACKEND_CUDA: return sam_ops_cuda();
    case SAM_BACKEND_AUTO: break;
    }
    return NULL;
}

static const char *backend_name(enum sam_backend backend)
{
    switch (backend) {
    case SAM_BACKEND_AUTO: return "auto";
    case SAM_BACKEND_REF:  return "ref";
    case SAM_BACKEND_CPU:  return "cpu";
    case SAM_BACKEND_CUDA: return "cuda";
    }
    return "unknown";
}

// What a queue is opened with.
struct wish {
    int device;
    enum sam_precision precision;
    int threads;
    const struct sam_log *log;
    bool runs; // else only asked about
    void *context, *stream;
    size_t work_bytes;
};

static int open_one(struct sam_queue *q, enum sam_backend backend, const struct wish *w,
                    struct sam_error *error)
{
    *q = (struct sam_queue) { .precision = w->precision, .device = w->device, .threads = 1,
                              .device_name = "host", .context = w->context,
                              .is_given = w->context, .stream = w->stream,
                              .work_bytes = w->work_bytes };
    if (w->log)
        q->log = *w->log;
    q->ops = find_backend(backend);
    if (!q->ops)
        return sam_fail(error, SAM_EUNSUPPORTED, "backend '%s': not in this build",
                        backend_name(backend));
    if (!q->ops->enter)
        q->context = NULL, q->is_given = false;
    int status = q->ops->open(q, w->device, w->threads);
    if (!status && w->runs && q->ops->prepare) {
        sam_queue_enter(q);
        status = q->ops->prepare(q);
        sam_queue_leave(q);
    }
    if (status) {
        if (error)
            *error = q->error;
        sam_queue_close(q);
    }
    return status;
}

static int open_any(struct sam_queue *q, enum sam_backend backend, const struct wish *w,
                    struct sam_error *error)
{
    struct sam_error why;
    if (backend != SAM_BACKEND_AUTO)
        return open_one(q, backend, w, error);
    const int status = open_one(q, SAM_BACKEND_CUDA, w, &why);
    if (!status)
        return status;
    // A machine without a GPU is nothing to warn about; one whose GPU does not work is.
    if (w->log)
        sam_log(w->log, status == SAM_EUNSUPPORTED ? SAM_LOG_INFO : SAM_LOG_WARNING,
                "backend 'auto' takes 'cpu': %s", why.text);
    return open_one(q, SAM_BACKEND_CPU, w, error);
}

int sam_queue_open(struct sam_queue *q, enum sam_backend backend, int device,
                   enum sam_precision precision, int threads, const struct sam_log *log,
                   struct sam_error *error)
{
    const struct wish w = { device, precision, threads, log, true, NULL, NULL, 0 };
    return open_any(q, backend, &w, error);
}

static int open_with(struct sam_queue *q, const struct sam_params *params, bool to_plan,
                     size_t work_bytes, struct sam_error *error)
{
    const struct sam_log log = { params->log, params->log_priv };
    const struct wish w = { params->device, params->precision, params->threads, &log, !to_plan,
                            params->cuda_context, params->cuda_stream, work_bytes };
    return open_any(q, params->backend, &w, error);
}

int sam_queue_open_for(struct sam_queue *q, const struct sam_params *params, bool to_plan,
                       struct sam_error *error)
{
    return open_with(q, params, to_plan, 0, error);
}

int sam_queue_open_small(struct sam_queue *q, const struct sam_params *params, size_t work_bytes,
                         struct sam_error *error)
{
    return open_with(q, params, false, work_bytes, error);
}

void sam_queue_close(struct sam_queue *q)
{
    if (q->ops)
        q->ops->close(q);
    memset(q, 0, sizeof(*q));
}

void sam_queue_enter(struct sam_queue *q)
{
    if (q->ops->enter)
        q->ops->enter(q);
}

void sam_queue_leave(struct sam_queue *q)
{
    if (q->ops->leave)
        q->ops->leave(q);
}

bool sam_queue_holds(struct sam_queue *q, const void *p)
{
    return q->ops->holds && q->ops->holds(q, p);
}

void sam_queue_fail(struct sam_queue *q, int status, const char *fmt, ...)
{
    if (q->status)
        return; // the first failure is the cause; the rest are its echoes
    va_list ap;
    va_start(ap, fmt);
    q->status = sam_fail_va(&q->error, status, fmt, ap);
    va_end(ap);
}

int sam_queue_finish(struct sam_queue *q, struct sam_error *error)
{
    if (q->ops->finish)
        q->ops->finish(q);
    const int status = q->status;
    if (status && error)
        *error = q->error;
    q->status = SAM_OK;
    return status;
}

void *sam_queue_alloc(struct sam_queue *q, size_t bytes)
{
    if (q->ops->alloc)
        return q->ops->alloc(q, bytes);
    // Every page is touched here, so that no frame waits for one. The kernel promises more than it
    // has and ends the process that believes it: hence the question before.
    void *p = NULL;
    if (bytes > sam_memory_left("") || posix_memalign(&p, 4096, bytes ? bytes : 1))
        return NULL;
    memset(p, 0, bytes);
    return p;
}

void sam_queue_free(struct sam_queue *q, void *data)
{
    if (q->ops->release)
        q->ops->release(q, data);
    else
        free(data);
}

size_t sam_queue_memory_left(struct sam_queue *q)
{
    return q->ops->left ? q->ops->left(q) : sam_memory_left("");
}

void sam_queue_upload(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    if (q->status)
        return;
    if (q->ops->upload)
        q->ops->upload(q, dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

void sam_queue_download(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    if (q->status)
        return;
    if (q->ops->download)
        q->ops->download(q, dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

void sam_queue_fetch(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    if (q->status)
        return;
    if (q->ops->fetch)
        q->ops->fetch(q, dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

bool sam_queue_records(const struct sam_queue *q)
{
    return q->ops->record_begin;
}

void sam_queue_record_begin(struct sam_queue *q)
{
    if (!q->status)
        q->ops->record_begin(q);
}

void *sam_queue_record_end(struct sam_queue *q)
{
    return q->ops->record_end(q); // even after a failure: what began must end
}

void sam_queue_replay(struct sam_queue *q, void *record)
{
    if (!q->status)
        q->ops->replay(q, record);
}

void sam_queue_forget(struct sam_queue *q, void *record)
{
    if (record)
        q->ops->forget(q, record);
}

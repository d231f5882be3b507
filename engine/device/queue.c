// SPDX-License-Identifier: MIT
#include "device/queue.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "base/memory.h"

enum { PAGE = 4096 };

int sam_queue_start(struct sam_queue *q, const struct sam_device *device,
                    const struct sam_queue_options *o, struct sam_error *error)
{
    *q = (struct sam_queue) { .device = device, .precision = o->precision, .ordinal = o->ordinal,
                              .threads = 1, .device_name = "host", .products = "own", .without = "",
                              .stream = o->stream, .work_bytes = o->work_bytes };
    if (o->log)
        q->log = *o->log;
    if (device->alloc)
        q->context = o->context, q->is_given = o->context;
    int status = device->open(q, o->ordinal, o->threads);
    if (!status && !o->to_plan && device->prepare) {
        sam_queue_enter(q);
        status = device->prepare(q);
        sam_queue_leave(q);
    }
    if (status) {
        if (error)
            *error = q->error;
        sam_queue_close(q);
    }
    return status;
}

int sam_queue_open_beside(struct sam_queue *q, const struct sam_queue *other, size_t copy_bytes,
                          struct sam_error *error)
{
    static const struct sam_device host = { .name = "host" };
    const struct sam_queue_options options = {
        .ordinal = other->ordinal, .precision = other->precision, .threads = 1, .log = &other->log,
        .context = other->is_given ? other->context : NULL, .work_bytes = copy_bytes,
        .to_plan = !copy_bytes,
    };
    if (sam_queue_has_own_memory(other))
        return sam_queue_start(q, other->device, &options, error);
    *q = (struct sam_queue) { .device = &host }; // free() needs neither threads nor tables
    return SAM_OK;
}

void sam_queue_close(struct sam_queue *q)
{
    if (q->device && q->device->close)
        q->device->close(q);
    memset(q, 0, sizeof(*q));
}

const char *sam_queue_backend(const struct sam_queue *q)
{
    return q->device->name;
}

const char *sam_queue_precision(const struct sam_queue *q)
{
    return q->int8 ? "int8" : q->precision == SAM_PRECISION_BF16 ? "bf16" : "fp32";
}

void sam_queue_enter(struct sam_queue *q)
{
    assert(sam_queue_is_open(q));
    if (q->device->enter)
        q->device->enter(q);
}

void sam_queue_leave(struct sam_queue *q)
{
    if (q->device->leave)
        q->device->leave(q);
}

bool sam_queue_has_own_memory(const struct sam_queue *q)
{
    return q->device->alloc;
}

bool sam_queue_holds(struct sam_queue *q, const void *p)
{
    return q->device->holds && q->device->holds(q, p);
}

void sam_queue_fail(struct sam_queue *q, int status, const char *fmt, ...)
{
    assert(status < 0);
    if (q->status)
        return; // later failures are consequences of the first
    va_list ap;
    va_start(ap, fmt);
    q->status = sam_fail_va(&q->error, status, fmt, ap);
    va_end(ap);
}

int sam_queue_finish(struct sam_queue *q, struct sam_error *error)
{
    if (q->device->finish)
        q->device->finish(q);
    const int status = q->status;
    if (status && error)
        *error = q->error;
    q->status = SAM_OK;
    return status;
}

// A byte of each page. What was there before is not overwritten, as it is on no device.
static void touch(void *memory, size_t bytes)
{
    volatile uint8_t *p = memory;

    for (size_t at = 0; at < bytes; at += PAGE)
        p[at] = 0;
}

void *sam_queue_alloc(struct sam_queue *q, size_t bytes)
{
    if (q->device->alloc)
        return q->device->alloc(q, bytes);
    // Every page is touched here, so that no frame waits for one. The kernel promises more than it
    // has and ends the process that believes it: hence the question before.
    void *p = NULL;
    if (bytes > sam_memory_left("") || posix_memalign(&p, PAGE, bytes ? bytes : 1))
        return NULL;
    touch(p, bytes);
    return p;
}

void sam_queue_free(struct sam_queue *q, void *data)
{
    if (q->device->release)
        q->device->release(q, data);
    else
        free(data);
}

size_t sam_queue_memory_left(struct sam_queue *q)
{
    return q->device->left ? q->device->left(q) : sam_memory_left("");
}

int sam_queue_reserve(struct sam_queue *q, size_t bytes, struct sam_error *error)
{
    return q->device->reserve ? q->device->reserve(q, bytes, error) : SAM_OK;
}

size_t sam_queue_reserve_bytes(const struct sam_queue *q, size_t bytes)
{
    return q->device->more ? q->device->more(q, bytes) : 0;
}

size_t sam_queue_workspace_bytes(const struct sam_queue *q)
{
    return q->device->workspace_bytes ? q->device->workspace_bytes(q) : 0;
}

void sam_queue_upload(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    if (q->status)
        return;
    if (q->device->upload)
        q->device->upload(q, dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

void sam_queue_upload_rows(struct sam_queue *q, void *dst, const void *src, size_t stride,
                           size_t width, size_t rows)
{
    if (q->status)
        return;
    if (q->device->upload_rows)
        q->device->upload_rows(q, dst, src, stride, width, rows);
    else
        for (size_t row = 0; row < rows; row++)
            memcpy((char *) dst + row * width, (const char *) src + row * stride, width);
}

void sam_queue_download(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    if (q->status)
        return;
    if (q->device->download)
        q->device->download(q, dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

void sam_queue_fetch(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    if (q->status)
        return;
    if (q->device->fetch)
        q->device->fetch(q, dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

bool sam_queue_records(const struct sam_queue *q)
{
    return q->device->record_begin;
}

void sam_queue_record_begin(struct sam_queue *q)
{
    assert(sam_queue_records(q));
    if (!q->status)
        q->device->record_begin(q);
}

void *sam_queue_record_end(struct sam_queue *q)
{
    q->is_spoilt = false;
    return q->device->record_end(q); // even after a failure: what began must end
}

void sam_queue_replay(struct sam_queue *q, void *record)
{
    assert(record);
    if (!q->status)
        q->device->replay(q, record);
}

bool sam_queue_stop_overlap(struct sam_queue *q)
{
    return q->device->stop_overlap && q->device->stop_overlap(q);
}

void sam_queue_forget(struct sam_queue *q, void *record)
{
    if (record)
        q->device->forget(q, record);
}

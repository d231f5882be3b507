// SPDX-License-Identifier: MIT
// The queue of the guarded device: steps that run when the caller waits, and records of them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device/device.h"
#include "guarded.h"
#include "ops/backends.h"

// A list of steps; it grows.
struct steps {
    struct guarded_step **at;
    size_t count, room;
};

struct guarded {
    struct sam_queue reference; // that runs the operations
    struct steps queue;
    struct steps *record; // being made, or NULL
    struct guarded_arrival *arrivals;
    size_t room; // bytes that a frame, label map or overlay may have: few until more are reserved
};

static struct guarded *of(const struct sam_queue *q)
{
    return q->priv;
}

static void *get(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (!p) {
        perror("guarded device");
        abort();
    }
    return p;
}

// ---- steps

struct guarded_step *guarded_step(const char *name, void (*run)(struct sam_queue *, const void *),
                                  size_t bytes)
{
    const size_t head = (sizeof(struct guarded_step) + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
    struct guarded_step *s = get(head + bytes);

    *s = (struct guarded_step) { name, run, (uint8_t *) s + head, 0 };
    return s;
}

static void drop(struct guarded_step *s)
{
    if (!--s->uses)
        free(s);
}

static void append(struct steps *list, struct guarded_step *s)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->at = realloc(list->at, list->room * sizeof(*list->at));
        if (!list->at)
            abort();
    }
    list->at[list->count++] = s;
    s->uses++;
}

static void empty(struct steps *list)
{
    for (size_t i = 0; i < list->count; i++)
        drop(list->at[i]);
    list->count = 0;
}

void guarded_push(struct sam_queue *q, struct guarded_step *s)
{
    append(of(q)->record ? of(q)->record : &of(q)->queue, s);
}

void guarded_not_recorded(const struct sam_queue *q, const char *what)
{
    if (of(q) && of(q)->record)
        guarded_finding("%s while operations are recorded", what);
}

// ---- the host's side

void guarded_check_room(const struct sam_queue *q, const char *what, size_t bytes)
{
    if (bytes > of(q)->room)
        guarded_finding("%s: %zu bytes are on their way, %zu were reserved", what, bytes,
                        of(q)->room);
}

static struct guarded_arrival *await(struct sam_queue *q, const char *what, void *to,
                                     size_t stride, size_t width, size_t rows)
{
    guarded_not_recorded(q, what);
    struct guarded_arrival *a = get(sizeof(*a) + width * rows), **last = &of(q)->arrivals;

    a->to = to, a->stride = stride, a->width = width, a->rows = rows;
    while (*last)
        last = &(*last)->next;
    *last = a;
    for (size_t row = 0; row < rows; row++)
        memset(a->to + row * stride, 0xff, width);
    return a;
}

uint8_t *guarded_expect(struct sam_queue *q, const char *what, void *to, size_t stride,
                        size_t width, size_t rows)
{
    return await(q, what, to, stride, width, rows)->bytes;
}

// The warm-up of a tracker is most of what is computed where one is opened for a few frames. With
// GUARDED_IDLE=warm-up in the environment what it asks for is not computed; records are whole.
static __thread bool is_idle;

struct sam_tracker;
int __real_sam_warm_up(struct sam_tracker *t, struct sam_error *error);
int __wrap_sam_warm_up(struct sam_tracker *t, struct sam_error *error);

int __wrap_sam_warm_up(struct sam_tracker *t, struct sam_error *error)
{
    const char *words = getenv("GUARDED_IDLE");

    is_idle = words && !strcmp(words, "warm-up");
    const int status = __real_sam_warm_up(t, error);
    is_idle = false;
    return status;
}

static void run_all(struct sam_queue *q)
{
    struct guarded *g = of(q);

    guarded_enter();
    for (size_t i = 0; i < g->queue.count && !q->status; i++) {
        const struct guarded_step *s = g->queue.at[i];
        if (is_idle && strcmp(s->name, "upload"))
            continue; // what it brings to the host is zeros
        guarded_now(s->name);
        s->run(&g->reference, s->args);
        if (g->reference.status)
            sam_queue_fail(q, g->reference.status, "%s", g->reference.error.text);
        g->reference.status = SAM_OK;
    }
    guarded_now(NULL);
    guarded_leave();
    empty(&g->queue);
    for (struct guarded_arrival *a = g->arrivals; a; a = g->arrivals) {
        for (size_t row = 0; row < a->rows; row++)
            memcpy(a->to + row * a->stride, a->bytes + row * a->width, a->width);
        g->arrivals = a->next;
        free(a);
    }
}

static void finish(struct sam_queue *q)
{
    guarded_not_recorded(q, "waiting");
    run_all(q);
}

// ---- copies

struct copying {
    void *dst;
    const void *src;
    size_t bytes;
    uint8_t staged[];
};

static void run_copying(struct sam_queue *reference, const void *args)
{
    const struct copying *c = args;

    memcpy(c->dst, c->src, c->bytes);
}

static void upload_rows(struct sam_queue *q, void *dst, const void *src, size_t stride,
                        size_t width, size_t rows)
{
    guarded_not_recorded(q, "an upload");
    struct guarded_step *s = guarded_step("upload", run_copying,
                                          sizeof(struct copying) + width * rows);
    struct copying *c = s->args;

    *c = (struct copying) { dst, c->staged, width * rows };
    for (size_t row = 0; row < rows; row++)
        memcpy(c->staged + row * width, (const uint8_t *) src + row * stride, width);
    guarded_push(q, s);
}

static void upload(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    upload_rows(q, dst, src, bytes, bytes, 1);
}

static void fetch(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    struct guarded_step *s = guarded_step("download", run_copying, sizeof(struct copying));
    struct copying *c = s->args;

    *c = (struct copying) { guarded_expect(q, "a download", dst, bytes, bytes, 1), src, bytes };
    guarded_push(q, s);
}

static void download(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    fetch(q, dst, src, bytes);
    run_all(q);
}

// ---- memory

static void *allocate(struct sam_queue *q, size_t bytes)
{
    guarded_not_recorded(q, "an allocation");
    return guarded_alloc(bytes);
}

static void release(struct sam_queue *q, void *data)
{
    guarded_not_recorded(q, "freeing memory");
    run_all(q);
    guarded_free(data);
}

static size_t left(struct sam_queue *q)
{
    return guarded_left();
}

static bool holds(struct sam_queue *q, const void *p)
{
    return guarded_holds(p);
}

static size_t more(const struct sam_queue *q, size_t bytes)
{
    const size_t room = of(q)->room;

    return bytes > room ? bytes - room : 0;
}

static int reserve(struct sam_queue *q, size_t bytes, struct sam_error *error)
{
    guarded_not_recorded(q, "an allocation");
    if (bytes > of(q)->room)
        of(q)->room = bytes;
    return SAM_OK;
}

static size_t workspace_bytes(const struct sam_queue *q)
{
    return sizeof(struct guarded) + of(q)->room;
}

// ---- records

static void record_begin(struct sam_queue *q)
{
    guarded_not_recorded(q, "another record is begun");
    of(q)->record = get(sizeof(*of(q)->record));
}

static void forget(struct sam_queue *q, void *record)
{
    struct steps *r = record;

    guarded_not_recorded(q, "a record is freed");
    run_all(q);
    empty(r);
    free(r->at);
    free(r);
}

static void *record_end(struct sam_queue *q)
{
    struct steps *r = of(q)->record;

    of(q)->record = NULL;
    if (r && q->status) {
        empty(r);
        free(r->at);
        free(r);
        return NULL;
    }
    return r;
}

static void replay(struct sam_queue *q, void *record)
{
    const struct steps *r = record;

    guarded_not_recorded(q, "a replay");
    for (size_t i = 0; i < r->count; i++)
        append(&of(q)->queue, r->at[i]);
}

// ---- opening

static int open_guarded(struct sam_queue *q, int ordinal, int threads)
{
    struct guarded *g = get(sizeof(*g));

    q->priv = g;
    const int status = sam_queue_open(&g->reference, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1,
                                      &q->log, &q->error);
    if (status)
        return q->status = status;
    g->room = 12 << 10; // for what trackers are warmed up with; less than frames of tests
    q->ops = guarded_ops();
    if (q->precision == SAM_PRECISION_AUTO)
        q->precision = SAM_PRECISION_BF16; // as on a GPU: of what is stored between operations
    q->ordinal = 0;
    q->device_name = "guarded";
    return SAM_OK;
}

static void close_guarded(struct sam_queue *q)
{
    struct guarded *g = of(q);

    if (!g)
        return;
    run_all(q);
    free(g->queue.at);
    sam_queue_close(&g->reference);
    free(g);
    q->priv = NULL;
}

// In the place of the CUDA backend.
const struct sam_device *sam_device_cuda(void)
{
    static const struct sam_device device = {
        .name = "cuda", .open = open_guarded, .close = close_guarded, .finish = finish,
        .workspace_bytes = workspace_bytes, .alloc = allocate, .release = release, .left = left,
        .holds = holds, .reserve = reserve, .more = more, .upload = upload,
        .upload_rows = upload_rows, .download = download, .fetch = fetch,
        .record_begin = record_begin, .record_end = record_end, .replay = replay,
        .forget = forget,
    };
    return &device;
}

/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include "access.h"

#include <string.h>

#define TURN 32768 /* bytes, then others have their turn */
#define FRAGMENTS 64 /* of a message */
#define CONTROLS_PER_S 10 /* pings, pongs, closes */
#define CONTROLS_AT_ONCE 60

/* The input of a Guard. */
typedef struct {
    GInputStream parent;
    GInputStream *base;
    guint turn;         /* bytes since the caller last waited */
    const gchar *fault; /* NULL: none */

    gboolean clean, newline; /* before frames: nothing came after the last empty line; ... a line */
    guint64 most;            /* bytes of a message; 0: no frames yet */
    guint8 head[14];         /* of the frame that begins */
    guint got, need;         /* bytes of it */
    guint64 left;            /* bytes of its payload */
    guint64 size;            /* bytes of the message so far */
    guint fragments;
    Rate controls;
} Watch;

typedef GInputStreamClass WatchClass;

static void watch_init_poll(GPollableInputStreamInterface *iface);

GType watch_get_type(void);
#define WATCH_TYPE (watch_get_type())
#define WATCH(o) (G_TYPE_CHECK_INSTANCE_CAST((o), WATCH_TYPE, Watch))

G_DEFINE_TYPE_WITH_CODE(Watch, watch, G_TYPE_INPUT_STREAM,
    G_IMPLEMENT_INTERFACE(G_TYPE_POLLABLE_INPUT_STREAM, watch_init_poll))

struct _Guard {
    GIOStream parent;
    GIOStream *base;
    Watch *input;
};

G_DEFINE_TYPE(Guard, guard, G_TYPE_IO_STREAM)

/* Looks for the empty line that ends a request. */
static void take_request(Watch *watch, const guint8 *data, gsize size)
{
    gsize i;

    for (i = 0; i < size; i++) {
        watch->clean = data[i] == '\n' && watch->newline;
        watch->newline = data[i] == '\n' || (data[i] == '\r' && watch->newline);
    }
}

static guint64 get_size(const guint8 *head)
{
    const guint n = (head[1] & 127) == 127 ? 8 : (head[1] & 127) == 126 ? 2 : 0;
    guint64 size = n ? 0 : head[1] & 127;
    guint i;

    for (i = 0; i < n; i++)
        size = size << 8 | head[2 + i];
    return size;
}

/* The head of a frame is complete (RFC 6455, 5.2). */
static void begin_frame(Watch *watch)
{
    const guint opcode = watch->head[0] & 15;

    watch->left = get_size(watch->head);
    watch->got = 0;
    if (opcode >= 8) {
        if (!rate_take(&watch->controls, CONTROLS_PER_S, CONTROLS_AT_ONCE))
            watch->fault = "too many pings";
        return;
    }
    watch->size = opcode ? 0 : watch->size;
    watch->fragments = opcode ? 1 : watch->fragments + 1;
    if (watch->left > watch->most || (watch->size += watch->left) > watch->most)
        watch->fault = "a message is too long";
    else if (watch->fragments > FRAGMENTS)
        watch->fault = "a message has too many fragments";
}

static void take_frames(Watch *watch, const guint8 *data, gsize size)
{
    while (size && !watch->fault) {
        gsize n;

        if (watch->left) {
            n = MIN(size, watch->left);
            watch->left -= n;
        } else {
            watch->head[watch->got++] = *data;
            n = 1;
            if (watch->got == 2)
                watch->need = 2 + ((*data & 127) == 127 ? 8 : (*data & 127) == 126 ? 2 : 0) +
                    (*data & 128 ? 4 : 0);
            if (watch->got >= 2 && watch->got == watch->need)
                begin_frame(watch);
        }
        data += n;
        size -= n;
    }
}

/* What was read; -1 if it is too much. */
static gssize take(Watch *watch, const guint8 *data, gssize n, GError **error)
{
    if (n <= 0)
        return n;
    watch->turn += n;
    if (watch->most)
        take_frames(watch, data, n);
    else
        take_request(watch, data, n);
    if (!watch->fault)
        return n;
    g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, watch->fault);
    return -1;
}

static gssize watch_read(GInputStream *stream, void *data, gsize size, GCancellable *cancellable,
    GError **error)
{
    Watch *watch = WATCH(stream);

    return take(watch, data, g_input_stream_read(watch->base, data, size, cancellable, error),
        error);
}

static gboolean watch_close(GInputStream *stream, GCancellable *cancellable, GError **error)
{
    return g_input_stream_close(WATCH(stream)->base, cancellable, error);
}

static gssize watch_read_nonblocking(GPollableInputStream *stream, void *data, gsize size,
    GError **error)
{
    Watch *watch = WATCH(stream);

    if (watch->turn >= TURN) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK, "others have their turn");
        return -1;
    }
    return take(watch, data, g_pollable_input_stream_read_nonblocking(
        G_POLLABLE_INPUT_STREAM(watch->base), data, size, NULL, error), error);
}

static gboolean watch_can_poll(GPollableInputStream *stream)
{
    return g_pollable_input_stream_can_poll(G_POLLABLE_INPUT_STREAM(WATCH(stream)->base));
}

static gboolean watch_is_readable(GPollableInputStream *stream)
{
    return g_pollable_input_stream_is_readable(G_POLLABLE_INPUT_STREAM(WATCH(stream)->base));
}

static GSource *watch_create_source(GPollableInputStream *stream, GCancellable *cancellable)
{
    Watch *watch = WATCH(stream);
    GSource *base = g_pollable_input_stream_create_source(G_POLLABLE_INPUT_STREAM(watch->base),
        cancellable);
    GSource *source = g_pollable_source_new_full(stream, base, NULL);

    watch->turn = 0;
    g_source_unref(base);
    return source;
}

static void watch_init_poll(GPollableInputStreamInterface *iface)
{
    iface->can_poll = watch_can_poll;
    iface->is_readable = watch_is_readable;
    iface->create_source = watch_create_source;
    iface->read_nonblocking = watch_read_nonblocking;
}

static void watch_finalize(GObject *object)
{
    g_object_unref(WATCH(object)->base);
    G_OBJECT_CLASS(watch_parent_class)->finalize(object);
}

static void watch_class_init(WatchClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = watch_finalize;
    klass->read_fn = watch_read;
    klass->close_fn = watch_close;
}

static void watch_init(Watch *watch)
{
    watch->newline = TRUE;
}

static GInputStream *guard_get_input(GIOStream *stream)
{
    return G_INPUT_STREAM(LIVE_GUARD(stream)->input);
}

static GOutputStream *guard_get_output(GIOStream *stream)
{
    return g_io_stream_get_output_stream(LIVE_GUARD(stream)->base);
}

static gboolean guard_close(GIOStream *stream, GCancellable *cancellable, GError **error)
{
    return g_io_stream_close(LIVE_GUARD(stream)->base, cancellable, error);
}

static void on_base_closed(GObject *base, GAsyncResult *result, gpointer data)
{
    GTask *task = data;
    GError *error = NULL;

    if (g_io_stream_close_finish(G_IO_STREAM(base), result, &error))
        g_task_return_boolean(task, TRUE);
    else
        g_task_return_error(task, error);
    g_object_unref(task);
}

static void guard_close_async(GIOStream *stream, int priority, GCancellable *cancellable,
    GAsyncReadyCallback callback, gpointer data)
{
    GTask *task = g_task_new(stream, cancellable, callback, data);

    g_io_stream_close_async(LIVE_GUARD(stream)->base, priority, cancellable, on_base_closed, task);
}

static gboolean guard_close_finish(GIOStream *stream, GAsyncResult *result, GError **error)
{
    return g_task_propagate_boolean(G_TASK(result), error);
}

static void guard_finalize(GObject *object)
{
    g_object_unref(LIVE_GUARD(object)->input);
    g_object_unref(LIVE_GUARD(object)->base);
    G_OBJECT_CLASS(guard_parent_class)->finalize(object);
}

static void guard_class_init(GuardClass *klass)
{
    GIOStreamClass *stream = G_IO_STREAM_CLASS(klass);

    G_OBJECT_CLASS(klass)->finalize = guard_finalize;
    stream->get_input_stream = guard_get_input;
    stream->get_output_stream = guard_get_output;
    stream->close_fn = guard_close;
    stream->close_async = guard_close_async;
    stream->close_finish = guard_close_finish;
}

static void guard_init(Guard *guard)
{
}

Guard *guard_new(GIOStream *base)
{
    Guard *guard = g_object_new(GUARD_TYPE, NULL);

    guard->base = g_object_ref(base);
    guard->input = g_object_new(WATCH_TYPE, NULL);
    guard->input->base = g_object_ref(g_io_stream_get_input_stream(base));
    return guard;
}

gboolean guard_expect_frames(Guard *guard, guint64 most)
{
    guard->input->most = most;
    return guard->input->clean;
}

const gchar *guard_get_fault(Guard *guard)
{
    return guard->input->fault;
}

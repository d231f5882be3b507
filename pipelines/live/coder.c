/* SPDX-License-Identifier: MIT */
#include "coder.h"

#include "encoder.h"
#include "journal.h"
#include "reason.h"
#include "stopping.h"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>

#define FIRST_WAIT_MS 250
#define LONGEST_WAIT_MS 16000
#define STEADY_US (20 * G_USEC_PER_SEC) /* without a failure: the next begins with short waits */
#define WATCH_MS 1000
#define HANG_US (10 * G_USEC_PER_SEC)   /* with frames in and none out: it hangs */
#define HANG_FRAMES 10
#define TELL_US (60 * G_USEC_PER_SEC) /* between two log lines that say the same */

struct Coder {
    CoderSettings settings;
    Output *output;

    /* main thread */
    GstElement *pipeline;
    const gchar *encoder;
    guint kbits, retry, bus_watch, watch, wait_ms;
    gint64 started;
    gint64 moved;        /* us, when the last frame came out that the watch saw */
    guint64 out, in_then; /* frames out, and in, by then */
    gchar *told;         /* why it failed last, as the log has it */
    gint64 told_at;
    Stopping *stopping;

    GMutex lock; /* guards what follows */
    GstAppSrc *src; /* NULL while there is no pipeline */
    guint64 in;     /* frames */
};

static gboolean start(Coder *coder, GError **error);

/* The thread of the camera's pipeline: must neither wait nor fail. */
static GstFlowReturn on_frame(GstAppSink *tap, gpointer data)
{
    GstSample *sample = gst_app_sink_pull_sample(tap);
    Coder *coder = data;

    if (!sample)
        return GST_FLOW_OK;
    g_mutex_lock(&coder->lock);
    coder->in++;
    if (coder->src)
        gst_app_src_push_sample(coder->src, sample);
    g_mutex_unlock(&coder->lock);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static void stop(Coder *coder)
{
    g_mutex_lock(&coder->lock);
    gst_clear_object(&coder->src);
    g_mutex_unlock(&coder->lock);
    g_clear_handle_id(&coder->bus_watch, g_source_remove);
    output_attach(coder->output, NULL);
    if (coder->pipeline)
        stopping_add(coder->stopping, g_steal_pointer(&coder->pipeline));
}

static void fail(Coder *coder, const gchar *why);

static gboolean retry(gpointer data)
{
    Coder *coder = data;
    GError *error = NULL;

    coder->retry = 0;
    if (!start(coder, &error))
        fail(coder, error->message);
    g_clear_error(&error);
    return G_SOURCE_REMOVE;
}

static void tell_failure(Coder *coder, const gchar *why)
{
    const gint64 now = g_get_monotonic_time();

    if (!g_strcmp0(why, coder->told) && now - coder->told_at < TELL_US)
        return;
    log_warning("encoder-failed", "camera", G_TYPE_STRING, coder->settings.camera,
        "output", G_TYPE_STRING, coder->settings.name,
        "encoder", G_TYPE_STRING, coder->encoder ? coder->encoder : "jpegenc",
        "why", G_TYPE_STRING, why, "retry-ms", G_TYPE_UINT, coder->wait_ms,
        NULL);
    g_free(coder->told);
    coder->told = g_strdup(why);
    coder->told_at = now;
}

static void fail(Coder *coder, const gchar *why)
{
    if (g_get_monotonic_time() - coder->started > STEADY_US)
        coder->wait_ms = FIRST_WAIT_MS;
    output_add_failure(coder->output);
    tell_failure(coder, why);
    stop(coder);
    if (coder->encoder)
        coder->encoder = encoder_next(coder->encoder);
    coder->retry = g_timeout_add(coder->wait_ms, retry, coder);
    coder->wait_ms = MIN(2 * coder->wait_ms, LONGEST_WAIT_MS);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Coder *coder = data;
    gchar *why;

    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR)
        return G_SOURCE_CONTINUE;
    why = reason_of_message(message);
    coder->bus_watch = 0;
    fail(coder, why);
    g_free(why);
    return G_SOURCE_REMOVE;
}

static gboolean watch(gpointer data)
{
    const gint64 now = g_get_monotonic_time();
    Coder *coder = data;
    OutputStats stats;
    guint64 in;

    output_get_stats(coder->output, &stats);
    g_mutex_lock(&coder->lock);
    in = coder->in;
    g_mutex_unlock(&coder->lock);
    if (!coder->pipeline || stats.frames != coder->out || in == coder->in_then) {
        coder->out = stats.frames;
        coder->in_then = in;
        coder->moved = now;
    } else if (in - coder->in_then >= HANG_FRAMES && now - coder->moved > HANG_US) {
        fail(coder, "it takes frames and gives none");
    }
    return G_SOURCE_CONTINUE;
}

static GstElement *build(Coder *coder, GError **error)
{
    gchar *encoder = coder->encoder ? encoder_describe(coder->encoder, "encoder") :
        g_strdup("videoconvert ! jpegenc quality=75");
    gchar *text = g_strdup_printf("appsrc name=src is-live=true format=time min-latency=0 "
        "max-bytes=0 max-buffers=%d leaky-type=downstream ! %s%s "
        "! appsink name=sink sync=false async=false enable-last-sample=false",
        coder->encoder ? 2 : 1, coder->settings.masks ? "samoverlay ! " : "", encoder);
    GstElement *pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);

    g_free(text);
    g_free(encoder);
    return pipeline;
}

static void set_bitrate(Coder *coder)
{
    GstElement *encoder = gst_bin_get_by_name(GST_BIN(coder->pipeline), "encoder");

    if (encoder && coder->kbits)
        g_object_set(encoder, "bitrate", coder->kbits, NULL);
    gst_clear_object(&encoder);
}

static gboolean start(Coder *coder, GError **error)
{
    GstElement *sink;
    GstBus *bus;

    coder->started = coder->moved = g_get_monotonic_time();
    coder->pipeline = build(coder, error);
    if (!coder->pipeline)
        return FALSE;
    set_bitrate(coder);
    sink = gst_bin_get_by_name(GST_BIN(coder->pipeline), "sink");
    output_attach(coder->output, sink);
    gst_object_unref(sink);
    bus = gst_element_get_bus(coder->pipeline);
    coder->bus_watch = gst_bus_add_watch(bus, on_message, coder);
    gst_object_unref(bus);
    /* A failure is told on the bus. */
    gst_element_set_state(coder->pipeline, GST_STATE_PLAYING);
    g_mutex_lock(&coder->lock);
    coder->src = GST_APP_SRC(gst_bin_get_by_name(GST_BIN(coder->pipeline), "src"));
    g_mutex_unlock(&coder->lock);
    output_request_key(coder->output);
    return TRUE;
}

Coder *coder_new(const CoderSettings *settings, Output *output, GError **error)
{
    GstAppSinkCallbacks callbacks = {.new_sample = on_frame};
    Coder *coder = g_new0(Coder, 1);

    coder->settings = *settings;
    coder->output = output;
    coder->encoder = settings->encoder;
    coder->wait_ms = FIRST_WAIT_MS;
    coder->stopping = stopping_new();
    g_mutex_init(&coder->lock);
    if (!start(coder, error)) {
        coder_free(coder);
        return NULL;
    }
    coder->watch = g_timeout_add(WATCH_MS, watch, coder);
    gst_app_sink_set_callbacks(GST_APP_SINK(settings->tap), &callbacks, coder, NULL);
    return coder;
}

void coder_set_bitrate(Coder *coder, guint kbits)
{
    coder->kbits = kbits;
    if (coder->pipeline)
        set_bitrate(coder);
}

void coder_free(Coder *coder)
{
    GstAppSinkCallbacks none = {0};

    gst_app_sink_set_callbacks(GST_APP_SINK(coder->settings.tap), &none, NULL, NULL);
    stop(coder);
    g_clear_handle_id(&coder->retry, g_source_remove);
    g_clear_handle_id(&coder->watch, g_source_remove);
    stopping_finish(coder->stopping);
    g_mutex_clear(&coder->lock);
    g_free(coder->told);
    g_free(coder);
}

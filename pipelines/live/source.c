/* SPDX-License-Identifier: MIT */
#include "source.h"

#include "intake.h"
#include "journal.h"
#include "reason.h"
#include "stopping.h"

#include <gst/app/gstappsink.h>

#define WATCH_MS 100
/* A main loop that was busy so long elsewhere has not seen what the source told meanwhile. */
#define LATE_US G_USEC_PER_SEC
/* Without a frame, or with so few that their rate is not known, the attempt has failed. Each one
 * that fails so gives the next twice the time: some cameras send a frame a minute. */
#define PATIENCE_US (8 * G_USEC_PER_SEC)
#define MOST_PATIENCE_US (64 * G_USEC_PER_SEC)
#define INTERVALS 8 /* between the last frames, the longest of which tells the camera's rate */
#define STALL_INTERVALS 4
#define SEGMENT_US (30 * G_USEC_PER_SEC) /* frames of HLS come some seconds at a time */
#define STEADY_US (2 * G_USEC_PER_SEC)  /* with frames: the next drop-out begins with short waits */
#define FIRST_WAIT_MS 250
/* A connection that nobody answers asks again after a second: together below two seconds. */
#define LONGEST_WAIT_MS 500
#define TELL_US (60 * G_USEC_PER_SEC) /* between two log lines that say the same */
#define MOST_STOPPING 4 /* attempts that have not ended, each with threads and files */

/* One life of the pipeline. The streaming thread holds a reference while it can call back. */
typedef struct {
    gatomicrefcount refs;
    GMutex lock;    /* guards source */
    Source *source; /* NULL once it is given up */
    /* guarded by the lock; us */
    gint64 first, last;          /* when frames came; 0: none did */
    gint64 intervals[INTERVALS]; /* between the last frames */
    guint n;                     /* frames */
    gboolean prerolled;          /* there is a frame, whose time may come later */
} Attempt;

struct Source {
    const CameraSettings *settings;
    SourceHandlers handlers;
    gpointer user;

    /* main thread */
    GstElement *pipeline;
    Attempt *attempt;
    gint64 started, up_since, watched;
    guint watch, retry, bus_watch, wait_ms;
    gboolean up, was_up;
    gboolean recorded; /* it is a recording, which may pause as long as it likes */
    gboolean udp;      /* what RTSP is tried with */
    gint64 patience;   /* us */
    Findings findings;
    guint reconnects;
    gchar *told; /* why the last attempt failed that has a line in the log */
    gint64 told_at;
    guint untold; /* attempts since then that failed in the same way */
    Stopping *stopping;
    GstCaps *caps; /* of the frames */
};

static void attempt_to_connect(Source *source);

static Attempt *attempt_ref(Attempt *attempt)
{
    g_atomic_ref_count_inc(&attempt->refs);
    return attempt;
}

static void attempt_unref(gpointer data)
{
    Attempt *attempt = data;

    if (!g_atomic_ref_count_dec(&attempt->refs))
        return;
    g_mutex_clear(&attempt->lock);
    g_free(attempt);
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    GstSample *sample = gst_app_sink_pull_sample(sink);
    Attempt *attempt = data;
    gint64 now;

    if (!sample)
        return GST_FLOW_EOS;
    g_mutex_lock(&attempt->lock);
    now = g_get_monotonic_time();
    if (attempt->n)
        attempt->intervals[attempt->n % INTERVALS] = now - attempt->last;
    else
        attempt->first = now;
    attempt->last = now;
    attempt->n++;
    if (attempt->source)
        attempt->source->handlers.frame(sample, attempt->source->user);
    g_mutex_unlock(&attempt->lock);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static GstFlowReturn on_preroll(GstAppSink *sink, gpointer data)
{
    Attempt *attempt = data;

    g_mutex_lock(&attempt->lock);
    attempt->prerolled = TRUE;
    g_mutex_unlock(&attempt->lock);
    return GST_FLOW_OK;
}

/* Ends the attempt. */
static void give_up(Source *source)
{
    if (!source->pipeline)
        return;
    g_mutex_lock(&source->attempt->lock);
    source->attempt->source = NULL;
    g_mutex_unlock(&source->attempt->lock);
    g_clear_pointer(&source->attempt, attempt_unref);
    g_clear_handle_id(&source->watch, g_source_remove);
    g_clear_handle_id(&source->bus_watch, g_source_remove);
    stopping_add(source->stopping, g_steal_pointer(&source->pipeline));
}

static gboolean retry(gpointer data)
{
    Source *source = data;

    if (stopping_count(source->stopping) >= MOST_STOPPING)
        return G_SOURCE_CONTINUE;
    source->retry = 0;
    attempt_to_connect(source);
    return G_SOURCE_REMOVE;
}

/* A source may be away for days: the log has a line when it goes, when the reason is another one,
 * and once a minute. */
static void tell_drop(Source *source, const gchar *why, gboolean was_up)
{
    const gint64 now = g_get_monotonic_time();

    if (!was_up && !g_strcmp0(source->told, why) && now - source->told_at < TELL_US) {
        source->untold++;
        return;
    }
    log_warning(was_up ? "source-gone" : "source-away", "camera", G_TYPE_STRING,
        source->settings->name, "why", G_TYPE_STRING, why, "retry-ms", G_TYPE_UINT, source->wait_ms,
        "attempts", G_TYPE_UINT, source->untold + 1, NULL);
    g_free(source->told);
    source->told = was_up ? NULL : g_strdup(why);
    source->told_at = now;
    source->untold = 0;
}

static const gchar *get_transport(const Source *source)
{
    return source->settings->kind != SOURCE_RTSP ? NULL : source->udp ? "UDP" : "TCP";
}

static void drop(Source *source, const gchar *why)
{
    const gboolean was_up = source->up;

    give_up(source);
    source->up = FALSE;
    source->retry = g_timeout_add(source->wait_ms, retry, source);
    tell_drop(source, why, was_up);
    source->wait_ms = MIN(2 * source->wait_ms, LONGEST_WAIT_MS);
    source->handlers.changed(FALSE, why, source->user);
}

/* Its frames come when their time has come, and it may begin again after its end. */
static gboolean is_paced(SourceKind kind)
{
    return kind == SOURCE_FILE || kind == SOURCE_HTTP;
}

/* A file on a web server is a recording, too. */
static gboolean is_recorded(Source *source)
{
    GstQuery *query = gst_query_new_seeking(GST_FORMAT_TIME);
    gboolean seekable = source->settings->kind == SOURCE_FILE;

    if (source->settings->kind == SOURCE_HTTP && !source->findings.segments &&
        gst_element_query(source->pipeline, query))
        gst_query_parse_seeking(query, NULL, &seekable, NULL, NULL);
    gst_query_unref(query);
    return seekable;
}

static void come_up(Source *source, gint64 now)
{
    source->up = TRUE;
    source->up_since = now;
    source->reconnects += source->was_up;
    source->was_up = TRUE;
    source->recorded = is_recorded(source);
    log_info("source-up", "camera", G_TYPE_STRING, source->settings->name,
        "after-ms", G_TYPE_INT64, (now - source->started) / 1000,
        "reconnects", G_TYPE_UINT, source->reconnects, NULL);
    source->handlers.changed(TRUE, NULL, source->user);
}

static gint64 get_longest_interval(const Attempt *attempt)
{
    gint64 longest = 0;
    guint i;

    for (i = 0; i < INTERVALS; i++)
        longest = MAX(longest, attempt->intervals[i]);
    return longest;
}

/* us after the last frame, or after the start if there is none; 0: as long as it likes. Needs the
 * attempt's lock. */
static gint64 get_limit(const Source *source, const Attempt *attempt)
{
    const gint64 stall = MAX(source->settings->stall * G_TIME_SPAN_MILLISECOND,
        STALL_INTERVALS * get_longest_interval(attempt));

    if (!attempt->last)
        return attempt->prerolled && is_paced(source->settings->kind) ? 0 : source->patience;
    if (source->recorded)
        return 0;
    if (source->findings.segments)
        return MAX(stall, SEGMENT_US);
    return attempt->last - attempt->first < source->patience ? MAX(stall, source->patience) : stall;
}

/* us that RTSP waits for an answer: some cameras give none before their first frame. */
static gint64 get_timeout(const Source *source)
{
    return MIN(source->patience / 4, PATIENCE_US);
}

static void give_time(Source *source)
{
    source->patience = MIN(2 * source->patience, MOST_PATIENCE_US);
}

/* Whatever is slow gets more time, and RTSP its other transport. */
static void run_out(Source *source, gint64 last)
{
    const CameraSettings *settings = source->settings;
    gchar *why;

    if (last) {
        why = g_strdup("frames stopped coming");
    } else if (settings->kind == SOURCE_RTSP) {
        why = g_strdup_printf("no frame came by %s", get_transport(source));
        if (settings->transport == TRANSPORT_AUTO)
            source->udp = !source->udp;
    } else {
        why = g_strdup("no frame came");
    }
    if (!source->up || g_get_monotonic_time() - source->up_since < 2 * source->patience)
        give_time(source);
    drop(source, why);
    g_free(why);
}

static gboolean watch(gpointer data)
{
    Source *source = data;
    const gint64 now = g_get_monotonic_time();
    const gboolean late = now - source->watched > LATE_US;
    gint64 last, limit;

    source->watched = now;
    g_mutex_lock(&source->attempt->lock);
    last = source->attempt->last;
    g_mutex_unlock(&source->attempt->lock);
    if (!source->up && last)
        come_up(source, now);
    g_mutex_lock(&source->attempt->lock);
    last = source->attempt->last;
    limit = get_limit(source, source->attempt);
    g_mutex_unlock(&source->attempt->lock);
    if (source->up && now - source->up_since > STEADY_US)
        source->wait_ms = FIRST_WAIT_MS;
    if (source->up && now - source->up_since > 2 * source->patience)
        source->patience = PATIENCE_US;
    if (late || !limit || now - (last ? last : source->started) < limit)
        return G_SOURCE_CONTINUE;
    source->watch = 0;
    run_out(source, last);
    return G_SOURCE_REMOVE;
}

/* A camera that refuses one transport may know the other; one that did not answer in time may be
 * slow. */
static void fail(Source *source, GstMessage *message)
{
    gchar *why = reason_of_error(&source->findings, message, get_transport(source));

    if (source->settings->transport == TRANSPORT_AUTO && !source->up &&
        findings_have_no_stream(&source->findings, message))
        source->udp = !source->udp;
    if (!source->up && g_get_monotonic_time() - source->started >= get_timeout(source))
        give_time(source);
    source->bus_watch = 0;
    drop(source, why);
    g_free(why);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Source *source = data;

    findings_take(&source->findings, message);
    switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_EOS:
        if (is_paced(source->settings->kind) && source->up && gst_element_seek_simple(
            source->pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_KEY_UNIT, 0))
            return G_SOURCE_CONTINUE;
        source->bus_watch = 0;
        drop(source, "the stream ended");
        return G_SOURCE_REMOVE;
    case GST_MESSAGE_ERROR:
        fail(source, message);
        return G_SOURCE_REMOVE;
    default:
        return G_SOURCE_CONTINUE;
    }
}

static void set_size(Source *source, GstElement *pipeline)
{
    GstElement *size = gst_bin_get_by_name(GST_BIN(pipeline), "size");

    g_object_set(size, "caps", source->caps, NULL);
    gst_object_unref(size);
}

/* In a thread: a file or device that gives no answer may block it for ever. */
static void play(GstElement *pipeline, gpointer data)
{
    Attempt *attempt = data;
    gboolean given_up;

    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    g_mutex_lock(&attempt->lock);
    given_up = !attempt->source;
    g_mutex_unlock(&attempt->lock);
    if (given_up) /* which may have been ahead of it */
        gst_element_set_state(pipeline, GST_STATE_NULL);
}

static void attempt_to_connect(Source *source)
{
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample, .new_preroll = on_preroll};
    GError *error = NULL;
    GstElement *sink;
    GstBus *bus;

    findings_clear(&source->findings);
    source->recorded = FALSE;
    source->pipeline = intake_new(source->settings, source->udp ? "udp" : "tcp",
        get_timeout(source), &error);
    if (!source->pipeline) {
        drop(source, error->message);
        g_error_free(error);
        return;
    }
    set_size(source, source->pipeline);
    source->attempt = g_new0(Attempt, 1);
    g_atomic_ref_count_init(&source->attempt->refs);
    g_mutex_init(&source->attempt->lock);
    source->attempt->source = source;
    sink = gst_bin_get_by_name(GST_BIN(source->pipeline), "frames");
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, attempt_ref(source->attempt),
        attempt_unref);
    gst_object_unref(sink);
    bus = gst_element_get_bus(source->pipeline);
    source->bus_watch = gst_bus_add_watch(bus, on_message, source);
    gst_object_unref(bus);
    source->started = source->watched = g_get_monotonic_time();
    source->watch = g_timeout_add(WATCH_MS, watch, source);
    gst_element_call_async(source->pipeline, play, attempt_ref(source->attempt), attempt_unref);
}

Source *source_new(const CameraSettings *settings, const SourceHandlers *handlers, gpointer user)
{
    Source *source = g_new0(Source, 1);

    source->settings = settings;
    source->handlers = *handlers;
    source->user = user;
    source->wait_ms = FIRST_WAIT_MS;
    source->patience = PATIENCE_US;
    source->udp = settings->transport == TRANSPORT_UDP;
    source->stopping = stopping_new();
    source->caps = gst_caps_from_string("video/x-raw,format=I420,"
        "interlace-mode=progressive,pixel-aspect-ratio=1/1");
    if (settings->width)
        gst_caps_set_simple(source->caps, "width", G_TYPE_INT, settings->width, NULL);
    if (settings->height)
        gst_caps_set_simple(source->caps, "height", G_TYPE_INT, settings->height, NULL);
    return source;
}

/* In the main loop: what loads the other cameras' models must not count as time in which the source
 * gave nothing. */
void source_start(Source *source)
{
    source->retry = g_timeout_add(0, retry, source);
}

void source_fix(Source *source, GstCaps *caps)
{
    gst_caps_replace(&source->caps, caps);
    if (source->pipeline)
        set_size(source, source->pipeline);
}

guint source_get_reconnects(Source *source)
{
    return source->reconnects;
}

void source_free(Source *source)
{
    give_up(source);
    g_clear_handle_id(&source->retry, g_source_remove);
    stopping_finish(source->stopping);
    gst_caps_unref(source->caps);
    findings_clear(&source->findings);
    g_free(source->told);
    g_free(source);
}

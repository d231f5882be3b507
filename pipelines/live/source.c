#include "source.h"

#include "journal.h"

#include <gst/app/gstappsink.h>
#include <string.h>

#define WATCH_MS 100
#define CONNECT_US (8 * G_USEC_PER_SEC) /* without a frame: the attempt has failed */
#define STEADY_US (2 * G_USEC_PER_SEC)  /* with frames: the next drop-out begins with short waits */
#define FIRST_WAIT_MS 250
/* A connection that nobody answers asks again after a second: together below two seconds. */
#define LONGEST_WAIT_MS 500
#define TELL_US (60 * G_USEC_PER_SEC) /* between two log lines that say the same */

/* One life of the pipeline. The streaming thread holds a reference while it can call back. */
typedef struct {
    gatomicrefcount refs;
    GMutex lock;    /* guards source */
    Source *source; /* NULL once it is given up */
    gint64 last;    /* us, atomic by the lock: when the last frame came; 0: none did */
    gboolean told;
} Attempt;

/* Pipelines that are being stopped by threads of their own, which may outlive the source. */
typedef struct {
    gatomicrefcount refs;
    gint n;
} Stopping;

struct Source {
    const CameraSettings *settings;
    SourceHandlers handlers;
    gpointer user;

    /* main thread */
    GstElement *pipeline;
    Attempt *attempt;
    gint64 started, up_since;
    guint watch, retry, bus_watch, wait_ms;
    gboolean up, was_up;
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

    if (!sample)
        return GST_FLOW_EOS;
    g_mutex_lock(&attempt->lock);
    attempt->last = g_get_monotonic_time();
    if (attempt->source)
        attempt->source->handlers.frame(sample, attempt->source->user);
    g_mutex_unlock(&attempt->lock);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static void stopping_unref(gpointer data)
{
    Stopping *stopping = data;

    if (g_atomic_ref_count_dec(&stopping->refs))
        g_free(stopping);
}

static void stop_pipeline(GstElement *pipeline, gpointer data)
{
    gst_element_set_state(pipeline, GST_STATE_NULL);
    g_atomic_int_add(&((Stopping *) data)->n, -1);
}

/* Ends the attempt. A pipeline may take long to stop, so a thread does it. */
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
    g_atomic_ref_count_inc(&source->stopping->refs);
    g_atomic_int_inc(&source->stopping->n);
    gst_element_call_async(source->pipeline, stop_pipeline, source->stopping, stopping_unref);
    gst_clear_object(&source->pipeline);
}

static gboolean retry(gpointer data)
{
    Source *source = data;

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

static void come_up(Source *source, gint64 now)
{
    source->up = TRUE;
    source->up_since = now;
    source->reconnects += source->was_up;
    source->was_up = TRUE;
    log_info("source-up", "camera", G_TYPE_STRING, source->settings->name,
        "after-ms", G_TYPE_INT64, (now - source->started) / 1000,
        "reconnects", G_TYPE_UINT, source->reconnects, NULL);
    source->handlers.changed(TRUE, NULL, source->user);
}

static gboolean watch(gpointer data)
{
    Source *source = data;
    const gint64 now = g_get_monotonic_time();
    gint64 last;

    g_mutex_lock(&source->attempt->lock);
    last = source->attempt->last;
    g_mutex_unlock(&source->attempt->lock);
    if (!source->up && last)
        come_up(source, now);
    if (source->up && now - source->up_since > STEADY_US)
        source->wait_ms = FIRST_WAIT_MS;
    if (last ? now - last < source->settings->stall * 1000 : now - source->started < CONNECT_US)
        return G_SOURCE_CONTINUE;
    source->watch = 0;
    drop(source, last ? "frames stopped coming" : "no frame came");
    return G_SOURCE_REMOVE;
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Source *source = data;
    GError *error = NULL;

    switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_EOS:
        if (source->settings->kind == SOURCE_FILE && source->up && gst_element_seek_simple(
            source->pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_KEY_UNIT, 0))
            return G_SOURCE_CONTINUE;
        source->bus_watch = 0;
        drop(source, "the stream ended");
        return G_SOURCE_REMOVE;
    case GST_MESSAGE_ERROR:
        gst_message_parse_error(message, &error, NULL);
        source->bus_watch = 0;
        drop(source, error->message);
        g_error_free(error);
        return G_SOURCE_REMOVE;
    default:
        return G_SOURCE_CONTINUE;
    }
}

/* uridecodebin has made its source. */
static void on_source_setup(GstElement *decoder, GstElement *element, gpointer data)
{
    const CameraSettings *settings = data;

    if (!g_object_class_find_property(G_OBJECT_GET_CLASS(element), "tcp-timeout"))
        return;
    gst_util_set_object_arg(G_OBJECT(element), "protocols", "tcp");
    g_object_set(element, "latency", settings->latency, "tcp-timeout", G_GUINT64_CONSTANT(2000000),
        "teardown-timeout", G_GUINT64_CONSTANT(100000000), NULL);
}

/* A streaming thread. Which decoder was taken: the hardware's, or the next one where that fails. */
static void on_element(GstBin *bin, GstBin *parent, GstElement *element, gpointer data)
{
    GstElementFactory *factory = gst_element_get_factory(element);

    if (factory && !GST_IS_BIN(element) && gst_element_factory_list_is_type(factory,
        GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO |
        GST_ELEMENT_FACTORY_TYPE_MEDIA_IMAGE))
        log_info("decoder", "camera", G_TYPE_STRING, ((const CameraSettings *) data)->name,
            "decoder", G_TYPE_STRING, GST_OBJECT_NAME(factory), NULL);
}

static const gchar *get_head(SourceKind kind)
{
    switch (kind) {
    case SOURCE_DEMO:
        return "samscene is-live=true ! "
            "video/x-raw,width=640,height=360,framerate=25/1 ! convert. ";
    case SOURCE_TEST:
        return "videotestsrc is-live=true pattern=ball ! "
            "video/x-raw,width=640,height=360,framerate=25/1 ! convert. ";
    case SOURCE_V4L2:
        return "v4l2src name=device ! decodebin ! convert. ";
    default:
        return "uridecodebin name=uri caps=video/x-raw(ANY) expose-all-streams=false ! convert. ";
    }
}

static GstElement *build(Source *source, GError **error)
{
    const CameraSettings *settings = source->settings;
    gchar *rate = settings->framerate ? g_strdup_printf("videorate drop-only=true max-rate=%d ! ",
        settings->framerate) : g_strdup("");
    gchar *text = g_strdup_printf("%s videoconvert name=convert ! %svideoscale ! "
        "capsfilter name=size ! appsink name=frames max-buffers=2 enable-last-sample=false sync=%s",
        get_head(settings->kind), rate, settings->kind == SOURCE_FILE ? "true" : "false");
    GstElement *pipeline = gst_parse_launch(text, error), *element;

    g_free(text);
    g_free(rate);
    if (!pipeline)
        return NULL;
    g_signal_connect(pipeline, "deep-element-added", G_CALLBACK(on_element), (gpointer) settings);
    if ((element = gst_bin_get_by_name(GST_BIN(pipeline), "uri"))) {
        g_object_set(element, "uri", settings->location, NULL);
        g_signal_connect(element, "source-setup", G_CALLBACK(on_source_setup), (gpointer) settings);
        gst_object_unref(element);
    }
    if ((element = gst_bin_get_by_name(GST_BIN(pipeline), "device"))) {
        g_object_set(element, "device", settings->location, NULL);
        gst_object_unref(element);
    }
    return pipeline;
}

static void set_size(Source *source, GstElement *pipeline)
{
    GstElement *size = gst_bin_get_by_name(GST_BIN(pipeline), "size");

    g_object_set(size, "caps", source->caps, NULL);
    gst_object_unref(size);
}

static void attempt_to_connect(Source *source)
{
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    GError *error = NULL;
    GstElement *sink;
    GstBus *bus;

    source->pipeline = build(source, &error);
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
    source->started = g_get_monotonic_time();
    source->watch = g_timeout_add(WATCH_MS, watch, source);
    gst_element_set_state(source->pipeline, GST_STATE_PLAYING);
}

Source *source_new(const CameraSettings *settings, const SourceHandlers *handlers, gpointer user)
{
    Source *source = g_new0(Source, 1);

    source->settings = settings;
    source->handlers = *handlers;
    source->user = user;
    source->wait_ms = FIRST_WAIT_MS;
    source->stopping = g_new0(Stopping, 1);
    g_atomic_ref_count_init(&source->stopping->refs);
    source->caps = gst_caps_from_string("video/x-raw,format=I420,pixel-aspect-ratio=1/1");
    if (settings->width)
        gst_caps_set_simple(source->caps, "width", G_TYPE_INT, settings->width, NULL);
    if (settings->height)
        gst_caps_set_simple(source->caps, "height", G_TYPE_INT, settings->height, NULL);
    return source;
}

void source_start(Source *source)
{
    attempt_to_connect(source);
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
    gint i;

    give_up(source);
    g_clear_handle_id(&source->retry, g_source_remove);
    for (i = 0; i < 500 && g_atomic_int_get(&source->stopping->n); i++)
        g_usleep(10000);
    stopping_unref(source->stopping);
    gst_caps_unref(source->caps);
    g_free(source->told);
    g_free(source);
}

/* SPDX-License-Identifier: MIT */
#include "camera.h"

#include "coder.h"
#include "journal.h"
#include "reason.h"
#include "source.h"

#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>
#include <string.h>

typedef enum { CLEAN, ANNOTATED, JPEG, PICTURE, STREAMS } Stream;

static const gchar *const streams[STREAMS] = {"clean", "annotated", "jpeg", "picture"};

#define MAX_WAITING 8     /* frames before the tracker */
#define FILL_MS 200       /* between two frames that are shown while the source is gone */
#define REPEAT_US G_USEC_PER_SEC /* without a frame of a slow source: its last one is shown again */
#define RATE_US (2 * G_USEC_PER_SEC)
#define FIRST_PAUSE_MS 1000  /* between a failure of the pipeline and its next start */
#define LONGEST_PAUSE_MS 60000
#define STEADY_MS 60000      /* without a failure: the next pause is a short one */

struct Camera {
    const CameraSettings *settings;
    GstElement *pipeline, *track, *in;
    GstClock *clock;
    Output *outputs[STREAMS];
    Coder *coders[STREAMS];
    Source *source;
    guint bus_watch, fill;
    guint revive, steady, pause_ms;
    gchar *fault, *failure;
    gboolean up;
    CameraListener listener;
    gpointer listener_user;

    GMutex lock;          /* guards what follows */
    GstCaps *caps;        /* of all frames, once the first came */
    gboolean fixing;      /* the main thread was asked to set them */
    GstVideoInfo info;
    GstBuffer *last;      /* newest frame, or its dimmed copy while the source is gone */
    GstClockTime pts, returned;
    gint64 pushed;        /* us, when a frame went to the tracker */
    guint64 frames, dropped;
    gint64 rate_since;    /* us */
    guint rate_frames;
    gdouble rate;

};

/* Needs the lock. Gives the buffer to the tracker at once, or drops it. */
static void push(Camera *camera, GstBuffer *buffer, GstBufferFlags flags)
{
    GstBuffer *copy;

    if (gst_app_src_get_current_level_buffers(GST_APP_SRC(camera->in)) >= MAX_WAITING) {
        camera->dropped++;
        return;
    }
    copy = gst_buffer_copy(buffer);
    camera->pushed = g_get_monotonic_time();
    camera->pts = MAX(camera_get_time(camera), camera->pts + 1);
    GST_BUFFER_PTS(copy) = camera->pts;
    GST_BUFFER_DTS(copy) = GST_CLOCK_TIME_NONE;
    GST_BUFFER_DURATION(copy) = GST_CLOCK_TIME_NONE;
    GST_BUFFER_FLAG_SET(copy, flags);
    gst_app_src_push_buffer(GST_APP_SRC(camera->in), copy);
}

/* Needs the lock. */
static void count_frame(Camera *camera)
{
    const gint64 now = g_get_monotonic_time();

    camera->frames++;
    camera->rate_frames++;
    if (!camera->rate_since || now - camera->rate_since < RATE_US) {
        camera->rate_since = camera->rate_since ? camera->rate_since : now;
        return;
    }
    camera->rate = camera->rate_frames * 1e6 / (now - camera->rate_since);
    camera->rate_since = now;
    camera->rate_frames = 0;
}

static void set_rate(Camera *camera, Coder *coder)
{
    const GstVideoInfo *info = &camera->info;
    const gdouble fps = info->fps_n > 0 ? (gdouble) info->fps_n / info->fps_d : 25;
    /* A fifth of a bit per pixel. */
    const guint kbits = camera->settings->bitrate ? (guint) camera->settings->bitrate :
        (guint) CLAMP(info->width * (gdouble) info->height * fps / 5000, 300, 20000);

    coder_set_bitrate(coder, kbits);
}

/* The first frame decides the size of the video: encoders and viewers keep it. Encoders take even
 * sizes only. */
static gboolean fix_caps(gpointer data)
{
    Camera *camera = data;
    GstCaps *caps;

    g_mutex_lock(&camera->lock);
    camera->info.width = GST_ROUND_UP_2(camera->info.width);
    camera->info.height = GST_ROUND_UP_2(camera->info.height);
    caps = gst_video_info_to_caps(&camera->info);
    gst_app_src_set_caps(GST_APP_SRC(camera->in), caps);
    set_rate(camera, camera->coders[CLEAN]);
    set_rate(camera, camera->coders[ANNOTATED]);
    camera->caps = caps;
    log_info("size", "camera", G_TYPE_STRING, camera->settings->name, "width", G_TYPE_INT,
        camera->info.width, "height", G_TYPE_INT, camera->info.height, NULL);
    g_mutex_unlock(&camera->lock);
    caps = gst_caps_copy(caps);
    gst_structure_remove_field(gst_caps_get_structure(caps, 0), "framerate");
    source_fix(camera->source, caps);
    gst_caps_unref(caps);
    return G_SOURCE_REMOVE;
}

static gboolean has_size(Camera *camera, GstSample *sample)
{
    GstVideoInfo info;

    return gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) &&
        info.width == camera->info.width && info.height == camera->info.height;
}

/* A streaming thread of the source. */
static void on_frame(GstSample *sample, gpointer data)
{
    Camera *camera = data;

    g_mutex_lock(&camera->lock);
    if (!camera->caps) {
        if (!camera->fixing &&
            gst_video_info_from_caps(&camera->info, gst_sample_get_caps(sample))) {
            camera->fixing = TRUE;
            g_idle_add(fix_caps, camera);
        }
    } else if (has_size(camera, sample)) {
        count_frame(camera);
        push(camera, gst_sample_get_buffer(sample), 0);
        if (!camera->returned)
            camera->returned = camera->pts;
        gst_buffer_replace(&camera->last, gst_sample_get_buffer(sample));
    }
    g_mutex_unlock(&camera->lock);
}

static void halve(guint8 *row, gint n, gint middle)
{
    gint i;

    for (i = 0; i < n; i++)
        row[i] = (guint8) (middle + (row[i] - middle) / 2);
}

/* A darker copy. */
static GstBuffer *dim(const GstVideoInfo *info, GstBuffer *buffer)
{
    GstBuffer *copy = gst_buffer_copy_deep(buffer);
    GstVideoFrame frame;
    gint row;
    guint p;

    if (!gst_video_frame_map(&frame, info, copy, GST_MAP_READWRITE))
        return copy;
    for (p = 0; p < GST_VIDEO_FRAME_N_PLANES(&frame); p++)
        for (row = 0; row < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, p); row++)
            halve((guint8 *) GST_VIDEO_FRAME_PLANE_DATA(&frame, p) +
                row * (gsize) GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p),
                GST_VIDEO_FRAME_COMP_WIDTH(&frame, p), p ? 128 : 16);
    gst_video_frame_unmap(&frame);
    return copy;
}

/* While the source is gone, viewers get its last frame, dimmed; between two frames of a slow one
 * the last, so that those who come meanwhile see it. It is marked as a gap, on which the tracker
 * does not run, so that its memory stays that of the last real frames. */
static gboolean fill(gpointer data)
{
    Camera *camera = data;

    g_mutex_lock(&camera->lock);
    if (camera->last && camera->caps &&
        (!camera->up || g_get_monotonic_time() - camera->pushed >= REPEAT_US))
        push(camera, camera->last, GST_BUFFER_FLAG_GAP);
    g_mutex_unlock(&camera->lock);
    return G_SOURCE_CONTINUE;
}

static void on_changed(gboolean up, const gchar *why, gpointer data)
{
    Camera *camera = data;
    GstBuffer *dimmed;

    g_free(camera->fault);
    camera->fault = g_strdup(why);
    if (!up) {
        g_mutex_lock(&camera->lock);
        if (camera->up && camera->last) {
            dimmed = dim(&camera->info, camera->last);
            gst_buffer_unref(camera->last);
            camera->last = dimmed;
            camera->returned = 0;
        }
        camera->rate = 0;
        camera->rate_since = 0;
        camera->rate_frames = 0;
        g_mutex_unlock(&camera->lock);
    }
    camera->up = up;
}

static gboolean on_steady(gpointer data)
{
    Camera *camera = data;

    camera->steady = 0;
    camera->pause_ms = FIRST_PAUSE_MS;
    return G_SOURCE_REMOVE;
}

/* The elements stay, and with them the viewers; the tracker begins anew. The running time goes on:
 * pages of before may still prompt. */
static gboolean revive(gpointer data)
{
    Camera *camera = data;
    const GstClockTime base = gst_element_get_base_time(camera->pipeline);

    camera->revive = 0;
    gst_element_set_state(camera->pipeline, GST_STATE_NULL);
    gst_element_set_start_time(camera->pipeline, GST_CLOCK_TIME_NONE);
    gst_element_set_base_time(camera->pipeline, base);
    if (gst_element_set_state(camera->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
        return G_SOURCE_REMOVE; /* its message comes */
    g_clear_pointer(&camera->failure, g_free);
    camera->steady = g_timeout_add(STEADY_MS, on_steady, camera);
    output_request_key(camera->outputs[CLEAN]);
    output_request_key(camera->outputs[ANNOTATED]);
    log_info("pipeline-restarted", "camera", G_TYPE_STRING, camera->settings->name, NULL);
    return G_SOURCE_REMOVE;
}

/* A failure often has several messages. */
static void revive_later(Camera *camera)
{
    if (camera->revive)
        return;
    g_clear_handle_id(&camera->steady, g_source_remove);
    camera->pause_ms = camera->pause_ms ? camera->pause_ms : FIRST_PAUSE_MS;
    camera->revive = g_timeout_add(camera->pause_ms, revive, camera);
    camera->pause_ms = MIN(2 * camera->pause_ms, LONGEST_PAUSE_MS);
}

static void fail(Camera *camera, GstMessage *message)
{
    gchar *why = reason_of_message(message);

    log_error("pipeline-failed", "camera", G_TYPE_STRING, camera->settings->name,
        "element", G_TYPE_STRING, GST_MESSAGE_SRC_NAME(message), "why", G_TYPE_STRING, why, NULL);
    g_free(camera->failure);
    camera->failure = why;
    revive_later(camera);
}

static void tell_object(Camera *camera, const GstStructure *s)
{
    guint64 id = 0;

    gst_structure_get_uint64(s, "id", &id);
    log_info("object", "camera", G_TYPE_STRING, camera->settings->name, "id", G_TYPE_UINT64, id,
        "state", G_TYPE_STRING, gst_structure_get_string(s, "state"), NULL);
}

static void tell_listener(Camera *camera, const GstStructure *message)
{
    if (camera->listener && message)
        camera->listener(message, camera->listener_user);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Camera *camera = data;
    const GstStructure *details = NULL;
    GError *error = NULL;

    switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_ERROR:
        fail(camera, message);
        break;
    case GST_MESSAGE_WARNING:
        gst_message_parse_warning(message, &error, NULL);
        log_warning(strcmp(GST_MESSAGE_SRC_NAME(message), "broker") ? "refused" : "broker",
            "camera", G_TYPE_STRING, camera->settings->name,
            "why", G_TYPE_STRING, error->message, NULL);
        g_error_free(error);
        gst_message_parse_warning_details(message, &details);
        tell_listener(camera, details);
        break;
    case GST_MESSAGE_LATENCY:
        gst_bin_recalculate_latency(GST_BIN(camera->pipeline));
        break;
    case GST_MESSAGE_ELEMENT:
        if (gst_message_has_name(message, "samtrack-object"))
            tell_object(camera, gst_message_get_structure(message));
        tell_listener(camera, gst_message_get_structure(message));
        break;
    default:
        break;
    }
    return G_SOURCE_CONTINUE;
}

static gboolean has_broker(const CameraSettings *settings)
{
    return (settings->mqtt_uri && *settings->mqtt_uri) ||
        (settings->kafka_uri && *settings->kafka_uri);
}

/* Each stream leaves by a valve and an appsink, which take what comes: nothing behind them can stop
 * the tracker. */
static GstElement *build(const CameraSettings *settings, GError **error)
{
    GString *text = g_string_new("appsrc name=in is-live=true format=time min-latency=0 "
        "! samtrack name=track ! samzones name=zones ! ");
    GstElement *pipeline;
    gsize i;

    if (has_broker(settings))
        g_string_append(text, "samexport name=broker ! ");
    g_string_append(text, "tee name=frames ");
    for (i = 0; i < STREAMS; i++)
        g_string_append_printf(text, "frames. ! valve name=%s-valve drop=true ! appsink name=%s "
            "max-buffers=1 sync=false async=false enable-last-sample=false ", streams[i],
            streams[i]);
    pipeline = gst_parse_launch_full(text->str, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
    g_string_free(text, TRUE);
    return pipeline;
}

/* The bin keeps it. */
static GstElement *get(Camera *camera, const gchar *name)
{
    GstElement *element = gst_bin_get_by_name(GST_BIN(camera->pipeline), name);

    gst_object_unref(element);
    return element;
}

/* Properties of an element that keys of a camera are. */
typedef struct {
    const gchar *name, *value; /* NULL: the key is not set */
} Property;

static void set_properties(GstElement *element, const Property *properties, gsize n)
{
    gsize i;

    for (i = 0; i < n; i++)
        if (properties[i].value && *properties[i].value)
            gst_util_set_object_arg(G_OBJECT(element), properties[i].name, properties[i].value);
}

static void set_detector(Camera *camera)
{
    const CameraSettings *s = camera->settings;
    const Property properties[] = {{"detector-file", s->detector_file},
        {"detector-labels", s->detector_labels}, {"detector-backend", s->detector_backend},
        {"detect-classes", s->detect_classes}, {"seed-score", s->seed_score},
        {"instant-confirm-score", s->instant_confirm_score}, {"roi", s->roi},
        {"seed-options", s->seed_options}};

    set_properties(camera->track, properties, G_N_ELEMENTS(properties));
    if (s->detector_size)
        g_object_set(camera->track, "detector-size", (guint) s->detector_size, NULL);
    if (s->detect_interval) {
        gchar *value = g_strdup_printf("%d", s->detect_interval);

        gst_util_set_object_arg(G_OBJECT(camera->track), "detect-interval", value);
        g_free(value);
    }
}

/* Lines go to a broker from behind the tracker. */
static void set_broker(Camera *camera)
{
    const CameraSettings *s = camera->settings;
    const Property properties[] = {{"mqtt-uri", s->mqtt_uri}, {"mqtt-topic", s->mqtt_topic},
        {"mqtt-user", s->mqtt_user}, {"mqtt-password", s->mqtt_password},
        {"kafka-uri", s->kafka_uri}, {"kafka-key", s->kafka_key ? s->kafka_key : s->name}};

    if (has_broker(s))
        set_properties(get(camera, "broker"), properties, G_N_ELEMENTS(properties));
}

static void set_zones(Camera *camera)
{
    const CameraSettings *s = camera->settings;

    g_object_set(camera_get_zones(camera), "zones", s->zones, "zones-file", s->zones_file, NULL);
}

static void set_tracker(Camera *camera)
{
    const CameraSettings *settings = camera->settings;
    GObject *track = G_OBJECT(camera->track);
    gchar *words = settings->words ? g_strdup_printf("text,of=\"%s\";", settings->words) : NULL;
    gchar *prompt = words && settings->initial_prompt ?
        g_strconcat(words, settings->initial_prompt, NULL) : NULL;

    g_object_set(track, "model-file", settings->model_file, "initial-prompt",
        prompt ? prompt : words ? words : settings->initial_prompt, NULL);
    g_free(prompt);
    g_free(words);
    /* Viewers click on frames that have passed: the first click needs them, too. */
    g_object_set(track, "history-idle", TRUE, NULL);
    if (settings->follow)
        g_object_set(track, "follow", settings->follow, NULL);
    if (settings->backend)
        gst_util_set_object_arg(track, "backend", settings->backend);
    if (settings->max_objects)
        g_object_set(track, "max-objects", settings->max_objects, NULL);
    if (settings->threads)
        g_object_set(track, "threads", settings->threads, NULL);
    if (settings->input_size)
        g_object_set(track, "input-size", settings->input_size, NULL);
}

static gboolean make_outputs(Camera *camera, const gchar *encoder, GError **error)
{
    gsize i;

    for (i = 0; i < STREAMS; i++) {
        gchar *valve = g_strdup_printf("%s-valve", streams[i]);
        const CoderSettings settings = {.camera = camera->settings->name, .name = streams[i],
            .encoder = i == JPEG || i == PICTURE ? NULL : encoder,
            .masks = i == ANNOTATED || i == JPEG,
            .tap = get(camera, streams[i])};

        camera->outputs[i] = output_new(streams[i], camera->pipeline, get(camera, valve));
        g_free(valve);
        camera->coders[i] = coder_new(&settings, camera->outputs[i], error);
        if (!camera->coders[i])
            return FALSE;
    }
    return TRUE;
}

static gboolean start(Camera *camera, GError **error)
{
    GstBus *bus = gst_element_get_bus(camera->pipeline);
    GstMessage *message;
    gboolean ok;

    gst_pipeline_use_clock(GST_PIPELINE(camera->pipeline), camera->clock);
    ok = gst_element_set_state(camera->pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
    if (!ok && (message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR))) {
        gst_message_parse_error(message, error, NULL);
        gst_message_unref(message);
    } else if (!ok) {
        g_set_error(error, GST_CORE_ERROR, GST_CORE_ERROR_STATE_CHANGE,
            "The pipeline does not start.");
    }
    if (ok)
        camera->bus_watch = gst_bus_add_watch(bus, on_message, camera);
    gst_object_unref(bus);
    return ok;
}

static void keep(Camera *camera, Annotations *annotations)
{
    GstPad *pad = gst_element_get_static_pad(camera->track, "src");

    annotations_watch(annotations, pad);
    gst_object_unref(pad);
}

Camera *camera_new(const CameraSettings *settings, const gchar *encoder,
    Annotations *annotations, GError **error)
{
    const SourceHandlers handlers = {.frame = on_frame, .changed = on_changed};
    Camera *camera = g_new0(Camera, 1);

    camera->settings = settings;
    g_mutex_init(&camera->lock);
    camera->pipeline = build(settings, error);
    if (!camera->pipeline) {
        camera_free(camera);
        return NULL;
    }
    camera->clock = gst_system_clock_obtain();
    camera->track = get(camera, "track");
    camera->in = get(camera, "in");
    if (annotations)
        keep(camera, annotations);
    camera->fault = g_strdup("the source has not answered yet");
    set_tracker(camera);
    set_detector(camera);
    set_zones(camera);
    set_broker(camera);
    if (!make_outputs(camera, encoder, error) || !start(camera, error)) {
        g_prefix_error(error, "camera '%s': ", settings->name);
        camera_free(camera);
        return NULL;
    }
    camera->fill = g_timeout_add(FILL_MS, fill, camera);
    camera->source = source_new(settings, &handlers, camera);
    source_start(camera->source);
    return camera;
}

static void free_outputs(Camera *camera)
{
    gsize i;

    for (i = 0; i < STREAMS; i++) {
        g_clear_pointer(&camera->coders[i], coder_free);
        g_clear_pointer(&camera->outputs[i], output_free);
    }
}

void camera_stop(Camera *camera)
{
    g_clear_pointer(&camera->source, source_free);
    g_idle_remove_by_data(camera);
    g_clear_handle_id(&camera->fill, g_source_remove);
    g_clear_handle_id(&camera->revive, g_source_remove);
    g_clear_handle_id(&camera->steady, g_source_remove);
    g_clear_handle_id(&camera->bus_watch, g_source_remove);
    if (camera->pipeline)
        gst_element_set_state(camera->pipeline, GST_STATE_NULL);
}

void camera_free(Camera *camera)
{
    camera_stop(camera);
    free_outputs(camera);
    gst_clear_object(&camera->pipeline);
    gst_clear_object(&camera->clock);
    gst_clear_buffer(&camera->last);
    gst_clear_caps(&camera->caps);
    g_mutex_clear(&camera->lock);
    g_free(camera->fault);
    g_free(camera->failure);
    g_free(camera);
}

const gchar *camera_get_name(const Camera *camera)
{
    return camera->settings->name;
}

GstElement *camera_get_zones(Camera *camera)
{
    return get(camera, "zones");
}

GstElement *camera_get_track(Camera *camera)
{
    return camera->track;
}

GstElement *camera_get_pipeline(Camera *camera)
{
    return camera->pipeline;
}

GstElement *camera_get_tee(Camera *camera)
{
    return get(camera, "frames");
}

Output *camera_get_clean(Camera *camera)
{
    return camera->outputs[CLEAN];
}

Output *camera_get_annotated(Camera *camera)
{
    return camera->outputs[ANNOTATED];
}

Output *camera_get_jpeg(Camera *camera)
{
    return camera->outputs[JPEG];
}

Output *camera_get_picture(Camera *camera)
{
    return camera->outputs[PICTURE];
}

const gchar *camera_get_fault(const Camera *camera)
{
    return camera->fault;
}

const gchar *camera_get_failure(const Camera *camera)
{
    return camera->failure;
}

void camera_set_listener(Camera *camera, CameraListener func, gpointer user)
{
    camera->listener = func;
    camera->listener_user = user;
}

gboolean camera_has_frames(Camera *camera)
{
    gboolean has;

    g_mutex_lock(&camera->lock);
    has = camera->caps != NULL;
    g_mutex_unlock(&camera->lock);
    return has;
}

void camera_get_counts(Camera *camera, CameraCounts *counts)
{
    g_mutex_lock(&camera->lock);
    *counts = (CameraCounts) {.frames = camera->frames, .dropped = camera->dropped,
        .rate = camera->rate, .width = camera->caps ? camera->info.width : 0,
        .height = camera->caps ? camera->info.height : 0};
    g_mutex_unlock(&camera->lock);
    counts->reconnects = source_get_reconnects(camera->source);
}

GstClockTime camera_get_time(Camera *camera)
{
    return gst_clock_get_time(camera->clock) - gst_element_get_base_time(camera->pipeline);
}

GstClockTime camera_get_return(Camera *camera)
{
    GstClockTime returned;

    g_mutex_lock(&camera->lock);
    returned = camera->returned;
    g_mutex_unlock(&camera->lock);
    return returned;
}

/* SPDX-License-Identifier: MIT */
#include "pipeline.h"

#include "container.h"

#include <gst/video/video.h>
#include <string.h>

/* Whoever has asked for the end waits so long at most. */
#define STOP_SECONDS 3
#define CHECK_SECONDS 10

/* Counting */

/* px: of the shorter side of a window picture at least, unless the other gets longer than that. */
#define LEAST_SIDE 360
#define MOST_SIDE 1280

/* More than this between two frames is worth a word. */
#define GAP_NS (GST_SECOND / 4)

/* A frame that was tracked; @end: NONE if it has no time. */
static void note_tracked(Pipeline *pipeline, GstBuffer *buffer, GstClockTime end)
{
    const GstClockTime duration = GST_BUFFER_DURATION(buffer);

    g_mutex_lock(&pipeline->lock);
    if (GST_CLOCK_TIME_IS_VALID(end)) {
        if (pipeline->frames && GST_CLOCK_TIME_IS_VALID(duration) &&
            !GST_CLOCK_TIME_IS_VALID(pipeline->gap) && end > pipeline->done + duration + GAP_NS)
            pipeline->gap = pipeline->done;
        pipeline->done = end;
    }
    if (pipeline->sequence && pipeline->in_order == pipeline->frames &&
        sequence_get_index(pipeline->sequence, GST_BUFFER_PTS(buffer)) == pipeline->frames)
        pipeline->in_order++;
    pipeline->frames++;
    g_mutex_unlock(&pipeline->lock);
}

static GstPadProbeReturn on_entered(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Pipeline *pipeline = data;

    g_mutex_lock(&pipeline->lock);
    pipeline->entered++;
    g_mutex_unlock(&pipeline->lock);
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_tracked(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    const GstClockTime end = streams_get_end(pad, buffer);
    Pipeline *pipeline = data;

    if (pipeline->gated && gate_is_repeating(&pipeline->gate))
        return GST_PAD_PROBE_OK;
    streams_note_end(&pipeline->streams, end);
    note_tracked(pipeline, buffer, end);
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_map(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Pipeline *pipeline = data;

    g_mutex_lock(&pipeline->lock);
    pipeline->maps++;
    g_mutex_unlock(&pipeline->lock);
    return GST_PAD_PROBE_OK;
}

/* H.264 has a colour for each 2 x 2 pixels: the last column or row of an odd number is left out. */
static GstPadProbeReturn on_crop_caps(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    GstElement *crop = gst_pad_get_parent_element(pad);
    GstCaps *caps;
    GstVideoInfo video;

    if (crop && GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
        gst_event_parse_caps(event, &caps);
        if (gst_video_info_from_caps(&video, caps))
            g_object_set(crop, "right", video.width > 1 ? video.width % 2 : 0, "bottom",
                video.height > 1 ? video.height % 2 : 0, NULL);
    }
    gst_clear_object(&crop);
    return GST_PAD_PROBE_OK;
}

/* A window's text needs some room: small pictures are enlarged, by a whole number. */
static GstPadProbeReturn on_window_caps(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    Pipeline *pipeline = data;
    GstCaps *caps, *larger = gst_caps_new_empty_simple("video/x-raw");
    GstElement *size;
    GstVideoInfo video;
    gint by;

    if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
        gst_event_parse_caps(event, &caps);
        size = gst_bin_get_by_name(GST_BIN(pipeline->bin), "size");
        if (gst_video_info_from_caps(&video, caps) && MIN(video.width, video.height) < LEAST_SIDE) {
            by = (LEAST_SIDE - 1) / MIN(video.width, video.height) + 1;
            by = CLAMP(MOST_SIDE / MAX(video.width, video.height), 1, by);
            gst_caps_set_simple(larger, "width", G_TYPE_INT, by * video.width, "height",
                G_TYPE_INT, by * video.height, NULL);
        }
        g_object_set(size, "caps", larger, NULL);
        gst_object_unref(size);
    }
    gst_caps_unref(larger);
    return GST_PAD_PROBE_OK;
}

static void watch(Pipeline *pipeline, const gchar *element, const gchar *name, GstPadProbeType type,
    GstPadProbeCallback callback)
{
    GstElement *of = gst_bin_get_by_name(GST_BIN(pipeline->bin), element);
    GstPad *pad = gst_element_get_static_pad(of, name);

    gst_pad_add_probe(pad, type, callback, pipeline, NULL);
    gst_object_unref(pad);
    gst_object_unref(of);
}

/* Changes */

typedef enum { START = 1, SEEK, END, CHECK, STOP } Change;

static gboolean end_pad(GstElement *track, GstPad *pad, gpointer data)
{
    gst_pad_push_event(pad, gst_event_new_eos());
    return TRUE;
}

static void end(Pipeline *pipeline)
{
    gst_element_foreach_src_pad(pipeline->track, end_pad, NULL);
    streams_end_others(&pipeline->streams);
}

/* A window shows the video while the model is loaded. Returns FALSE if it cannot. */
static gboolean start(Pipeline *pipeline)
{
    GstElement *track = pipeline->track;

    if (gst_element_set_state(pipeline->bin, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
        return FALSE;
    if (!pipeline->gated)
        return TRUE;
    if (gst_element_set_state(track, GST_STATE_PAUSED) == GST_STATE_CHANGE_FAILURE)
        return FALSE;
    gst_element_set_locked_state(track, FALSE);
    if (!gst_element_sync_state_with_parent(track))
        return FALSE;
    gate_open(&pipeline->gate);
    return TRUE;
}

/* What the overlay has to say of the seek is seen before it, as long as it takes. */
static gboolean seek(Pipeline *pipeline)
{
    GstClockTime from;

    g_mutex_lock(&pipeline->lock);
    from = pipeline->seek_from;
    g_mutex_unlock(&pipeline->lock);
    gate_draw(&pipeline->gate);
    return gst_pad_send_event(pipeline->gate.in, gst_event_new_seek(1, GST_FORMAT_TIME,
        GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, GST_SEEK_TYPE_SET, (gint64) from,
        GST_SEEK_TYPE_NONE, -1));
}

/* In the thread of the pool. */
static void change(gpointer data, gpointer user)
{
    Pipeline *pipeline = user;
    gboolean failed = FALSE, unsought = FALSE;
    guint64 absent = 0;

    switch ((Change) GPOINTER_TO_INT(data)) {
    case START:
        failed = !start(pipeline);
        break;
    case SEEK:
        unsought = !seek(pipeline);
        break;
    case END:
        end(pipeline);
        break;
    case CHECK:
        absent = container_get_missing(pipeline->file);
        break;
    case STOP:
        gst_element_set_locked_state(pipeline->track, FALSE); /* its model was not loaded */
        gst_element_set_state(pipeline->bin, GST_STATE_NULL);
        break;
    }
    g_mutex_lock(&pipeline->lock);
    pipeline->failed |= failed;
    pipeline->unsought += unsought;
    pipeline->absent = absent;
    pipeline->changed++;
    g_cond_signal(&pipeline->done_changing);
    g_mutex_unlock(&pipeline->lock);
    if (unsought && pipeline->gate.on_change)
        pipeline->gate.on_change(pipeline->gate.user);
}

static void ask_for(Pipeline *pipeline, Change what)
{
    pipeline->asked++;
    g_thread_pool_push(pipeline->changes, GINT_TO_POINTER(what), NULL);
}

/* For all that was asked for. */
static gboolean wait_for_changes(Pipeline *pipeline, gint seconds)
{
    const gint64 until = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    gboolean done = TRUE;

    g_mutex_lock(&pipeline->lock);
    while (done && pipeline->changed < pipeline->asked)
        done = g_cond_wait_until(&pipeline->done_changing, &pipeline->lock, until);
    g_mutex_unlock(&pipeline->lock);
    return done;
}

void pipeline_start(Pipeline *pipeline)
{
    ask_for(pipeline, START);
}

void pipeline_seek(Pipeline *pipeline, GstClockTime from, GstClockTime until)
{
    g_mutex_lock(&pipeline->lock);
    pipeline->seek_from = from;
    g_mutex_unlock(&pipeline->lock);
    gate_set_target(&pipeline->gate, until);
    ask_for(pipeline, SEEK);
}

guint pipeline_count_unsought(Pipeline *pipeline)
{
    guint n;

    g_mutex_lock(&pipeline->lock);
    n = pipeline->unsought;
    g_mutex_unlock(&pipeline->lock);
    return n;
}

void pipeline_end(Pipeline *pipeline)
{
    ask_for(pipeline, END);
}

gboolean pipeline_check_file(Pipeline *pipeline)
{
    if (!pipeline->file)
        return TRUE;
    ask_for(pipeline, CHECK);
    return wait_for_changes(pipeline, CHECK_SECONDS);
}

gboolean pipeline_stop(Pipeline *pipeline)
{
    if (pipeline->gated)
        gate_stop(&pipeline->gate);
    ask_for(pipeline, STOP);
    return wait_for_changes(pipeline, STOP_SECONDS);
}

/* Building */

static gchar *describe_source(const Options *options, const Sequence *sequence)
{
    if (options->source)
        return g_strdup_printf("%s ! videoconvert ! queue", options->source);
    if (options->camera)
        return g_strdup("v4l2src name=source ! videoconvert ! queue");
    if (sequence)
        return g_strdup_printf("appsrc name=source ! %s ! videoconvert ! queue", sequence->decoder);
    /* Phones turn the picture by a tag. */
    return g_strdup("filesrc name=source ! decodebin name=decoder "
        "videoconvert name=frames ! videoflip video-direction=auto ! queue");
}

static gchar *describe_output(const Options *options)
{
    if (options->label_maps) /* each pad needs its own queue, as after a tee */
        return g_strdup("track.src ! queue ! fakesink "
            "track.overlay ! queue ! video/x-raw,format=GRAY8 ! pngenc name=encoder "
            "! multifilesink name=file");
    if (options->output)
        return g_strdup_printf("! %s samoverlay ! videocrop name=crop ! videoconvert "
            "! video/x-raw,format=I420 ! x264enc name=encoder speed-preset=veryfast "
            "! mp4mux name=mux ! filesink name=file",
            options->score ? "samscore !" : "");
    return g_strdup("! capsfilter name=in ! videoscale name=scale ! capsfilter name=size "
        "! samoverlay name=overlay ! videoconvert name=shown");
}

static void set(Pipeline *pipeline, const gchar *name, const gchar *property, const gchar *value)
{
    GstElement *element = value ? gst_bin_get_by_name(GST_BIN(pipeline->bin), name) : NULL;

    if (element)
        g_object_set(element, property, value, NULL);
    gst_clear_object(&element);
}

static void set_properties(Pipeline *pipeline, const Options *options)
{
    set(pipeline, "source", "location", pipeline->sequence ? NULL : options->video);
    set(pipeline, "source", "device", options->camera);
    set(pipeline, "track", "initial-prompt", options->prompt);
    set(pipeline, "track", "model-file", options->model);
    set(pipeline, "track", "detector-file", options->detector);
    if (options->max_objects)
        g_object_set(pipeline->track, "max-objects", options->max_objects, NULL);
}

void pipeline_set_output(Pipeline *pipeline, const Options *options, const gchar *part)
{
    gchar *pattern = options->label_maps ? g_build_filename(part, "%05d.png", NULL) : NULL;

    set(pipeline, "file", "location", pattern ? pattern : part);
    g_free(pattern);
}

static void connect_source(Pipeline *pipeline)
{
    GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline->bin), "source");
    GstElement *decoder = gst_bin_get_by_name(GST_BIN(pipeline->bin), "decoder");

    if (pipeline->sequence)
        sequence_connect(pipeline->sequence, source);
    streams_init(&pipeline->streams, pipeline->bin, decoder);
    gst_clear_object(&source);
    gst_clear_object(&decoder);
}

/* The tracker is not linked yet; frames come in the formats that it takes. */
static void connect_gate(Pipeline *pipeline, gboolean is_file, gboolean closes)
{
    GstElement *in = gst_bin_get_by_name(GST_BIN(pipeline->bin), "in");
    GstElement *scale = gst_bin_get_by_name(GST_BIN(pipeline->bin), "scale");
    GstPad *out = gst_element_get_static_pad(in, "src");
    GstPad *sink = gst_element_get_static_pad(pipeline->track, "sink");
    GstCaps *caps = gst_pad_get_pad_template_caps(sink);

    g_object_set(in, "caps", caps, NULL);
    gst_element_set_locked_state(pipeline->track, TRUE);
    gate_init(&pipeline->gate, out, pipeline->track, scale, is_file);
    pipeline->gate.stays = !closes;
    pipeline->gated = TRUE;
    gst_caps_unref(caps);
    gst_object_unref(sink);
    gst_object_unref(out);
    gst_object_unref(scale);
    gst_object_unref(in);
    watch(pipeline, "in", "src", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_window_caps);
}

/* A camera's frames are due at a time of the clock, those of a file when the next one is. */
static gboolean connect_window(Pipeline *pipeline, const Options *options, GError **error)
{
    GstElement *sink = window_new_sink("file", error);
    GstElement *shown;

    if (!sink)
        return FALSE;
    shown = gst_bin_get_by_name(GST_BIN(pipeline->bin), "shown");
    gst_bin_add(GST_BIN(pipeline->bin), sink);
    gst_element_link(shown, sink);
    gst_object_unref(shown);
    if (options->video)
        g_object_set(sink, "sync", FALSE, NULL);
    connect_gate(pipeline, options->video != NULL, options->closes);
    gate_pace(&pipeline->gate, sink);
    return TRUE;
}

static gboolean parse(Pipeline *pipeline, const Options *options, GError **error)
{
    gchar *source = describe_source(options, pipeline->sequence);
    gchar *output = describe_output(options);
    gchar *all = options->window ? g_strdup_printf("%s %s samtrack name=track strict=true "
        "navigation=points-boxes reset-on=never", source, output) :
        g_strdup_printf("%s ! samtrack name=track strict=true %s", source, output);
    pipeline->bin = gst_parse_launch_full(all, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
    g_free(source);
    g_free(output);
    g_free(all);
    return pipeline->bin != NULL;
}

gboolean pipeline_build(Pipeline *pipeline, const Options *options, GError **error)
{
    g_mutex_init(&pipeline->lock);
    g_cond_init(&pipeline->done_changing);
    pipeline->changes = g_thread_pool_new(change, pipeline, 1, TRUE, NULL);
    pipeline->gap = GST_CLOCK_TIME_NONE;
    if (options->video && sequence_are_named(options->video)) {
        pipeline->sequence = sequence_new(options->video, options->fps, error);
        if (!pipeline->sequence)
            return FALSE;
    }
    if (!pipeline->sequence)
        pipeline->file = options->video;
    if (!parse(pipeline, options, error))
        return FALSE;
    pipeline->track = gst_bin_get_by_name(GST_BIN(pipeline->bin), "track");
    set_properties(pipeline, options);
    connect_source(pipeline);
    watch(pipeline, "track", "sink", GST_PAD_PROBE_TYPE_BUFFER, on_entered);
    watch(pipeline, "track", "src", GST_PAD_PROBE_TYPE_BUFFER, on_tracked);
    if (options->label_maps)
        watch(pipeline, "file", "sink", GST_PAD_PROBE_TYPE_BUFFER, on_map);
    if (options->output)
        watch(pipeline, "crop", "sink", GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_crop_caps);
    return !options->window || connect_window(pipeline, options, error);
}


guint64 pipeline_get_duration(Pipeline *pipeline)
{
    GstPad *pad = gst_element_get_static_pad(pipeline->track, "sink");
    gint64 duration = 0;

    if (pipeline->sequence)
        duration = sequence_get_duration(pipeline->sequence);
    else if (!gst_pad_peer_query_duration(pad, GST_FORMAT_TIME, &duration) || duration < 0)
        duration = 0;
    gst_object_unref(pad);
    return duration;
}

gboolean pipeline_is_input(Pipeline *pipeline, GstObject *element)
{
    GstElement *decoder = gst_bin_get_by_name(GST_BIN(pipeline->bin), "decoder");
    const gboolean is = decoder && gst_object_has_as_ancestor(element, GST_OBJECT(decoder));

    gst_clear_object(&decoder);
    return is;
}

gboolean pipeline_is_output(Pipeline *pipeline, GstObject *element)
{
    static const gchar *const names[] = {"encoder", "mux", "file"};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(names); i++)
        if (!g_strcmp0(GST_OBJECT_NAME(element), names[i]) &&
            GST_OBJECT_PARENT(element) == GST_OBJECT(pipeline->bin))
            return TRUE;
    return FALSE;
}

void pipeline_clear(Pipeline *pipeline)
{
    if (!pipeline->changes) /* it was not built */
        return;
    if (pipeline->bin) /* if it has not started, it is ready */
        pipeline_stop(pipeline);
    g_thread_pool_free(pipeline->changes, FALSE, TRUE);
    gst_clear_object(&pipeline->track);
    if (pipeline->bin)
        streams_clear(&pipeline->streams);
    gst_clear_object(&pipeline->bin);
    if (pipeline->gated)
        gate_clear(&pipeline->gate);
    g_clear_pointer(&pipeline->sequence, sequence_free);
    g_clear_pointer(&pipeline->missing, g_free);
    g_mutex_clear(&pipeline->lock);
    g_cond_clear(&pipeline->done_changing);
}

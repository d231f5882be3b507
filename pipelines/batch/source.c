/* SPDX-License-Identifier: MIT */
#include "source.h"

#include "../run/container.h"
#include "fault.h"
#include "manifest.h"

#include <gst/video/video.h>
#include <string.h>

/* How much shorter than its container says a video may be. */
#define SLACK_NS (GST_SECOND / 2)
#define SLACK_SHARE 50

void source_note_end(Source *source, GstClockTime end)
{
    g_mutex_lock(&source->lock);
    source->longest = MAX(source->longest, end);
    g_mutex_unlock(&source->lock);
}

static GstPadProbeReturn on_other(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    GstClockTime end = GST_BUFFER_PTS(buffer);
    const GstSegment *segment;

    if (!event)
        return GST_PAD_PROBE_OK;
    gst_event_parse_segment(event, &segment);
    if (GST_CLOCK_TIME_IS_VALID(end) && segment->format == GST_FORMAT_TIME)
        end = gst_segment_to_stream_time(segment, GST_FORMAT_TIME, end);
    if (GST_CLOCK_TIME_IS_VALID(end) && GST_BUFFER_DURATION_IS_VALID(buffer))
        end += GST_BUFFER_DURATION(buffer);
    if (GST_CLOCK_TIME_IS_VALID(end))
        source_note_end(data, end);
    gst_event_unref(event);
    return GST_PAD_PROBE_OK;
}

/* Only video is decoded. */
static gboolean on_autoplug_continue(GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer data)
{
    const gchar *name = gst_caps_is_empty(caps) || gst_caps_is_any(caps) ? "" :
        gst_structure_get_name(gst_caps_get_structure(caps, 0));

    return !g_str_has_prefix(name, "audio/") && !g_str_has_prefix(name, "text/") &&
        !g_str_has_prefix(name, "subpicture/") && !g_str_has_prefix(name, "application/x-subtitle");
}

/* The end of another stream tells how long the file is. */
static void take_other(Source *source, GstPad *pad)
{
    GstElement *sink = gst_element_factory_make("fakesink", NULL);
    GstPad *end = gst_element_get_static_pad(sink, "sink");

    g_object_set(sink, "async", FALSE, NULL);
    gst_pad_add_probe(end, GST_PAD_PROBE_TYPE_BUFFER, on_other, source, NULL);
    gst_bin_add(GST_BIN(source->pipeline), sink);
    gst_element_sync_state_with_parent(sink);
    gst_pad_link(pad, end);
    gst_object_unref(end);
}

static void on_pad_added(GstElement *decoder, GstPad *pad, gpointer data)
{
    Source *source = data;
    GstCaps *caps = gst_pad_get_current_caps(pad);
    const gchar *name = caps ? gst_structure_get_name(gst_caps_get_structure(caps, 0)) : "";
    gboolean first = FALSE;

    if (!strcmp(name, "video/x-raw")) {
        g_mutex_lock(&source->lock);
        first = !source->has_video;
        source->has_video = TRUE;
        g_mutex_unlock(&source->lock);
    }
    if (first) {
        GstElement *frames = gst_bin_get_by_name(GST_BIN(source->pipeline), "frames");

        gst_element_link_pads(decoder, GST_PAD_NAME(pad), frames, "sink");
        gst_object_unref(frames);
    } else {
        take_other(source, pad);
    }
    gst_clear_caps(&caps);
}

static void on_no_more_pads(GstElement *decoder, gpointer data)
{
    Source *source = data;
    gboolean has_video;

    g_mutex_lock(&source->lock);
    has_video = source->has_video;
    g_mutex_unlock(&source->lock);
    if (!has_video)
        GST_ELEMENT_ERROR(decoder, STREAM, WRONG_TYPE, ("The file has no video."), (NULL));
}

/* A frame that cannot be decoded is an error, not a frame less. */
static void on_element_added(GstBin *bin, GstBin *sub, GstElement *element, gpointer data)
{
    const gchar *class = gst_element_get_metadata(element, GST_ELEMENT_METADATA_KLASS);
    Source *source = data;

    if (GST_IS_VIDEO_DECODER(element))
        gst_video_decoder_set_max_errors(GST_VIDEO_DECODER(element), 0);
    if (class && strstr(class, "Demuxer")) {
        g_mutex_lock(&source->lock);
        source->has_demuxer = TRUE;
        g_mutex_unlock(&source->lock);
    }
}

gboolean source_open(Source *source, const gchar *uri, GError **error)
{
    GError *why = NULL;

    memset(source, 0, sizeof *source);
    g_mutex_init(&source->lock);
    source->uri = g_strdup(uri);
    /* Phones turn the picture by a tag. */
    source->pipeline = gst_parse_launch_full("uridecodebin name=decoder videoconvert name=frames "
        "! videoflip video-direction=auto ! queue max-size-buffers=8 max-size-time=0 "
        "max-size-bytes=0 ! samtrack name=track strict=true overload-policy=block "
        "! fakesink name=sink sync=false", NULL, GST_PARSE_FLAG_FATAL_ERRORS, &why);
    if (!source->pipeline) {
        fault_set(error, FAULT_SETTINGS, "the pipeline cannot be made: %s", why->message);
        g_error_free(why);
        return FALSE;
    }
    gst_object_ref_sink(source->pipeline);
    source->decoder = gst_bin_get_by_name(GST_BIN(source->pipeline), "decoder");
    g_object_set(source->decoder, "uri", uri, NULL);
    g_signal_connect(source->decoder, "autoplug-continue", G_CALLBACK(on_autoplug_continue),
        source);
    g_signal_connect(source->decoder, "pad-added", G_CALLBACK(on_pad_added), source);
    g_signal_connect(source->decoder, "no-more-pads", G_CALLBACK(on_no_more_pads), source);
    g_signal_connect(source->pipeline, "deep-element-added", G_CALLBACK(on_element_added), source);
    return TRUE;
}

void source_close(Source *source)
{
    if (source->pipeline)
        gst_element_set_state(source->pipeline, GST_STATE_NULL);
    gst_clear_object(&source->decoder);
    gst_clear_object(&source->pipeline);
    g_clear_pointer(&source->uri, g_free);
    g_mutex_clear(&source->lock);
}

gboolean source_has(Source *source, GstObject *element)
{
    return gst_object_has_as_ancestor(element, GST_OBJECT(source->decoder)) ||
        element == GST_OBJECT(source->decoder);
}

gboolean source_check_whole(Source *source, GstPad *pad, GError **error)
{
    gchar *path = item_get_path(source->uri);
    const guint64 absent = path ? container_get_missing(path) : 0;
    GstClockTime longest;
    gint64 all = 0;
    gboolean has_demuxer;

    g_free(path);
    g_mutex_lock(&source->lock);
    longest = source->longest;
    has_demuxer = source->has_demuxer;
    g_mutex_unlock(&source->lock);
    if (!gst_pad_peer_query_duration(pad, GST_FORMAT_TIME, &all) || all < 0)
        all = 0;
    if (absent)
        return fault_set(error, FAULT_PERMANENT, "the video is truncated: at least %"
            G_GUINT64_FORMAT " bytes are missing at its end", absent);
    if (has_demuxer && longest + MAX(SLACK_NS, (guint64) all / SLACK_SHARE) < (guint64) all)
        return fault_set(error, FAULT_PERMANENT, "the video ends after %.1f of %.1f s: the file is "
            "truncated", longest / 1e9, all / 1e9);
    return TRUE;
}

/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <gst/video/video.h>
#include <string.h>

#define OTHER "samtrack-other" /* data of sinks of other streams than the video */

/* How much shorter than its container says a video may be. */
#define SLACK_NS (GST_SECOND / 2)
#define SLACK_SHARE 50

GstClockTime streams_get_end(GstPad *pad, GstBuffer *buffer)
{
    GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    GstClockTime end = GST_BUFFER_PTS(buffer);
    const GstSegment *segment;

    if (!event)
        return GST_CLOCK_TIME_NONE;
    gst_event_parse_segment(event, &segment);
    if (GST_CLOCK_TIME_IS_VALID(end) && segment->format == GST_FORMAT_TIME)
        end = gst_segment_to_stream_time(segment, GST_FORMAT_TIME, end);
    if (GST_CLOCK_TIME_IS_VALID(end) && GST_BUFFER_DURATION_IS_VALID(buffer))
        end += GST_BUFFER_DURATION(buffer);
    gst_event_unref(event);
    return end;
}

GstClockTime streams_get_time(GstPad *pad, GstBuffer *buffer)
{
    GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    GstClockTime time = GST_CLOCK_TIME_NONE;
    const GstSegment *segment;

    if (!event)
        return time;
    gst_event_parse_segment(event, &segment);
    if (segment->format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID(buffer))
        time = gst_segment_to_stream_time(segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    gst_event_unref(event);
    return time;
}

void streams_note_end(Streams *streams, GstClockTime end)
{
    g_mutex_lock(&streams->lock);
    if (GST_CLOCK_TIME_IS_VALID(end))
        streams->longest = MAX(streams->longest, end);
    g_mutex_unlock(&streams->lock);
}

static GstPadProbeReturn on_other(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    streams_note_end(data, streams_get_end(pad, GST_PAD_PROBE_INFO_BUFFER(info)));
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
static void take_other(Streams *streams, GstPad *pad)
{
    GstElement *sink = gst_element_factory_make("fakesink", NULL);
    GstPad *end = gst_element_get_static_pad(sink, "sink");

    g_object_set(sink, "async", FALSE, NULL);
    g_object_set_data(G_OBJECT(sink), OTHER, streams);
    gst_pad_add_probe(end, GST_PAD_PROBE_TYPE_BUFFER, on_other, streams, NULL);
    gst_bin_add(GST_BIN(streams->bin), sink);
    gst_element_sync_state_with_parent(sink);
    gst_pad_link(pad, end);
    gst_object_unref(end);
}

static void on_pad_added(GstElement *decoder, GstPad *pad, gpointer data)
{
    Streams *streams = data;
    GstCaps *caps = gst_pad_get_current_caps(pad);
    const gchar *name = caps ? gst_structure_get_name(gst_caps_get_structure(caps, 0)) : "";
    gboolean first = FALSE;

    if (!strcmp(name, "video/x-raw")) {
        g_mutex_lock(&streams->lock);
        first = !streams->has_video;
        streams->has_video = TRUE;
        g_mutex_unlock(&streams->lock);
    }
    if (first) {
        GstElement *frames = gst_bin_get_by_name(GST_BIN(streams->bin), "frames");

        gst_element_link_pads(decoder, GST_PAD_NAME(pad), frames, "sink");
        gst_object_unref(frames);
    } else {
        take_other(streams, pad);
    }
    gst_clear_caps(&caps);
}

static void on_no_more_pads(GstElement *decoder, gpointer data)
{
    Streams *streams = data;
    gboolean has_video;

    g_mutex_lock(&streams->lock);
    has_video = streams->has_video;
    g_mutex_unlock(&streams->lock);
    if (!has_video)
        GST_ELEMENT_ERROR(decoder, STREAM, WRONG_TYPE, ("The file has no video."), (NULL));
}

/* A frame that cannot be decoded is an error, not a frame less. */
static void on_element_added(GstBin *bin, GstBin *sub, GstElement *element, gpointer data)
{
    const gchar *class = gst_element_get_metadata(element, GST_ELEMENT_METADATA_KLASS);
    Streams *streams = data;

    if (GST_IS_VIDEO_DECODER(element))
        gst_video_decoder_set_max_errors(GST_VIDEO_DECODER(element), 0);
    if (class && strstr(class, "Demuxer")) {
        g_mutex_lock(&streams->lock);
        streams->has_demuxer = TRUE;
        g_mutex_unlock(&streams->lock);
    }
}

static void end_other(const GValue *item, gpointer data)
{
    GstElement *sink = g_value_get_object(item);
    GstPad *pad = gst_element_get_static_pad(sink, "sink");

    if (g_object_get_data(G_OBJECT(sink), OTHER))
        gst_pad_send_event(pad, gst_event_new_eos());
    gst_object_unref(pad);
}

void streams_end_others(Streams *streams)
{
    GstIterator *sinks = gst_bin_iterate_sinks(GST_BIN(streams->bin));

    while (gst_iterator_foreach(sinks, end_other, NULL) == GST_ITERATOR_RESYNC)
        gst_iterator_resync(sinks);
    gst_iterator_free(sinks);
}

gboolean streams_are_whole(Streams *streams, GstClockTime all, GstClockTime *longest)
{
    gboolean has_demuxer;

    g_mutex_lock(&streams->lock);
    *longest = streams->longest;
    has_demuxer = streams->has_demuxer;
    g_mutex_unlock(&streams->lock);
    return !has_demuxer || *longest + MAX(SLACK_NS, all / SLACK_SHARE) >= all;
}

void streams_init(Streams *streams, GstElement *bin, GstElement *decoder)
{
    g_mutex_init(&streams->lock);
    streams->bin = bin;
    if (decoder) {
        g_signal_connect(decoder, "autoplug-continue", G_CALLBACK(on_autoplug_continue), streams);
        g_signal_connect(decoder, "pad-added", G_CALLBACK(on_pad_added), streams);
        g_signal_connect(decoder, "no-more-pads", G_CALLBACK(on_no_more_pads), streams);
    }
    g_signal_connect(bin, "deep-element-added", G_CALLBACK(on_element_added), streams);
}

void streams_clear(Streams *streams)
{
    g_mutex_clear(&streams->lock);
}

/* SPDX-License-Identifier: MIT */
#include "feed.h"

#include <gst/app/gstappsrc.h>

#define MAX_FRAMES 25 /* that wait in the appsrc */

struct Feed {
    Output *output;
    GstAppSrc *appsrc;
    gboolean restamp;
    guint id;
    gboolean waits;    /* for a key frame; streaming thread */
    GstClockTime last; /* time stamp; streaming thread */

    GMutex lock;
    guint64 bytes; /* guarded by lock */
};

/* 0 before the pipeline plays. A pipeline that begins to play has its clock before its base time:
 * appsrc's do-timestamp then takes the clock's time for the running time, and the sink waits for it
 * as long as the machine has been up. */
static GstClockTime get_running_time(GstElement *element)
{
    GstClock *clock = gst_element_get_clock(element);
    const GstClockTime base = gst_element_get_base_time(element);
    const GstClockTime now = clock && base ? gst_clock_get_time(clock) : base;

    gst_clear_object(&clock);
    return now > base ? now - base : 0;
}

static void push(Feed *feed, GstSample *sample)
{
    GstBuffer *copy;
    GstSample *bare;

    if (!feed->restamp) {
        gst_app_src_push_sample(feed->appsrc, sample);
        return;
    }
    copy = gst_buffer_copy(gst_sample_get_buffer(sample));
    feed->last = MAX(get_running_time(GST_ELEMENT(feed->appsrc)), feed->last + GST_MSECOND);
    GST_BUFFER_PTS(copy) = feed->last;
    GST_BUFFER_DTS(copy) = GST_CLOCK_TIME_NONE;
    bare = gst_sample_new(copy, gst_sample_get_caps(sample), NULL, NULL);
    gst_buffer_unref(copy);
    gst_app_src_push_sample(feed->appsrc, bare);
    gst_sample_unref(bare);
}

static void on_frame(GstSample *sample, gpointer data)
{
    Feed *feed = data;
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    const gboolean delta = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    const gboolean full = gst_app_src_get_current_level_buffers(feed->appsrc) >= MAX_FRAMES;

    if (full || (feed->waits && delta)) {
        feed->waits = TRUE;
        if (!full)
            output_request_key(feed->output);
    } else {
        feed->waits = FALSE;
        push(feed, sample);
        g_mutex_lock(&feed->lock);
        feed->bytes += gst_buffer_get_size(buffer);
        g_mutex_unlock(&feed->lock);
    }
}

Feed *feed_new(Output *output, GstElement *appsrc, gboolean restamp)
{
    Feed *feed = g_new0(Feed, 1);

    feed->output = output;
    feed->appsrc = gst_object_ref(GST_APP_SRC(appsrc));
    feed->restamp = restamp;
    feed->waits = TRUE;
    g_mutex_init(&feed->lock);
    feed->id = output_subscribe(output, on_frame, feed);
    return feed;
}

guint64 feed_get_bytes(Feed *feed)
{
    guint64 bytes;

    g_mutex_lock(&feed->lock);
    bytes = feed->bytes;
    g_mutex_unlock(&feed->lock);
    return bytes;
}

void feed_free(Feed *feed)
{
    output_unsubscribe(feed->output, feed->id);
    gst_object_unref(feed->appsrc);
    g_mutex_clear(&feed->lock);
    g_free(feed);
}

/* SPDX-License-Identifier: MIT */
/* What a viewer's pipeline is fed with while it starts: no frame may make it wait. */

#include "feed.h"
#include "check.h"

/* An encoder's frame holds the raw one. */
static GstPadProbeReturn add_parent(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
    GstBuffer *raw = gst_buffer_new();

    gst_buffer_add_parent_buffer_meta(buffer, raw);
    gst_buffer_unref(raw);
    GST_PAD_PROBE_INFO_DATA(info) = buffer;
    return GST_PAD_PROBE_OK;
}

/* The output's frames: all of them key frames, 20 ms apart. */
static GstElement *start_output(Output **output)
{
    GstElement *pipeline = gst_parse_launch("videotestsrc is-live=true "
        "! video/x-raw,width=16,height=16,framerate=50/1 ! appsink name=sink sync=false", NULL);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstPad *pad = gst_element_get_static_pad(sink, "sink");

    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, add_parent, NULL, NULL);
    gst_object_unref(pad);
    *output = output_new("test", pipeline, NULL);
    output_attach(*output, sink);
    gst_object_unref(sink);
    CHECK(gst_element_set_state(pipeline, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE);
    return pipeline;
}

static void wait_for_frames(GstElement *appsrc, guint64 n)
{
    guint64 level = 0;
    gint i;

    for (i = 0; i < 6000 && level < n; i++) {
        g_object_get(appsrc, "current-level-buffers", &level, NULL);
        g_usleep(10000);
    }
    CHECK(level >= n);
}

static GstSample *take(GstElement *sink)
{
    GstSample *sample = NULL;

    g_signal_emit_by_name(sink, "try-pull-sample", 20 * GST_SECOND, &sample);
    CHECK(sample);
    return sample;
}

/* Frames come before the pipeline has a clock, when it has a clock and no base time, and when it
 * plays. */
static void test_start(Output *output)
{
    GstElement *pipeline = gst_parse_launch("appsrc name=src is-live=true format=time max-bytes=0 "
        "! appsink name=sink sync=true", NULL);
    GstElement *src = gst_bin_get_by_name(GST_BIN(pipeline), "src");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstClock *clock = gst_system_clock_obtain();
    GstClockTime last = 0, begun;
    Feed *feed;
    gint i;

    gst_element_set_state(pipeline, GST_STATE_PAUSED);
    feed = feed_new(output, src, TRUE);
    wait_for_frames(src, 2);
    CHECK(gst_element_set_clock(src, clock) && gst_element_get_base_time(src) == 0);
    wait_for_frames(src, 4);
    begun = gst_clock_get_time(clock);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    for (i = 0; i < 40; i++) {
        GstSample *sample = take(sink);
        const GstClockTime time = GST_BUFFER_PTS(gst_sample_get_buffer(sample));

        CHECK(!gst_buffer_get_parent_buffer_meta(gst_sample_get_buffer(sample)));
        CHECK(GST_CLOCK_TIME_IS_VALID(time) && time > last);
        CHECK(time <= gst_clock_get_time(clock) - begun + GST_SECOND);
        last = time;
        gst_sample_unref(sample);
    }
    CHECK(last > 300 * GST_MSECOND); /* 40 frames take 800 ms, less the few before the start */
    feed_free(feed);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(src);
    gst_object_unref(sink);
    gst_object_unref(clock);
    gst_object_unref(pipeline);
}

int main(int argc, char **argv)
{
    GstElement *pipeline;
    Output *output;

    gst_init(&argc, &argv);
    pipeline = start_output(&output);
    test_start(output);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    output_free(output);
    gst_object_unref(pipeline);
    return 0;
}

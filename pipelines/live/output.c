/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 256
#define KEY_US (G_USEC_PER_SEC / 2)

typedef struct {
    guint id;
    OutputFunc func;
    gpointer user;
} Subscriber;

struct Output {
    gatomicrefcount refs; /* the owner's, and those of sinks that may still call back */
    const gchar *name;
    GstElement *main;

    GMutex valve_lock; /* guards the two below */
    GstElement *valve;
    guint users;

    GMutex lock; /* guards what follows; held while subscribers are called */
    GstElement *sink; /* NULL: there is none */
    GArray *subscribers;
    guint last_id;
    guint64 frames, bytes, failures;
    gint64 recent[WINDOW]; /* us */

    GMutex key_lock; /* guards the two below */
    gint64 asked;    /* us, when the last key frame was asked for */
    guint later;     /* the source that will ask */
};

static void use(Output *output, gint change)
{
    g_mutex_lock(&output->valve_lock);
    output->users += change;
    if (output->valve)
        g_object_set(output->valve, "drop", output->users == 0, NULL);
    g_mutex_unlock(&output->valve_lock);
}

/* us since the frame's time. */
static gint64 get_delay(GstElement *pipeline, GstBuffer *buffer)
{
    GstClock *clock = gst_element_get_clock(pipeline);
    GstClockTimeDiff delay = 0;

    if (clock && GST_BUFFER_PTS_IS_VALID(buffer))
        delay = GST_CLOCK_DIFF(gst_element_get_base_time(pipeline) + GST_BUFFER_PTS(buffer),
            gst_clock_get_time(clock));
    gst_clear_object(&clock);
    return delay / 1000;
}

/* With the running time as the time stamp: encoders move their segment, which viewers do not see.
 * There are no B-frames, so there is no other order of decoding. Without the metas: one of them
 * holds the frame that was encoded, and payloaders copy them all into each packet. */
static GstSample *restamp(GstSample *sample)
{
    GstBuffer *encoded = gst_sample_get_buffer(sample), *buffer = gst_buffer_new();
    GstSample *copy;

    gst_buffer_copy_into(buffer, encoded, GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS |
        GST_BUFFER_COPY_MEMORY, 0, -1);
    GST_BUFFER_PTS(buffer) = gst_segment_to_running_time(gst_sample_get_segment(sample),
        GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    GST_BUFFER_DTS(buffer) = GST_CLOCK_TIME_NONE;
    copy = gst_sample_new(buffer, gst_sample_get_caps(sample), NULL, NULL);
    gst_buffer_unref(buffer);
    gst_sample_unref(sample);
    return copy;
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    GstSample *sample = gst_app_sink_pull_sample(sink);
    Output *output = data;
    GstBuffer *buffer;
    guint i;

    if (!sample)
        return GST_FLOW_EOS;
    sample = restamp(sample);
    buffer = gst_sample_get_buffer(sample);
    g_mutex_lock(&output->lock);
    if (GST_ELEMENT(sink) == output->sink) {
        output->recent[output->frames++ % WINDOW] = get_delay(output->main, buffer);
        output->bytes += gst_buffer_get_size(buffer);
    }
    for (i = 0; GST_ELEMENT(sink) == output->sink && i < output->subscribers->len; i++) {
        const Subscriber *s = &g_array_index(output->subscribers, Subscriber, i);
        s->func(sample, s->user);
    }
    g_mutex_unlock(&output->lock);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static void unref(gpointer data)
{
    Output *output = data;

    if (!g_atomic_ref_count_dec(&output->refs))
        return;
    g_array_unref(output->subscribers);
    g_mutex_clear(&output->valve_lock);
    g_mutex_clear(&output->lock);
    g_mutex_clear(&output->key_lock);
    g_free(output);
}

Output *output_new(const gchar *name, GstElement *main, GstElement *valve)
{
    Output *output = g_new0(Output, 1);

    g_atomic_ref_count_init(&output->refs);
    output->name = name;
    output->main = main;
    output->valve = valve;
    g_mutex_init(&output->valve_lock);
    g_mutex_init(&output->lock);
    g_mutex_init(&output->key_lock);
    output->subscribers = g_array_new(FALSE, FALSE, sizeof(Subscriber));
    return output;
}

void output_attach(Output *output, GstElement *sink)
{
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};

    if (sink) {
        g_atomic_ref_count_inc(&output->refs);
        gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, output, unref);
    }
    g_mutex_lock(&output->lock);
    gst_object_replace((GstObject **) &output->sink, (GstObject *) sink);
    g_mutex_unlock(&output->lock);
}

void output_add_failure(Output *output)
{
    g_mutex_lock(&output->lock);
    output->failures++;
    g_mutex_unlock(&output->lock);
}

static void ask_for_key(Output *output)
{
    GstElement *sink;

    g_mutex_lock(&output->lock);
    sink = output->sink ? gst_object_ref(output->sink) : NULL;
    g_mutex_unlock(&output->lock);
    if (sink)
        gst_element_send_event(sink,
            gst_video_event_new_upstream_force_key_unit(GST_CLOCK_TIME_NONE, TRUE, 0));
    gst_clear_object(&sink);
}

static gboolean ask_later(gpointer data)
{
    Output *output = data;

    g_mutex_lock(&output->key_lock);
    output->later = 0;
    output->asked = g_get_monotonic_time();
    g_mutex_unlock(&output->key_lock);
    ask_for_key(output);
    return G_SOURCE_REMOVE;
}

/* The main thread asks: subscribers call this in the encoder's own thread. */
void output_request_key(Output *output)
{
    gint64 due;

    g_mutex_lock(&output->key_lock);
    due = output->asked + KEY_US - g_get_monotonic_time();
    if (!output->later)
        output->later = g_timeout_add(CLAMP(due / 1000, 0, KEY_US / 1000), ask_later, output);
    g_mutex_unlock(&output->key_lock);
}

guint output_subscribe(Output *output, OutputFunc func, gpointer user)
{
    Subscriber s = {.func = func, .user = user};

    g_mutex_lock(&output->lock);
    s.id = ++output->last_id;
    g_array_append_val(output->subscribers, s);
    g_mutex_unlock(&output->lock);
    use(output, 1);
    output_request_key(output);
    return s.id;
}

void output_unsubscribe(Output *output, guint id)
{
    guint i;

    g_mutex_lock(&output->lock);
    for (i = 0; i < output->subscribers->len; i++) {
        if (g_array_index(output->subscribers, Subscriber, i).id != id)
            continue;
        g_array_remove_index(output->subscribers, i);
        break;
    }
    g_mutex_unlock(&output->lock);
    use(output, -1);
}

static int compare(const void *a, const void *b)
{
    const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

    return (x > y) - (x < y);
}

void output_get_stats(Output *output, OutputStats *stats)
{
    gint64 sorted[WINDOW];
    guint n;

    g_mutex_lock(&output->lock);
    n = MIN(output->frames, WINDOW);
    memcpy(sorted, output->recent, n * sizeof *sorted);
    *stats = (OutputStats) {.name = output->name, .viewers = output->subscribers->len,
        .frames = output->frames, .bytes = output->bytes, .failures = output->failures};
    g_mutex_unlock(&output->lock);
    if (!n)
        return;
    qsort(sorted, n, sizeof *sorted, compare);
    stats->p50_us = sorted[n / 2];
    stats->p95_us = sorted[n * 95 / 100];
    stats->p99_us = sorted[n * 99 / 100];
}

void output_free(Output *output)
{
    g_clear_handle_id(&output->later, g_source_remove);
    output_attach(output, NULL);
    unref(output);
}

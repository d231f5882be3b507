/* SPDX-License-Identifier: MIT */
#include "window.h"

/* Some X servers start anew, and refuse for a moment, when the last client has gone: that may have
 * been our own attempt. */
#define ATTEMPTS 5
#define PAUSE_US (G_USEC_PER_SEC / 5)

static GstElement *try_to_open(const gchar *factory, const gchar *name)
{
    GstElement *sink = gst_element_factory_make(factory, name);

    if (!sink || gst_element_set_state(sink, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE)
        return sink;
    gst_element_set_state(sink, GST_STATE_NULL);
    gst_object_unref(gst_object_ref_sink(sink));
    return NULL;
}

/* Of the sinks for this display; *display: its name, NULL if there is none. */
static GstElement *try_all(const gchar *name, const gchar **display)
{
    static const struct {
        const gchar *variable, *name;
    } sinks[] = {
        {"WAYLAND_DISPLAY", "waylandsink"},
        {"DISPLAY", "xvimagesink"},
        {"DISPLAY", "ximagesink"},
        {"WAYLAND_DISPLAY", "glimagesink"},
        {"DISPLAY", "glimagesink"},
    };
    GstElement *sink = NULL;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(sinks) && !sink; i++) {
        const gchar *value = g_getenv(sinks[i].variable);

        if (!value || !*value)
            continue;
        *display = value;
        sink = try_to_open(sinks[i].name, name);
    }
    return sink;
}

/* autovideosink tries all sinks that are installed, of which some crash without a display. */
GstElement *window_new_sink(const gchar *name, GError **error)
{
    const gchar *display = NULL;
    GstElement *sink = try_all(name, &display);
    gint i;

    for (i = 1; i < ATTEMPTS && display && !sink; i++) {
        g_usleep(PAUSE_US);
        sink = try_all(name, &display);
    }
    if (sink)
        return sink;
    if (display)
        g_set_error(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
            "no window can be opened on the display '%s'", display);
    else
        g_set_error_literal(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
            "no window can be opened: there is no display (neither DISPLAY nor WAYLAND_DISPLAY "
            "is set)");
    return NULL;
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const GstClockTime pts = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
    Pace *pace = data;
    gint64 due;

    g_mutex_lock(&pace->lock);
    due = g_get_monotonic_time();
    if (GST_CLOCK_TIME_IS_VALID(pts) && GST_CLOCK_TIME_IS_VALID(pace->last) && pts > pace->last)
        due = MAX(due, pace->last_due_us + (gint64) ((pts - pace->last) / 1000));
    while (!pace->stopped && g_cond_wait_until(&pace->stopping, &pace->lock, due))
        ;
    pace->last = pts;
    pace->last_due_us = due;
    g_mutex_unlock(&pace->lock);
    return GST_PAD_PROBE_OK;
}

void pace_start(Pace *pace, GstElement *sink)
{
    GstPad *pad = gst_element_get_static_pad(sink, "sink");

    g_mutex_init(&pace->lock);
    g_cond_init(&pace->stopping);
    pace->stopped = FALSE;
    pace->last = GST_CLOCK_TIME_NONE;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, pace, NULL);
    gst_object_unref(pad);
}

void pace_stop(Pace *pace)
{
    g_mutex_lock(&pace->lock);
    pace->stopped = TRUE;
    g_cond_signal(&pace->stopping);
    g_mutex_unlock(&pace->lock);
}

void pace_clear(Pace *pace)
{
    g_mutex_clear(&pace->lock);
    g_cond_clear(&pace->stopping);
}

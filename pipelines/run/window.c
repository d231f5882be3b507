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

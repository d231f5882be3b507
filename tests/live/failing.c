/* SPDX-License-Identifier: MIT */
/* samtrack-live whose tracking pipeline fails when the test says so: for each byte of the file
 * LIVE_FAILURES once, as an element of it would, and then takes no frame until it was stopped.
 * Where there is a file LIVE_HANG, it never starts again, and the main loop waits for it. */

#include <gst/app/gstappsrc.h>
#include <sys/stat.h>
#include <unistd.h>

GstFlowReturn __wrap_gst_app_src_push_buffer(GstAppSrc *src, GstBuffer *buffer);
GstFlowReturn __real_gst_app_src_push_buffer(GstAppSrc *src, GstBuffer *buffer);
GstStateChangeReturn __wrap_gst_element_set_state(GstElement *element, GstState state);
GstStateChangeReturn __real_gst_element_set_state(GstElement *element, GstState state);

static gint failed; /* atomic */
static gint64 failures;

/* Bytes. */
static gint64 get_size(const gchar *variable)
{
    const gchar *path = g_getenv(variable);
    struct stat file;

    return path && !stat(path, &file) ? file.st_size : 0;
}

GstFlowReturn __wrap_gst_app_src_push_buffer(GstAppSrc *src, GstBuffer *buffer)
{
    if (!g_atomic_int_get(&failed) && failures < get_size("LIVE_FAILURES")) {
        failures++;
        g_atomic_int_set(&failed, TRUE);
        GST_ELEMENT_ERROR(src, STREAM, FAILED, ("The test lets it fail."), (NULL));
    }
    if (!g_atomic_int_get(&failed))
        return __real_gst_app_src_push_buffer(src, buffer);
    gst_buffer_unref(buffer);
    return GST_FLOW_ERROR;
}

GstStateChangeReturn __wrap_gst_element_set_state(GstElement *element, GstState state)
{
    GstElement *track = GST_IS_PIPELINE(element) ?
        gst_bin_get_by_name(GST_BIN(element), "track") : NULL;

    if (track) {
        if (state == GST_STATE_NULL)
            g_atomic_int_set(&failed, FALSE);
        while (state == GST_STATE_PLAYING && get_size("LIVE_HANG"))
            pause();
        gst_object_unref(track);
    }
    return __real_gst_element_set_state(element, state);
}

/* SPDX-License-Identifier: MIT */
#include "mjpeg.h"

#include <string.h>

#define BOUNDARY "samtrack-frame"

/* One response. */
typedef struct {
    Mjpeg *mjpeg;
    Output *output;
    SoupServerMessage *message;
    guint subscription;
    gboolean writing; /* main thread */

    GMutex lock;       /* guards what follows */
    GstSample *newest; /* not sent yet */
    guint wake;        /* the source that sends it */
} Viewer;

struct Mjpeg {
    GPtrArray *viewers;
    guint most;
    guint64 bytes;
};

static void send_newest(Viewer *viewer)
{
    SoupMessageBody *body = soup_server_message_get_response_body(viewer->message);
    GstSample *sample;
    GstMapInfo map;
    gchar *head;

    if (viewer->writing)
        return;
    g_mutex_lock(&viewer->lock);
    sample = g_steal_pointer(&viewer->newest);
    g_mutex_unlock(&viewer->lock);
    if (!sample)
        return;
    if (gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ)) {
        GByteArray *part = g_byte_array_sized_new(map.size + 160);

        /* The running time of the frame, which prompts repeat: rounded up, since a prompt is for
         * the last frame that began at its time or before. */
        head = g_strdup_printf("--" BOUNDARY "\r\nContent-Type: image/jpeg\r\nContent-Length: %"
            G_GSIZE_FORMAT "\r\nX-Time-Us: %" G_GUINT64_FORMAT "\r\n\r\n", map.size,
            (GST_BUFFER_PTS(gst_sample_get_buffer(sample)) + GST_USECOND - 1) / GST_USECOND);
        g_byte_array_append(part, (guint8 *) head, strlen(head));
        g_byte_array_append(part, map.data, map.size);
        g_byte_array_append(part, (guint8 *) "\r\n", 2);
        g_free(head);
        gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
        viewer->mjpeg->bytes += part->len;
        GBytes *bytes = g_byte_array_free_to_bytes(part);
        soup_message_body_append_bytes(body, bytes);
        g_bytes_unref(bytes);
        viewer->writing = TRUE;
        soup_server_message_unpause(viewer->message);
    }
    gst_sample_unref(sample);
}

static gboolean wake(gpointer data)
{
    Viewer *viewer = data;

    g_mutex_lock(&viewer->lock);
    viewer->wake = 0;
    g_mutex_unlock(&viewer->lock);
    send_newest(viewer);
    return G_SOURCE_REMOVE;
}

/* The encoder's thread. */
static void on_frame(GstSample *sample, gpointer data)
{
    Viewer *viewer = data;

    g_mutex_lock(&viewer->lock);
    if (viewer->newest)
        gst_sample_unref(viewer->newest);
    viewer->newest = gst_sample_ref(sample);
    if (!viewer->wake)
        viewer->wake = g_idle_add_full(G_PRIORITY_DEFAULT, wake, viewer, NULL);
    g_mutex_unlock(&viewer->lock);
}

static void on_wrote_chunk(SoupServerMessage *message, gpointer data)
{
    Viewer *viewer = data;

    viewer->writing = FALSE;
    send_newest(viewer);
}

static void on_finished(SoupServerMessage *message, gpointer data)
{
    Viewer *viewer = data;

    g_ptr_array_remove_fast(viewer->mjpeg->viewers, viewer);
}

static void free_viewer(gpointer data)
{
    Viewer *viewer = data;

    output_unsubscribe(viewer->output, viewer->subscription);
    g_clear_handle_id(&viewer->wake, g_source_remove);
    if (viewer->newest)
        gst_sample_unref(viewer->newest);
    g_signal_handlers_disconnect_by_data(viewer->message, viewer);
    g_object_unref(viewer->message);
    g_mutex_clear(&viewer->lock);
    g_free(viewer);
}

Mjpeg *mjpeg_new(guint most)
{
    Mjpeg *mjpeg = g_new0(Mjpeg, 1);

    mjpeg->most = most;
    mjpeg->viewers = g_ptr_array_new_with_free_func(free_viewer);
    return mjpeg;
}

void mjpeg_serve(Mjpeg *mjpeg, Output *output, SoupServerMessage *message)
{
    SoupMessageHeaders *headers = soup_server_message_get_response_headers(message);
    Viewer *viewer;

    if (mjpeg->viewers->len >= mjpeg->most) {
        soup_server_message_set_status(message, SOUP_STATUS_SERVICE_UNAVAILABLE, NULL);
        return;
    }
    viewer = g_new0(Viewer, 1);
    viewer->mjpeg = mjpeg;
    viewer->output = output;
    viewer->message = g_object_ref(message);
    g_mutex_init(&viewer->lock);
    soup_server_message_set_status(message, SOUP_STATUS_OK, NULL);
    soup_message_headers_set_content_type(headers, "multipart/x-mixed-replace; boundary=" BOUNDARY,
        NULL);
    soup_message_headers_set_encoding(headers, SOUP_ENCODING_EOF);
    soup_message_body_set_accumulate(soup_server_message_get_response_body(message), FALSE);
    g_signal_connect(message, "wrote-chunk", G_CALLBACK(on_wrote_chunk), viewer);
    g_signal_connect(message, "finished", G_CALLBACK(on_finished), viewer);
    g_ptr_array_add(mjpeg->viewers, viewer);
    soup_server_message_pause(message);
    viewer->subscription = output_subscribe(output, on_frame, viewer);
}

void mjpeg_end(Mjpeg *mjpeg, Output *output)
{
    guint i;

    for (i = 0; i < mjpeg->viewers->len; i++) {
        Viewer *viewer = g_ptr_array_index(mjpeg->viewers, i);

        if (viewer->output != output || viewer->writing)
            continue;
        soup_message_body_complete(soup_server_message_get_response_body(viewer->message));
        soup_server_message_unpause(viewer->message);
    }
}

guint mjpeg_get_viewers(Mjpeg *mjpeg)
{
    return mjpeg->viewers->len;
}

guint64 mjpeg_get_bytes(Mjpeg *mjpeg)
{
    return mjpeg->bytes;
}

void mjpeg_free(Mjpeg *mjpeg)
{
    g_ptr_array_unref(mjpeg->viewers);
    g_free(mjpeg);
}

// SPDX-License-Identifier: MIT
// A window with video: a click selects an object, a right click says what does not belong to it,
// 'c' forgets all. Prints once a second what is tracked, from the masks themselves.
//
// usage: click [VIDEO [SINK]]        without a video, or with "", a scene that is drawn
//
// cc click.c -o click $(pkg-config --cflags --libs gstreamer-video-1.0)
#include <gst/video/navigation.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <string.h>

struct app {
    GstElement *pipeline, *track;
    guint64 current; // object of the last click, 0: none
    gint64 told_us;  // when something was printed last
};

// One object of the meta: its pixels are those of the label map that have its slot's value.
static void tell(const GstStructure *object, const GstMapInfo *map, int width)
{
    guint64 id = 0, x = 0, y = 0, n = 0;
    guint slot = 0;

    gst_structure_get(object, "id", G_TYPE_UINT64, &id, "slot", G_TYPE_UINT, &slot, NULL);
    for (gsize i = 0; map && i < map->size; i++)
        if (map->data[i] == slot)
            x += i % width, y += i / width, n++;
    printf("object %" G_GUINT64_FORMAT " %s", id, gst_structure_get_string(object, "state"));
    if (n)
        printf(": %" G_GUINT64_FORMAT " px around (%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ")",
               n, x / n, y / n);
    printf("\n");
}

// Every frame that leaves samtrack carries a GstSamTrackMeta.
static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    struct app *app = data;
    GstCustomMeta *meta =
        gst_buffer_get_custom_meta(GST_PAD_PROBE_INFO_BUFFER(info), "GstSamTrackMeta");
    const GstStructure *s = meta ? gst_custom_meta_get_structure(meta) : NULL;
    const GValue *objects = s ? gst_structure_get_value(s, "objects") : NULL;
    GstBuffer *mask = NULL;
    GstMapInfo map;
    int width = 1;

    if (!objects || g_get_monotonic_time() - app->told_us < G_USEC_PER_SEC)
        return GST_PAD_PROBE_OK;
    app->told_us = g_get_monotonic_time();
    gst_structure_get(s, "mask", GST_TYPE_BUFFER, &mask, "mask-width", G_TYPE_INT, &width, NULL);
    gboolean mapped = mask && gst_buffer_map(mask, &map, GST_MAP_READ);
    for (guint i = 0; i < gst_value_array_get_size(objects); i++)
        tell(gst_value_get_structure(gst_value_array_get_value(objects, i)), mapped ? &map : NULL,
             width);
    fflush(stdout);
    if (mapped)
        gst_buffer_unmap(mask, &map);
    gst_clear_buffer(&mask);
    return GST_PAD_PROBE_OK;
}

// What happens in the window comes up the pipeline, with coordinates in px of the frame.
static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    struct app *app = data;
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    const char *key = NULL;
    guint64 id = 0;
    double x, y;
    int button;

    if (GST_EVENT_TYPE(event) != GST_EVENT_NAVIGATION)
        return GST_PAD_PROBE_OK;
    switch (gst_navigation_event_get_type(event)) {
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS:
        gst_navigation_event_parse_mouse_button_event(event, &button, &x, &y);
        if (button == 1) // a new object: id 0; positive; in px, not normalized
            g_signal_emit_by_name(app->track, "add-point", (guint64) 0, x, y, TRUE, FALSE, &id);
        else if (button == 3 && app->current)
            g_signal_emit_by_name(app->track, "add-point", app->current, x, y, FALSE, FALSE, &id);
        if (id)
            app->current = id;
        printf("button %d at (%.0f, %.0f): object %" G_GUINT64_FORMAT "\n", button, x, y, id);
        fflush(stdout);
        break;
    case GST_NAVIGATION_EVENT_KEY_PRESS:
        if (gst_navigation_event_parse_key_event(event, &key) && !g_strcmp0(key, "c"))
            g_signal_emit_by_name(app->track, "clear");
        break;
    default:
        break;
    }
    return GST_PAD_PROBE_OK;
}

static GstElement *build(const char *video, const char *sink, GError **error)
{
    char *uri = *video ? gst_filename_to_uri(video, error) : NULL;
    if (*video && !uri)
        return NULL;
    char *input = uri ? g_strdup_printf("uridecodebin uri=\"%s\"", uri) : g_strdup(
        "samscene is-live=true ! video/x-raw,width=640,height=360,framerate=15/1");
    char *text = g_strdup_printf("%s ! videoconvert ! queue max-size-buffers=2 "
        "! samtrack name=track ! samoverlay ! videoconvert ! %s", input, sink);
    GstElement *pipeline = gst_parse_launch(text, error);

    g_free(text);
    g_free(input);
    g_free(uri);
    return pipeline;
}

int main(int argc, char **argv)
{
    struct app app = { 0 };
    GError *error = NULL;

    gst_init(&argc, &argv);
    app.pipeline = build(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "autovideosink", &error);
    if (error) {
        fprintf(stderr, "click: %s\n", error->message);
        return 1;
    }
    app.track = gst_bin_get_by_name(GST_BIN(app.pipeline), "track");
    GstPad *pad = gst_element_get_static_pad(app.track, "src");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, &app, NULL);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_event, &app, NULL);
    gst_object_unref(pad);

    GstBus *bus = gst_element_get_bus(app.pipeline);
    gst_element_set_state(app.pipeline, GST_STATE_PLAYING);
    GstMessage *message =
        gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        gst_message_parse_error(message, &error, NULL);
        fprintf(stderr, "click: %s\n", error->message); // "Output window was closed", too
    }
    gst_message_unref(message);
    gst_element_set_state(app.pipeline, GST_STATE_NULL);
    gst_object_unref(bus);
    gst_object_unref(app.track);
    gst_object_unref(app.pipeline);
    return error != NULL;
}

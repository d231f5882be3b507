/* SPDX-License-Identifier: MIT */
#include "source.h"

#include "../run/container.h"
#include "fault.h"
#include "manifest.h"
#include "object.h"

#include <string.h>

/* Made anew for each item, of elements that go together: to compare the formats of each two of them
 * takes longer than all else that is done here. */
static GstElement *make_pipeline(GError **error)
{
    static const gchar *const chain[] = {"frames", "turn", "ahead", "track", "sink"};
    /* Phones turn the picture by a tag. */
    GstElement *pipeline = gst_parse_launch_full("uridecodebin name=decoder videoconvert "
        "name=frames videoflip name=turn video-direction=auto queue name=ahead max-size-buffers=8 "
        "max-size-time=0 max-size-bytes=0 samtrack name=track strict=true overload-policy=block "
        "fakesink name=sink sync=false", NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);
    GstElement *from = NULL, *to;
    gsize i;

    for (i = 0; pipeline && i < G_N_ELEMENTS(chain); i++) {
        to = gst_bin_get_by_name(GST_BIN(pipeline), chain[i]);
        if (from)
            gst_element_link_pads_full(from, "src", to, "sink", GST_PAD_LINK_CHECK_NOTHING);
        gst_clear_object(&from);
        from = to;
    }
    gst_clear_object(&from);
    return pipeline;
}

gboolean source_open(Source *source, const gchar *uri, GError **error)
{
    GError *why = NULL;

    memset(source, 0, sizeof *source);
    source->uri = g_strdup(uri);
    source->url = object_is(uri) ? object_get_url(uri, error) : g_strdup(uri);
    if (!source->url) {
        source_close(source);
        return FALSE;
    }
    source->pipeline = make_pipeline(&why);
    if (!source->pipeline) {
        fault_set(error, FAULT_SETTINGS, "the pipeline cannot be made: %s", why->message);
        g_error_free(why);
        source_close(source);
        return FALSE;
    }
    gst_object_ref_sink(source->pipeline);
    source->decoder = gst_bin_get_by_name(GST_BIN(source->pipeline), "decoder");
    g_object_set(source->decoder, "uri", source->url, NULL);
    streams_init(&source->streams, source->pipeline, source->decoder);
    return TRUE;
}

void source_close(Source *source)
{
    if (source->pipeline) {
        gst_element_set_state(source->pipeline, GST_STATE_NULL);
        streams_clear(&source->streams);
    }
    gst_clear_object(&source->decoder);
    gst_clear_object(&source->pipeline);
    g_clear_pointer(&source->url, g_free);
    g_clear_pointer(&source->uri, g_free);
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

    g_free(path);
    if (!gst_pad_peer_query_duration(pad, GST_FORMAT_TIME, &all) || all < 0)
        all = 0;
    if (absent)
        return fault_set(error, FAULT_PERMANENT, "the video is truncated: at least %"
            G_GUINT64_FORMAT " bytes are missing at its end", absent);
    if (!streams_are_whole(&source->streams, all, &longest))
        return fault_set(error, FAULT_PERMANENT, "the video ends after %.1f of %.1f s: the file is "
            "truncated", longest / 1e9, all / 1e9);
    return TRUE;
}

/* SPDX-License-Identifier: MIT */
#include "reason.h"

#include "secrets.h"
#include "trust.h"

#include <gst/pbutils/pbutils.h>
#include <string.h>

#define STREAM "samtrack-stream"
#define SEGMENTS "samtrack-segments"
#define MOST_DETAIL 300 /* bytes of an element's own words */

typedef struct {
    const gchar *what; /* scheme of an address, or name of caps */
    const gchar *element, *plugin, *package;
} Need;

static const Need schemes[] = {
    {"rtsp", "rtspsrc", "rtsp", "good"}, {"rtsps", "rtspsrc", "rtsp", "good"},
    {"http", "souphttpsrc", "soup", "good"}, {"https", "souphttpsrc", "soup", "good"},
    {"srt", "srtsrc", "srt", "bad"}, {"udp", "udpsrc", "udp", "good"},
    {"rtmp", "rtmp2src", "rtmp2", "bad"}, {"rtmps", "rtmp2src", "rtmp2", "bad"},
};

static const Need formats[] = {
    {"application/x-hls", "hlsdemux", "hls", "bad"},
    {"application/dash+xml", "dashdemux", "dash", "bad"},
    {"application/vnd.ms-sstr+xml", "mssdemux", "smoothstreaming", "bad"},
    {"multipart/x-mixed-replace", "multipartdemux", "multipart", "good"},
    {"image/jpeg", "jpegdec", "jpeg", "good"},
    {"video/mpegts", "tsdemux", "mpegtsdemux", "bad"},
    {"video/quicktime", "qtdemux", "isomp4", "good"},
    {"video/x-flv", "flvdemux", "flv", "good"},
    {"video/x-matroska", "matroskademux", "matroska", "good"},
    {"application/x-rtp", "rtpjitterbuffer", "rtpmanager", "good"},
};

static gchar *describe(const Need *need)
{
    return g_strdup_printf("the element %s: install its plugin %s "
        "(Debian: gstreamer1.0-plugins-%s)",
        need->element, need->plugin, need->package);
}

gchar *reason_of_scheme(const gchar *uri, gboolean *known)
{
    gchar *scheme = gst_uri_get_protocol(uri);
    gchar *need = NULL;
    gsize i;

    *known = FALSE;
    for (i = 0; scheme && i < G_N_ELEMENTS(schemes); i++) {
        if (g_ascii_strcasecmp(scheme, schemes[i].what))
            continue;
        *known = TRUE;
        if (!gst_uri_protocol_is_supported(GST_URI_SRC, scheme))
            need = describe(&schemes[i]);
    }
    g_free(scheme);
    return need;
}

void findings_clear(Findings *findings)
{
    g_free(findings->certificate);
    g_free(findings->missing);
    memset(findings, 0, sizeof *findings);
}

/* Decoders beside those of the table are in libav's plugin. */
static gchar *describe_missing(GstMessage *message)
{
    const GstStructure *s = gst_message_get_structure(message);
    gchar *what = gst_missing_plugin_message_get_description(message), *need = NULL, *text;
    const gchar *name = NULL;
    GstCaps *caps = NULL;
    gsize i;

    if (gst_structure_get(s, "detail", GST_TYPE_CAPS, &caps, NULL) && !gst_caps_is_empty(caps))
        name = gst_structure_get_name(gst_caps_get_structure(caps, 0));
    for (i = 0; name && !need && i < G_N_ELEMENTS(formats); i++)
        if (!strcmp(name, formats[i].what))
            need = describe(&formats[i]);
    if (need)
        text = g_strdup_printf("GStreamer has no %s, %s", what, need);
    else if (name && g_str_has_prefix(name, "video/"))
        text = g_strdup_printf("GStreamer has no %s: install its plugin libav "
            "(Debian: gstreamer1.0-libav)", what);
    else
        text = g_strdup_printf("GStreamer has no %s", what);
    gst_clear_caps(&caps);
    g_free(need);
    g_free(what);
    return text;
}

static void keep(gchar **place, gchar *text)
{
    g_free(*place);
    *place = text;
}

void findings_take(Findings *findings, GstMessage *message)
{
    const GstStructure *s = gst_message_get_structure(message);

    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ELEMENT || !s)
        return;
    if (gst_structure_has_name(s, TRUST_REFUSED))
        keep(&findings->certificate, g_strdup(gst_structure_get_string(s, "why")));
    else if (gst_is_missing_plugin_message(message))
        keep(&findings->missing, describe_missing(message));
    else if (gst_structure_has_name(s, STREAM))
        findings->audio = TRUE;
    else if (gst_structure_has_name(s, SEGMENTS))
        findings->segments = TRUE;
}

void reason_post_stream(GstElement *element, const GstCaps *caps)
{
    const GstStructure *s;

    if (gst_caps_is_empty(caps) || gst_caps_is_any(caps)) /* its decoder does not know yet */
        return;
    s = gst_caps_get_structure(caps, 0);
    if (g_str_has_prefix(gst_structure_get_name(s), "audio/") ||
        !g_strcmp0(gst_structure_get_string(s, "media"), "audio"))
        gst_element_post_message(element, gst_message_new_element(GST_OBJECT(element),
            gst_structure_new_empty(STREAM)));
}

void reason_post_segments(GstElement *element)
{
    gst_element_post_message(element, gst_message_new_element(GST_OBJECT(element),
        gst_structure_new_empty(SEGMENTS)));
}

/* What the element says beside its message, in debug texts of several lines the last ones. */
static gchar *append_detail(const gchar *message, const gchar *debug)
{
    const gchar *detail = debug ? strchr(debug, '\n') : NULL;
    const gsize length = strlen(message);
    gchar *text, *valid;

    if (!detail || !detail[1])
        return g_strdup(message);
    text = g_strdup_printf("%.*s: %.*s", (int) (message[length ? length - 1 : 0] == '.' ?
        length - 1 : length), message, MOST_DETAIL, detail + 1);
    g_strchomp(g_strdelimit(text, "\r\n", ' '));
    valid = g_utf8_make_valid(text, -1);
    g_free(text);
    return valid;
}

gchar *reason_of_message(GstMessage *message)
{
    GError *error = NULL;
    gchar *debug = NULL, *text, *why;

    gst_message_parse_error(message, &error, &debug);
    text = append_detail(error->message, debug);
    why = secrets_hide(text);
    g_free(text);
    g_free(debug);
    g_error_free(error);
    return why;
}

static gboolean is_of_streams(const GError *error)
{
    return g_error_matches(error, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN) ||
        g_error_matches(error, GST_STREAM_ERROR, GST_STREAM_ERROR_CODEC_NOT_FOUND);
}

gboolean findings_have_no_stream(const Findings *findings, GstMessage *message)
{
    GError *error = NULL;
    gboolean none;

    gst_message_parse_error(message, &error, NULL);
    none = is_of_streams(error) && !findings->missing && !findings->audio;
    g_error_free(error);
    return none;
}

gchar *reason_of_error(const Findings *findings, GstMessage *message, const gchar *transport)
{
    GError *error = NULL;
    gboolean streams;

    gst_message_parse_error(message, &error, NULL);
    streams = is_of_streams(error);
    g_error_free(error);
    if (findings->certificate)
        return g_strdup(findings->certificate);
    if (!streams)
        return reason_of_message(message);
    if (findings->missing)
        return g_strdup(findings->missing);
    if (findings->audio)
        return g_strdup("the source has no video, only audio");
    return transport ? g_strdup_printf("the camera gives no stream by %s", transport) :
        g_strdup("the source has no video");
}

/* SPDX-License-Identifier: MIT */
#include "intake.h"

#include "journal.h"
#include "reason.h"
#include "trust.h"

#include <string.h>

#define FLIP(direction) "videoflip video-direction=" direction " ! "

/* Data of the pipeline. */
#define TLS "samtrack-trust" /* the database of certificates */
#define RTSP "samtrack-rtsp"

typedef struct {
    const gchar *transport;
    guint64 timeout; /* us */
} Rtsp;

static gboolean has(GstElement *element, const gchar *property)
{
    return g_object_class_find_property(G_OBJECT_GET_CLASS(element), property) != NULL;
}

static void set_up_rtsp(GstElement *element, const CameraSettings *settings, const Rtsp *rtsp)
{
    gst_util_set_object_arg(G_OBJECT(element), "protocols",
        strcmp(rtsp->transport, "udp") ? "tcp" : "udp+udp-mcast");
    /* A camera may send less than a packet in the five seconds that it would be given by UDP. */
    g_object_set(element, "latency", settings->latency, "timeout", G_GUINT64_CONSTANT(0),
        "tcp-timeout", rtsp->timeout, "teardown-timeout", G_GUINT64_CONSTANT(100000000), NULL);
}

/* libsoup 3 ignores the user and the password of an address. */
static void set_user(GstElement *element, const gchar *location)
{
    GUri *uri = g_uri_parse(location, G_URI_FLAGS_HAS_PASSWORD | G_URI_FLAGS_PARSE_RELAXED, NULL);

    if (uri && g_uri_get_user(uri))
        g_object_set(element, "user-id", g_uri_get_user(uri), "user-pw",
            g_uri_get_password(uri) ? g_uri_get_password(uri) : "", NULL);
    g_clear_pointer(&uri, g_uri_unref);
}

/* uridecodebin has made its source. */
static void on_source_setup(GstElement *decoder, GstElement *element, gpointer data)
{
    const CameraSettings *settings = data;
    GstObject *pipeline = gst_object_get_parent(GST_OBJECT(decoder));

    if (has(element, "tcp-timeout"))
        set_up_rtsp(element, settings, g_object_get_data(G_OBJECT(pipeline), RTSP));
    if (has(element, "user-pw") && settings->kind == SOURCE_HTTP)
        set_user(element, settings->location);
    if (has(element, "tls-database"))
        g_object_set(element, "tls-database", g_object_get_data(G_OBJECT(pipeline), TLS), NULL);
    gst_object_unref(pipeline);
}

/* A streaming thread. Which streams there are. It is also asked what a decoder gives: those that
 * are bins, as for VP8 and VP9 with alpha, say "anything", which would be taken for no video. */
static gboolean on_stream(GstElement *decoder, GstPad *pad, GstCaps *caps, gpointer data)
{
    reason_post_stream(decoder, caps);
    return !gst_caps_is_any(caps);
}

/* A streaming thread. Which decoder was taken: the hardware's, or the next where that fails. */
static void on_element(GstBin *bin, GstBin *parent, GstElement *element, gpointer data)
{
    GstElementFactory *factory = gst_element_get_factory(element);
    const gchar *class;

    if (!factory)
        return;
    class = gst_element_factory_get_metadata(factory, GST_ELEMENT_METADATA_KLASS);
    if (class && strstr(class, "Adaptive"))
        reason_post_segments(GST_ELEMENT(bin));
    /* Cameras send pictures alone: else decodebin waits for other streams until 2 MB came. */
    if (!strcmp(GST_OBJECT_NAME(factory), "multipartdemux"))
        g_object_set(element, "single-stream", TRUE, NULL);
    if (!GST_IS_BIN(element) && gst_element_factory_list_is_type(factory,
        GST_ELEMENT_FACTORY_TYPE_DECODER | GST_ELEMENT_FACTORY_TYPE_MEDIA_VIDEO |
        GST_ELEMENT_FACTORY_TYPE_MEDIA_IMAGE))
        log_info("decoder", "camera", G_TYPE_STRING, ((const CameraSettings *) data)->name,
            "decoder", G_TYPE_STRING, GST_OBJECT_NAME(factory), NULL);
}

/* The picture has the aspect that the settings tell, whatever the source tells of its pixels. */
static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const CameraSettings *settings = data;
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info), *other;
    gint width, height;
    GstCaps *caps;

    if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
        return GST_PAD_PROBE_OK;
    gst_event_parse_caps(event, &caps);
    if (!gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width) ||
        !gst_structure_get_int(gst_caps_get_structure(caps, 0), "height", &height))
        return GST_PAD_PROBE_OK;
    caps = gst_caps_copy(caps);
    gst_caps_set_simple(caps, "pixel-aspect-ratio", GST_TYPE_FRACTION,
        settings->aspect_w * height, settings->aspect_h * width, NULL);
    other = gst_event_new_caps(caps);
    gst_event_set_seqnum(other, gst_event_get_seqnum(event));
    gst_event_unref(event);
    gst_caps_unref(caps);
    GST_PAD_PROBE_INFO_DATA(info) = other;
    return GST_PAD_PROBE_OK;
}

static const gchar *get_head(SourceKind kind)
{
    switch (kind) {
    case SOURCE_DEMO:
        return "samscene is-live=true ! "
            "video/x-raw,width=640,height=360,framerate=25/1 ! convert. ";
    case SOURCE_TEST:
        return "videotestsrc is-live=true pattern=ball ! "
            "video/x-raw,width=640,height=360,framerate=25/1 ! convert. ";
    case SOURCE_V4L2:
        return "v4l2src name=device ! decodebin ! convert. ";
    default:
        return "uridecodebin name=uri caps=video/x-raw(ANY) expose-all-streams=false ! convert. ";
    }
}

/* Of one frame with two fields one is taken: the tracker sees as many frames as the source has. */
static GstElement *parse(const CameraSettings *settings, GError **error)
{
    static const gchar *const turns[] = {"auto", "identity", "90r", "180", "90l"};
    static const gchar *const flips[] = {[FLIP_NONE] = "", [FLIP_CLOCKWISE] = FLIP("90r"),
        [FLIP_180] = FLIP("180"), [FLIP_COUNTERCLOCKWISE] = FLIP("90l"),
        [FLIP_HORIZONTAL] = FLIP("horiz"), [FLIP_VERTICAL] = FLIP("vert"),
        [FLIP_UPPER_LEFT_DIAGONAL] = FLIP("ul-lr"), [FLIP_UPPER_RIGHT_DIAGONAL] = FLIP("ur-ll")};
    const gboolean paced = settings->kind == SOURCE_FILE || settings->kind == SOURCE_HTTP;
    gchar *rate = settings->framerate ? g_strdup_printf("videorate drop-only=true max-rate=%d ! ",
        settings->framerate) : g_strdup("");
    gchar *text = g_strdup_printf("%s videoconvert name=convert ! deinterlace fields=top ! "
        "videoflip video-direction=%s ! %s%svideoscale ! capsfilter name=size ! "
        "appsink name=frames max-buffers=2 enable-last-sample=false sync=%s",
        get_head(settings->kind), turns[settings->rotate], flips[settings->flip], rate,
        paced ? "true" : "false");
    GstElement *pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);

    g_free(text);
    g_free(rate);
    return pipeline;
}

static gboolean set_trust(GstElement *pipeline, const CameraSettings *settings, GError **error)
{
    GstBus *bus = gst_element_get_bus(pipeline);
    GTlsDatabase *trust = trust_new(settings, bus, error);

    gst_object_unref(bus);
    if (trust)
        g_object_set_data_full(G_OBJECT(pipeline), TLS, trust, g_object_unref);
    return trust != NULL;
}

static void set_aspect(GstElement *pipeline, const CameraSettings *settings)
{
    GstElement *convert = gst_bin_get_by_name(GST_BIN(pipeline), "convert");
    GstPad *pad = gst_element_get_static_pad(convert, "sink");

    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, (gpointer) settings,
        NULL);
    gst_object_unref(pad);
    gst_object_unref(convert);
}

GstElement *intake_new(const CameraSettings *settings, const gchar *transport, guint64 timeout,
    GError **error)
{
    GstElement *pipeline = parse(settings, error), *element;
    Rtsp *rtsp;

    if (!pipeline)
        return NULL;
    if (!set_trust(pipeline, settings, error)) {
        gst_object_unref(pipeline);
        return NULL;
    }
    rtsp = g_new(Rtsp, 1);
    *rtsp = (Rtsp) {.transport = transport, .timeout = timeout};
    g_object_set_data_full(G_OBJECT(pipeline), RTSP, rtsp, g_free);
    if (settings->aspect_w)
        set_aspect(pipeline, settings);
    g_signal_connect(pipeline, "deep-element-added", G_CALLBACK(on_element), (gpointer) settings);
    if ((element = gst_bin_get_by_name(GST_BIN(pipeline), "uri"))) {
        g_object_set(element, "uri", settings->location, NULL);
        g_signal_connect(element, "source-setup", G_CALLBACK(on_source_setup), (gpointer) settings);
        g_signal_connect(element, "autoplug-continue", G_CALLBACK(on_stream), NULL);
        gst_object_unref(element);
    }
    if ((element = gst_bin_get_by_name(GST_BIN(pipeline), "device"))) {
        g_object_set(element, "device", settings->location, NULL);
        gst_object_unref(element);
    }
    return pipeline;
}

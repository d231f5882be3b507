/* SPDX-License-Identifier: MIT */
/* What encoders may fail of: the pipeline of the camera goes on, and the viewers get frames from
 * the next encoder. The hardware's is played by an element of this test, which breaks. */

#include "coder.h"
#include "check.h"

#include <gst/app/gstappsink.h>
#include <gst/video/video.h>

#define BREAKS_AFTER 5 /* frames */

typedef enum { ERRS, REFUSES_CAPS, REFUSES_FRAMES, HANGS } Fault;

static Fault fault;

/* Gives its frames on as they are, as H.264 that nobody parses, until it breaks. */
typedef struct {
    GstElement parent;
    GstPad *src;
    guint n;
} Broken;

typedef GstElementClass BrokenClass;
GType broken_get_type(void);
G_DEFINE_TYPE(Broken, broken, GST_TYPE_ELEMENT)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-raw"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC,
    GST_PAD_ALWAYS, GST_STATIC_CAPS("video/x-h264,profile=constrained-baseline"));

static GstFlowReturn chain(GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
    Broken *broken = (Broken *) parent;

    gst_buffer_unref(buffer);
    if (broken->n++ < BREAKS_AFTER || fault == HANGS)
        return GST_FLOW_OK;
    if (fault == ERRS)
        GST_ELEMENT_ERROR(parent, STREAM, ENCODE, ("The encoder was taken away."), (NULL));
    return fault == ERRS ? GST_FLOW_ERROR : GST_FLOW_NOT_SUPPORTED;
}

static gboolean on_event(GstPad *pad, GstObject *parent, GstEvent *event)
{
    const gboolean ok = GST_EVENT_TYPE(event) != GST_EVENT_CAPS || fault != REFUSES_CAPS;

    gst_event_unref(event);
    return ok;
}

static void broken_init(Broken *broken)
{
    GstPad *sink = gst_pad_new_from_static_template(&sink_template, "sink");

    gst_pad_set_chain_function(sink, chain);
    gst_pad_set_event_function(sink, on_event);
    broken->src = gst_pad_new_from_static_template(&src_template, "src");
    gst_element_add_pad(GST_ELEMENT(broken), sink);
    gst_element_add_pad(GST_ELEMENT(broken), broken->src);
}

static void ignore(GObject *object, guint id, const GValue *value, GParamSpec *spec) {}

static void broken_class_init(BrokenClass *class)
{
    static const gchar *const names[] = {"preset", "zerolatency", "rc-mode", "gop-size"};
    guint i;

    gst_element_class_set_static_metadata(class, "Broken", "Codec/Encoder/Video", "Breaks",
        "samtrack");
    gst_element_class_add_static_pad_template(class, &sink_template);
    gst_element_class_add_static_pad_template(class, &src_template);
    G_OBJECT_CLASS(class)->set_property = ignore;
    for (i = 0; i < G_N_ELEMENTS(names); i++)
        g_object_class_install_property(G_OBJECT_CLASS(class), i + 1,
            g_param_spec_string(names[i], NULL, NULL, NULL,
                G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
    g_object_class_install_property(G_OBJECT_CLASS(class), i + 1, g_param_spec_uint("bitrate",
        NULL, NULL, 0, G_MAXUINT, 0, G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
}

typedef struct {
    guint frames, keys; /* atomic */
} Viewer;

static void on_frame(GstSample *sample, gpointer data)
{
    Viewer *viewer = data;
    GstBuffer *buffer = gst_sample_get_buffer(sample);

    CHECK(gst_buffer_get_size(buffer) > 0);
    g_atomic_int_inc(&viewer->frames);
    if (!GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT))
        g_atomic_int_inc(&viewer->keys);
}

/* Runs the main loop until there are so many frames; FALSE after as many seconds. */
static gboolean wait_for_frames(Viewer *viewer, guint n, guint seconds)
{
    const gint64 end = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;

    while ((guint) g_atomic_int_get(&viewer->frames) < n && g_get_monotonic_time() < end) {
        g_main_context_iteration(NULL, FALSE);
        g_usleep(1000);
    }
    return (guint) g_atomic_int_get(&viewer->frames) >= n;
}

/* The camera's pipeline must post nothing, and its frames must go on. */
static void check_main(GstElement *pipeline, guint *passed)
{
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
    const guint before = g_atomic_int_get(passed);

    CHECK(!message);
    while ((guint) g_atomic_int_get(passed) < before + 5)
        g_usleep(10000);
    gst_object_unref(bus);
}

static GstPadProbeReturn count(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    g_atomic_int_inc((guint *) data);
    return GST_PAD_PROBE_OK;
}

static void test(Fault how)
{
    GstElement *pipeline = gst_parse_launch("videotestsrc is-live=true "
        "! video/x-raw,width=64,height=48,framerate=50/1,format=I420 ! tee name=t "
        "t. ! fakesink name=rest async=false t. ! valve name=valve drop=true "
        "! appsink name=tap sync=false async=false", NULL);
    GstElement *valve = gst_bin_get_by_name(GST_BIN(pipeline), "valve");
    GstElement *tap = gst_bin_get_by_name(GST_BIN(pipeline), "tap");
    GstElement *rest = gst_bin_get_by_name(GST_BIN(pipeline), "rest");
    GstPad *pad = gst_element_get_static_pad(rest, "sink");
    Output *output = output_new("clean", pipeline, valve);
    const CoderSettings settings = {.camera = "door", .name = "clean", .encoder = "nvh264enc",
        .tap = tap};
    Coder *coder = coder_new(&settings, output, NULL);
    Viewer viewer = {0};
    OutputStats stats;
    guint passed = 0, id;

    CHECK(coder);
    fault = how;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, count, &passed, NULL);
    coder_set_bitrate(coder, 300);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    id = output_subscribe(output, on_frame, &viewer);
    CHECK(wait_for_frames(&viewer, 20, 30));
    CHECK(viewer.keys >= 1);
    output_get_stats(output, &stats);
    CHECK(stats.failures == 1);
    check_main(pipeline, &passed);
    output_unsubscribe(output, id);
    coder_free(coder);
    check_main(pipeline, &passed);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    output_free(output);
    gst_object_unref(pad);
    gst_object_unref(rest);
    gst_object_unref(tap);
    gst_object_unref(valve);
    gst_object_unref(pipeline);
}

int main(int argc, char **argv)
{
    GstPluginFeature *own;

    gst_init(&argc, &argv);
    if (!gst_registry_check_feature_version(gst_registry_get(), "x264enc", 1, 0, 0)) {
        g_print("skipped: no x264enc\n");
        return 77;
    }
    own = gst_registry_find_feature(gst_registry_get(), "nvh264enc", GST_TYPE_ELEMENT_FACTORY);
    if (own)
        gst_registry_remove_feature(gst_registry_get(), own);
    g_clear_pointer(&own, gst_object_unref);
    CHECK(gst_element_register(NULL, "nvh264enc", GST_RANK_NONE, broken_get_type()));
    test(ERRS);
    test(REFUSES_CAPS);
    test(REFUSES_FRAMES);
    test(HANGS);
    return 0;
}

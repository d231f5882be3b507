/* SPDX-License-Identifier: MIT */
#include "encoder.h"

#include "journal.h"

typedef struct {
    const gchar *factory, *settings;
} Encoder;

static const Encoder encoders[] = {
    {"nvh264enc", "preset=low-latency-hq zerolatency=true rc-mode=cbr gop-size=100"},
    {"vah264enc", "rate-control=cbr b-frames=0 key-int-max=100"},
    /* One thread and one slice: two cores have the model to run. */
    {"x264enc", "tune=zerolatency speed-preset=superfast sliced-threads=false threads=1 bframes=0 "
        "key-int-max=100"},
};

#define TRIAL_S 5 /* how long it may need for three frames */

static void tell_refusal(const gchar *factory, const gchar *why)
{
    log_warning("encoder-refused", "encoder", G_TYPE_STRING, factory, "why", G_TYPE_STRING, why,
        NULL);
}

/* Three frames. */
static GstElement *new_trial(const gchar *factory, GError **error)
{
    gchar *encoder = encoder_describe(factory, "encoder");
    gchar *text = g_strdup_printf("videotestsrc num-buffers=3 "
        "! video/x-raw,width=320,height=240,framerate=25/1 ! %s ! fakesink sync=false", encoder);
    GstElement *pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, error);

    g_free(text);
    g_free(encoder);
    return pipeline;
}

/* Waits for the end of the trial. */
static gboolean ends_well(GstElement *pipeline, const gchar *factory)
{
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message = gst_bus_timed_pop_filtered(bus, TRIAL_S * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    const gboolean ok = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
    GError *error = NULL;

    if (message && !ok)
        gst_message_parse_error(message, &error, NULL);
    if (!ok)
        tell_refusal(factory, error ? error->message : "it encodes nothing");
    g_clear_error(&error);
    g_clear_pointer(&message, gst_message_unref);
    gst_object_unref(bus);
    return ok;
}

/* Some open their device and then refuse every frame, as on a GPU without an encoder. */
static gboolean works(const gchar *factory)
{
    GstElementFactory *found = gst_element_factory_find(factory);
    GError *error = NULL;
    GstElement *pipeline;
    gboolean ok;

    if (!found)
        return FALSE;
    gst_object_unref(found);
    pipeline = new_trial(factory, &error);
    if (!pipeline) {
        tell_refusal(factory, error->message);
        g_error_free(error);
        return FALSE;
    }
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    ok = ends_well(pipeline, factory);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    return ok;
}

const gchar *encoder_find(void)
{
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(encoders); i++)
        if (works(encoders[i].factory))
            return encoders[i].factory;
    return NULL;
}

static gsize find(const gchar *factory)
{
    gsize i;

    for (i = 0; !g_str_equal(encoders[i].factory, factory); i++)
        ;
    return i;
}

const gchar *encoder_next(const gchar *factory)
{
    const gsize n = G_N_ELEMENTS(encoders), begin = find(factory);
    gsize i;

    for (i = begin + 1; i < begin + n; i++) {
        GstElementFactory *found = gst_element_factory_find(encoders[i % n].factory);
        if (found) {
            gst_object_unref(found);
            break;
        }
    }
    return encoders[i % n].factory;
}

gchar *encoder_describe(const gchar *factory, const gchar *name)
{
    return g_strdup_printf("videoconvert ! %s name=%s %s "
        "! video/x-h264,profile=constrained-baseline ! h264parse config-interval=-1 "
        "! video/x-h264,stream-format=byte-stream,alignment=au",
        factory, name, encoders[find(factory)].settings);
}

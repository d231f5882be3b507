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

/* Why it was refused: what the encoder says itself, if it says something. */
static void tell_refusal(const gchar *factory, GstBus *bus)
{
    GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    GError *error = NULL;

    if (message)
        gst_message_parse_error(message, &error, NULL);
    log_warning("encoder-refused", "encoder", G_TYPE_STRING, factory, "why", G_TYPE_STRING,
        error ? error->message : "its device does not open", NULL);
    g_clear_error(&error);
    g_clear_pointer(&message, gst_message_unref);
}

static gboolean works(const gchar *factory)
{
    GstElement *encoder = gst_element_factory_make(factory, NULL);
    GstBus *bus;
    gboolean ok;

    if (!encoder)
        return FALSE;
    bus = gst_bus_new();
    gst_element_set_bus(encoder, bus);
    ok = gst_element_set_state(encoder, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
    if (!ok)
        tell_refusal(factory, bus);
    gst_element_set_state(encoder, GST_STATE_NULL);
    gst_element_set_bus(encoder, NULL);
    gst_object_unref(bus);
    gst_object_unref(encoder);
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

gchar *encoder_describe(const gchar *factory, const gchar *name)
{
    gsize i;

    for (i = 0; !g_str_equal(encoders[i].factory, factory); i++)
        ;
    return g_strdup_printf("videoconvert ! %s name=%s %s "
        "! video/x-h264,profile=constrained-baseline ! h264parse config-interval=-1 "
        "! video/x-h264,stream-format=byte-stream,alignment=au",
        factory, name, encoders[i].settings);
}

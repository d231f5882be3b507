#include "encoder.h"

typedef struct {
    const gchar *factory, *settings, *gop;
} Encoder;

static const Encoder encoders[] = {
    {"nvh264enc", "preset=low-latency-hq zerolatency=true rc-mode=cbr", "gop-size"},
    {"vah264enc", "rate-control=cbr b-frames=0", "key-int-max"},
    /* One thread and one slice: two cores have the model to run. */
    {"x264enc", "tune=zerolatency speed-preset=superfast sliced-threads=false threads=1 bframes=0",
        "key-int-max"},
};

static gboolean works(const gchar *factory)
{
    GstElement *encoder = gst_element_factory_make(factory, NULL);
    gboolean ok;

    if (!encoder)
        return FALSE;
    ok = gst_element_set_state(encoder, GST_STATE_READY) != GST_STATE_CHANGE_FAILURE;
    gst_element_set_state(encoder, GST_STATE_NULL);
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
    return g_strdup_printf("videoconvert ! %s name=%s %s ! video/x-h264,profile=constrained-baseline "
        "! h264parse config-interval=-1 ! video/x-h264,stream-format=byte-stream,alignment=au",
        factory, name, encoders[i].settings);
}

void encoder_set_rate(GstElement *encoder, guint kbits, guint gop)
{
    const gchar *factory = GST_OBJECT_NAME(gst_element_get_factory(encoder));
    gchar *frames = g_strdup_printf("%u", gop);
    gsize i;

    g_object_set(encoder, "bitrate", kbits, NULL);
    for (i = 0; i < G_N_ELEMENTS(encoders); i++)
        if (g_str_equal(encoders[i].factory, factory))
            gst_util_set_object_arg(G_OBJECT(encoder), encoders[i].gop, frames);
    g_free(frames);
}

#include "encoder.h"

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
    return g_strdup_printf("videoconvert ! %s name=%s %s "
        "! video/x-h264,profile=constrained-baseline ! h264parse config-interval=-1 "
        "! video/x-h264,stream-format=byte-stream,alignment=au",
        factory, name, encoders[i].settings);
}

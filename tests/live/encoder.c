/* SPDX-License-Identifier: MIT */
/* Which H.264 encoder is taken: one of the hardware where it works, else the CPU's. The hardware's
 * are played by elements of this test. */

#include "encoder.h"
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One that works: the CPU's, with the properties of those of the hardware. */
typedef GstBin Player;
typedef GstBinClass PlayerClass;
GType player_get_type(void);
G_DEFINE_TYPE(Player, player, GST_TYPE_BIN)

static void add_pad(Player *player, GstElement *encoder, const gchar *name)
{
    GstPad *pad = gst_element_get_static_pad(encoder, name);

    gst_element_add_pad(GST_ELEMENT(player), gst_ghost_pad_new(name, pad));
    gst_object_unref(pad);
}

static void player_init(Player *player)
{
    GstElement *encoder = gst_element_factory_make("x264enc", NULL);

    gst_bin_add(player, encoder);
    add_pad(player, encoder, "sink");
    add_pad(player, encoder, "src");
}

static void ignore(GObject *object, guint id, const GValue *value, GParamSpec *spec) {}

static void player_class_init(PlayerClass *class)
{
    static const gchar *const names[] = {"preset", "zerolatency", "rc-mode", "gop-size",
        "rate-control", "b-frames", "key-int-max"};
    guint i;

    gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "Player", "Codec",
        "Plays an encoder", "samtrack");
    G_OBJECT_CLASS(class)->set_property = ignore;
    for (i = 0; i < G_N_ELEMENTS(names); i++)
        g_object_class_install_property(G_OBJECT_CLASS(class), i + 1,
            g_param_spec_string(names[i], NULL, NULL, NULL,
                G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
}

/* One whose device cannot be opened. */
typedef Player Broken;
typedef PlayerClass BrokenClass;
static void broken_init(Broken *broken) {}
GType broken_get_type(void);
G_DEFINE_TYPE(Broken, broken, player_get_type())

static GstStateChangeReturn refuse(GstElement *element, GstStateChange transition)
{
    if (transition == GST_STATE_CHANGE_NULL_TO_READY)
        GST_ELEMENT_ERROR(element, RESOURCE, OPEN_READ, ("There is no such device."), (NULL));
    return transition == GST_STATE_CHANGE_NULL_TO_READY ? GST_STATE_CHANGE_FAILURE :
        GST_ELEMENT_CLASS(broken_parent_class)->change_state(element, transition);
}

static void broken_class_init(BrokenClass *class)
{
    GST_ELEMENT_CLASS(class)->change_state = refuse;
}

/* One whose device opens and takes no frame. */
typedef Player Choosy;
typedef PlayerClass ChoosyClass;
GType choosy_get_type(void);
G_DEFINE_TYPE(Choosy, choosy, player_get_type())

static gboolean refuse_caps(GstPad *pad, GstObject *parent, GstEvent *event)
{
    gst_event_unref(event);
    GST_ELEMENT_ERROR(parent, STREAM, ENCODE, ("No encoder is free."), (NULL));
    return FALSE;
}

static void choosy_init(Choosy *choosy)
{
    GstPad *pad = gst_element_get_static_pad(GST_ELEMENT(choosy), "sink");

    gst_pad_set_event_function(pad, refuse_caps);
    gst_object_unref(pad);
}

static void choosy_class_init(ChoosyClass *class) {}

static void remove_encoder(const gchar *name)
{
    GstPluginFeature *feature =
        gst_registry_find_feature(gst_registry_get(), name, GST_TYPE_ELEMENT_FACTORY);

    if (feature)
        gst_registry_remove_feature(gst_registry_get(), feature);
    g_clear_pointer(&feature, gst_object_unref);
}

/* Instead of the machine's own, if it has one. */
static void add_encoder(const gchar *name, GType type)
{
    remove_encoder(name);
    CHECK(gst_element_register(NULL, name, GST_RANK_NONE, type));
}

/* What the log says of an encoder of the hardware that does not work. */
static void test_log(const gchar *why)
{
    gchar *wanted = g_strdup_printf("level=warning event=encoder-refused encoder=nvh264enc "
        "why=\"%s\"\n", why);
    const int kept = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    gchar text[1000] = "";

    CHECK(file && kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    encoder_find();
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    if (!g_str_has_suffix(text, wanted) || strchr(text, '\n') != strrchr(text, '\n'))
        g_error("the log says '%s', expected '%s'", text, wanted);
    g_free(wanted);
}

static void test_choice(void)
{
    add_encoder("nvh264enc", broken_get_type());
    add_encoder("vah264enc", player_get_type());
    CHECK(g_strcmp0(encoder_find(), "vah264enc") == 0);
    add_encoder("nvh264enc", player_get_type());
    CHECK(g_strcmp0(encoder_find(), "nvh264enc") == 0);
    add_encoder("nvh264enc", broken_get_type());
    remove_encoder("vah264enc");
    CHECK(g_strcmp0(encoder_find(), "x264enc") == 0);
    test_log("There is no such device.");
    add_encoder("nvh264enc", choosy_get_type());
    CHECK(g_strcmp0(encoder_find(), "x264enc") == 0);
    test_log("No encoder is free.");
    add_encoder("nvh264enc", GST_TYPE_BIN);
    test_log("no property \\\"preset\\\" in element \\\"nvh264enc\\\"");
    remove_encoder("nvh264enc");
    CHECK(g_strcmp0(encoder_find(), "x264enc") == 0);
}

/* What browsers take: constrained baseline, the headers before every key frame. */
static void test_stream(void)
{
    gchar *encoder = encoder_describe("x264enc", "e");
    gchar *text = g_strdup_printf("videotestsrc num-buffers=3 ! video/x-raw,width=64,height=48 "
        "! %s ! fakesink name=s sync=false", encoder);
    GstElement *pipeline = gst_parse_launch(text, NULL), *sink;
    GstCaps *caps;
    GstPad *pad;
    GstMessage *end;
    GstBus *bus;

    CHECK(pipeline);
    bus = gst_element_get_bus(pipeline);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    end = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND,
        GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    CHECK(end && GST_MESSAGE_TYPE(end) == GST_MESSAGE_EOS);
    gst_message_unref(end);
    gst_object_unref(bus);
    sink = gst_bin_get_by_name(GST_BIN(pipeline), "s");
    pad = gst_element_get_static_pad(sink, "sink");
    caps = gst_pad_get_current_caps(pad);
    CHECK(g_strcmp0(gst_structure_get_string(gst_caps_get_structure(caps, 0), "profile"),
        "constrained-baseline") == 0);
    gst_caps_unref(caps);
    gst_object_unref(pad);
    gst_object_unref(sink);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    g_free(encoder);
    g_free(text);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    if (!gst_registry_check_feature_version(gst_registry_get(), "x264enc", 1, 0, 0)) {
        g_print("skipped: no x264enc\n");
        return 77;
    }
    test_choice();
    test_stream();
    remove_encoder("x264enc");
    CHECK(!encoder_find());
    return 0;
}

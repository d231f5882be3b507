/* Which H.264 encoder is taken: one of the hardware where it works, else the CPU's. The hardware's
 * are played by elements of this test. */

#include "encoder.h"
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef GstElement Player;
typedef GstElementClass PlayerClass;
static void player_init(Player *player) {}
GType player_get_type(void);
G_DEFINE_TYPE(Player, player, GST_TYPE_ELEMENT)

static void player_class_init(PlayerClass *class)
{
    gst_element_class_set_static_metadata(class, "Player", "Codec", "Plays an encoder", "samtrack");
}

/* One whose device cannot be opened. */
typedef Player Broken;
typedef PlayerClass BrokenClass;
static void broken_init(Broken *broken) {}
GType broken_get_type(void);
G_DEFINE_TYPE(Broken, broken, GST_TYPE_ELEMENT)

static GstStateChangeReturn refuse(GstElement *element, GstStateChange transition)
{
    if (transition == GST_STATE_CHANGE_NULL_TO_READY)
        GST_ELEMENT_ERROR(element, RESOURCE, OPEN_READ, ("There is no such device."), (NULL));
    return transition == GST_STATE_CHANGE_NULL_TO_READY ? GST_STATE_CHANGE_FAILURE :
        GST_ELEMENT_CLASS(broken_parent_class)->change_state(element, transition);
}

static void broken_class_init(BrokenClass *class)
{
    gst_element_class_set_static_metadata(class, "Broken", "Codec", "Plays an encoder", "samtrack");
    class->change_state = refuse;
}

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
static void test_log(void)
{
    static const gchar wanted[] = "level=warning event=encoder-refused encoder=nvh264enc "
        "why=\"There is no such device.\"\n";
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
    test_log();
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

/* SPDX-License-Identifier: MIT */
/* samtrackbin: its properties and signals are those of its children, and frames
 * come out as those of the elements in a row. Presets of all three. */

#include "samcheck.h"

#include <glib/gstdio.h>
#include <string.h>

#define BOX "initial-prompt=" SQUARE_BOX

static const struct
{
  const gchar *name, *factory, *prefix;
} children[] = {
  {"track", "samtrack", ""},
  {"overlay", "samoverlay", "overlay-"},
  {"export", "samexport", "export-"},
};

/* Another value of the property than its own. */
static void
change (GParamSpec * spec, GValue * value)
{
  if (G_VALUE_HOLDS_BOOLEAN (value))
    g_value_set_boolean (value, !g_value_get_boolean (value));
  else if (G_VALUE_HOLDS_INT (value))
    g_value_set_int (value, g_value_get_int (value) ==
        G_PARAM_SPEC_INT (spec)->maximum ? G_PARAM_SPEC_INT (spec)->minimum :
        g_value_get_int (value) + 1);
  else if (G_VALUE_HOLDS_UINT (value))
    g_value_set_uint (value, g_value_get_uint (value) ==
        G_PARAM_SPEC_UINT (spec)->maximum ? G_PARAM_SPEC_UINT (spec)->minimum :
        g_value_get_uint (value) + 1);
  else if (G_VALUE_HOLDS_UINT64 (value))
    g_value_set_uint64 (value, g_value_get_uint64 (value) / 2 + 1);
  else if (G_VALUE_HOLDS_DOUBLE (value))
    g_value_set_double (value, g_value_get_double (value) == 0.5 ? 0.25 : 0.5);
  else if (G_VALUE_HOLDS_STRING (value))
    g_value_set_string (value, "another");
  else if (G_VALUE_HOLDS_ENUM (value)) {
    GEnumClass *klass = G_PARAM_SPEC_ENUM (spec)->enum_class;

    g_value_set_enum (value, klass->values[klass->values[0].value ==
            g_value_get_enum (value)].value);
  } else if (GST_VALUE_HOLDS_ARRAY (value)) {
    guint i;

    g_value_reset (value);
    for (i = 0; i < 4; i++) {
      GValue number = G_VALUE_INIT;

      g_value_init (&number, G_TYPE_DOUBLE);
      g_value_set_double (&number, 0.25);
      gst_value_array_append_and_take_value (value, &number);
    }
  } else if (GST_VALUE_HOLDS_STRUCTURE (value)) {
    g_value_take_boxed (value, gst_structure_new_empty ("another"));
  } else {
    fail ("%s is of a type that this test does not know", spec->name);
  }
}

/* GObject compares the addresses of structures. */
static gboolean
are_same (GParamSpec * spec, const GValue * a, const GValue * b)
{
  return GST_VALUE_HOLDS_STRUCTURE (a) ?
      gst_structure_is_equal (gst_value_get_structure (a),
      gst_value_get_structure (b)) : !g_param_values_cmp (spec, a, b);
}

/* Read here what was set there. */
static void
check_value (GObject * there, GParamSpec * spec, GObject * here,
    GParamSpec * copy)
{
  GValue set = G_VALUE_INIT, got = G_VALUE_INIT;

  g_value_init (&set, spec->value_type);
  g_value_init (&got, spec->value_type);
  g_object_get_property (there, spec->name, &set);
  change (spec, &set);
  g_object_set_property (there, spec->name, &set);
  g_object_get_property (here, copy->name, &got);
  fail_unless (are_same (spec, &set, &got), "%s is not %s",
      copy->name, spec->name);
  g_value_unset (&set);
  g_value_unset (&got);
}

static void
check_property (GObject * bin, GObject * child, GParamSpec * spec,
    const gchar * prefix)
{
  const guint kept = G_PARAM_READWRITE | GST_PARAM_MUTABLE_READY |
      GST_PARAM_MUTABLE_PLAYING;
  gchar *name = g_strconcat (prefix, spec->name, NULL);
  GParamSpec *copy = g_object_class_find_property (G_OBJECT_GET_CLASS (bin),
      name);

  fail_unless (copy != NULL, "samtrackbin has no %s", name);
  fail_unless (copy->value_type == spec->value_type, "%s", name);
  fail_unless_equals_int (copy->flags & kept, spec->flags & kept);
  fail_unless_equals_string (g_param_spec_get_blurb (copy),
      g_param_spec_get_blurb (spec));
  if (spec->flags & G_PARAM_WRITABLE) {
    fail_unless (!g_param_values_cmp (spec,
            g_param_spec_get_default_value (spec),
            g_param_spec_get_default_value (copy)), "%s", name);
    check_value (child, spec, bin, copy);
    check_value (bin, copy, child, spec);
  }
  g_free (name);
}

static guint
check_child (GstElement * bin, guint i)
{
  GstElement *child = gst_bin_get_by_name (GST_BIN (bin), children[i].name);
  GstElementFactory *factory = gst_element_factory_find (children[i].factory);
  GParamSpec **specs;
  guint k, n, count = 0;

  fail_unless ((child != NULL) == (factory != NULL), "%s", children[i].name);
  if (!child)
    return 0;                   /* a build without samexport */
  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (child), &n);
  for (k = 0; k < n; k++) {
    if (specs[k]->owner_type != G_OBJECT_TYPE (child))
      continue;
    check_property (G_OBJECT (bin), G_OBJECT (child), specs[k],
        children[i].prefix);
    count++;
  }
  g_free (specs);
  gst_object_unref (factory);
  gst_object_unref (child);
  return count;
}

static GstElement *
new_bin (const gchar * launch)
{
  GstElement *bin = gst_parse_launch (launch, NULL);

  fail_unless (bin != NULL, "%s", launch);
  return gst_object_ref_sink (bin);
}

/* Every property of every child, there and back. The export is in the bin as
 * soon as it has somewhere to write to. */
GST_START_TEST (test_it_has_the_properties_of_its_children)
{
  const gboolean exports = gst_registry_check_feature_version
      (gst_registry_get (), "samexport", 0, 1, 0);
  GstElement *bin = new_bin ("samtrackbin");
  guint i, count = 0;

  if (exports)
    g_object_set (bin, "export-location", "/dev/null", NULL);
  gst_element_set_state (bin, GST_STATE_READY);
  for (i = 0; i < G_N_ELEMENTS (children); i++)
    count += check_child (bin, i);
  fail_unless (count > 60, "only %u properties", count);
  gst_element_set_state (bin, GST_STATE_NULL);
  gst_object_unref (bin);
}

GST_END_TEST;

static GstHarness *
new_harness (const gchar * launch, const gchar * format)
{
  GstHarness *h = gst_harness_new_parse (launch);
  gchar *caps = g_strdup_printf ("video/x-raw,format=%s,width=320,height=240,"
      "framerate=30/1", format);

  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h, caps);
  g_free (caps);
  return h;
}

/* Pixels and masks are those of the elements in a row, also where a format is
 * converted for the tracker (Y41B), and behind it for whoever takes no other. */
GST_START_TEST (test_frames_are_those_of_the_elements_in_a_row)
{
  static const gchar *formats[] = { "I420", "RGBA", "Y41B" };
  static const gchar *launches[] = {
    "samtrackbin " BOX " overlay-opacity=0.25 ! capsfilter "
        "caps=video/x-raw,format=BGRx",
    "videoconvert ! samtrack " BOX " ! samoverlay opacity=0.25 ! videoconvert "
        "! capsfilter caps=video/x-raw,format=BGRx"
  };
  GstBuffer *out[2];
  GstMapInfo a, b;
  guint i, n;

  for (i = 0; i < 2; i++) {
    GstHarness *h = new_harness (launches[i], formats[__i__]);

    for (n = 0; n < 2; n++) {
      out[i] = sam_harness_run (h, n);
      fail_unless_equals_int (sam_get_num_objects (sam_get_meta (out[i])), 1);
      if (!n)
        gst_buffer_unref (out[i]);
    }
    gst_harness_teardown (h);
  }
  gst_buffer_map (out[0], &a, GST_MAP_READ);
  gst_buffer_map (out[1], &b, GST_MAP_READ);
  fail_unless_equals_int (a.size, 320 * 240 * 4);
  fail_unless (a.size == b.size && !memcmp (a.data, b.data, a.size));
  gst_buffer_unmap (out[0], &a);
  gst_buffer_unmap (out[1], &b);
  gst_buffer_unref (out[0]);
  gst_buffer_unref (out[1]);
}

GST_END_TEST;

static guint
count_lines (const gchar * path)
{
  gchar *text, *at;
  guint lines = 0;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return 0;
  for (at = text; (at = strchr (at, '\n')); at++)
    lines++;
  g_free (text);
  return lines;
}

/* It writes in the first and the third run, and is not there in the second. */
GST_START_TEST (test_it_exports_where_it_is_told_where_to)
{
  static const guint expected[] = { 2, 2, 3 };
  GstHarness *h;
  guint i, n;

  if (!gst_registry_check_feature_version (gst_registry_get (), "samexport", 0,
          1, 0))
    return;
  sam_folder_make ("lines.jsonl");
  h = new_harness ("samtrackbin name=bin " BOX, "I420");
  for (i = 0; i < G_N_ELEMENTS (expected); i++) {
    GstElement *bin = gst_bin_get_by_name (GST_BIN (h->element), "bin");

    bin = bin ? bin : gst_object_ref (h->element);
    gst_element_set_state (bin, GST_STATE_NULL);
    g_object_set (bin, "export-location", i == 1 ? NULL : sam_file,
        "export-run", "same", NULL);
    gst_element_set_state (bin, GST_STATE_PLAYING);
    if (i)
      gst_harness_set_src_caps_str (h, "video/x-raw,format=I420,width=320,"
          "height=240,framerate=30/1");
    for (n = 0; n < (i == 2 ? 3 : 2); n++)
      gst_buffer_unref (sam_harness_run (h, n));
    gst_element_set_state (bin, GST_STATE_NULL);
    fail_unless_equals_int (count_lines (sam_file), expected[i]);
    gst_object_unref (bin);
  }
  gst_harness_teardown (h);
  g_remove (sam_file);
  sam_folder_remove ();
}

GST_END_TEST;

/* All action signals of samtrack, with the same types; two of them are used. An
 * event that is sent to the bin is a prompt, too. */
GST_START_TEST (test_signals_and_events_are_the_trackers)
{
  GstHarness *h = sam_harness_new ("samtrackbin", GST_VIDEO_FORMAT_I420, 320,
      240);
  guint n, i, count, *ids;
  GstElement *track = gst_bin_get_by_name (GST_BIN (h->element), "track");
  GstStructure *outcome = NULL;
  GstBuffer *buf;
  guint64 id = 0;

  ids = g_signal_list_ids (G_OBJECT_TYPE (track), &count);
  for (i = n = 0; i < count; i++) {
    GSignalQuery theirs, ours;

    g_signal_query (ids[i], &theirs);
    if (!(theirs.signal_flags & G_SIGNAL_ACTION))
      continue;
    g_signal_query (g_signal_lookup (theirs.signal_name,
            G_OBJECT_TYPE (h->element)), &ours);
    fail_unless (ours.signal_id && ours.return_type == theirs.return_type &&
        ours.n_params == theirs.n_params && !memcmp (ours.param_types,
            theirs.param_types, ours.n_params * sizeof (GType)), "%s",
        theirs.signal_name);
    n++;
  }
  fail_unless (n > 10, "only %u signals", n);
  g_free (ids);
  gst_buffer_unref (sam_harness_run (h, 0));
  g_signal_emit_by_name (h->element, "add-box", (guint64) 0, 0.25, 0.25, 0.375,
      0.5, TRUE, &id);
  fail_unless_equals_uint64 (id, 1);
  g_signal_emit_by_name (h->element, "prompt-full", "point,x=-5,y=1", &outcome);
  fail_unless_equals_string (gst_structure_get_string (outcome, "reason"),
      "geometry");
  gst_structure_free (outcome);
  fail_unless (gst_element_send_event (h->element, gst_event_new_custom
          (GST_EVENT_CUSTOM_UPSTREAM, gst_structure_new ("samtrack-prompt",
                  "prompt", G_TYPE_STRING, "box,x=10,y=10,w=40,h=30", NULL))));
  buf = sam_harness_run (h, 1);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  gst_buffer_unref (buf);
  gst_object_unref (track);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* As playbin makes its video-filter: GStreamer takes pads in a bin that are not
 * linked for the bin's own, and complains where it has them already. */
GST_START_TEST (test_it_can_be_made_of_a_text)
{
  GstElement *bin = gst_parse_bin_from_description ("samtrackbin interval=3",
      TRUE, NULL);

  fail_unless (bin != NULL);
  gst_object_ref_sink (bin);
  fail_unless_equals_int (bin->numsinkpads, 1);
  fail_unless_equals_int (bin->numsrcpads, 1);
  gst_object_unref (bin);
}

GST_END_TEST;

static GstPadProbeReturn
count_tracked (GstPad * pad, GstPadProbeInfo * info, gpointer count)
{
  const GstStructure *meta = sam_get_meta (info->data);

  fail_unless_equals_int (sam_get_num_objects (meta), 1);
  g_atomic_int_inc ((gint *) count);
  return GST_PAD_PROBE_OK;
}

/* playbin has it between decoder and sink. */
GST_START_TEST (test_it_is_a_video_filter_of_playbin)
{
  GstElement *playbin, *sink = NULL;
  GstMessage *message;
  gint count = 0;
  GstPad *pad;
  GstBus *bus;

  playbin = gst_parse_launch ("playbin uri=testbin://video,pattern=ball "
      "video-filter=\"samtrackbin initial-prompt=\\\"" SQUARE_BOX "\\\"\" "
      "video-sink=\"fakesink num-buffers=3\"", NULL);
  if (!playbin || !gst_registry_check_feature_version (gst_registry_get (),
          "testsrcbin", 1, 20, 0)) {
    gst_clear_object (&playbin);
    return;
  }
  g_object_get (playbin, "video-sink", &sink, NULL);
  pad = gst_element_get_static_pad (sink, "sink");
  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, count_tracked, &count,
      NULL);
  gst_element_set_state (playbin, GST_STATE_PLAYING);
  bus = gst_element_get_bus (playbin);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE,
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  gst_element_set_state (playbin, GST_STATE_NULL);
  fail_unless (count >= 3, "%d frames", count);
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (pad);
  gst_object_unref (sink);
  gst_object_unref (playbin);
}

GST_END_TEST;

/* Where GStreamer has no videoconvert it says so. */
GST_START_TEST (test_without_a_converter_it_does_not_start)
{
  GstPluginFeature *feature = gst_registry_lookup_feature (gst_registry_get (),
      "videoconvert");

  gst_registry_remove_feature (gst_registry_get (), feature);
  sam_expect_refusal ("samtrackbin", "videoconvert",
      GST_CORE_ERROR_MISSING_PLUGIN);
  gst_registry_add_feature (gst_registry_get (), feature);
}

GST_END_TEST;

/* What is written in the preset's file is what the element has then, from
 * other values before. */
static void
check_preset (GstElement * element, GKeyFile * file, const gchar * preset)
{
  GObjectClass *klass = G_OBJECT_GET_CLASS (element);
  gchar **keys = g_key_file_get_keys (file, preset, NULL, NULL);
  guint i, count = 0;

  fail_unless (keys != NULL, "no preset %s", preset);
  fail_unless (gst_preset_load_preset (GST_PRESET (element), preset));
  for (i = 0; keys[i]; i++) {
    GParamSpec *spec = g_object_class_find_property (klass, keys[i]);
    GValue expected = G_VALUE_INIT, value = G_VALUE_INIT;
    gchar *text = g_key_file_get_value (file, preset, keys[i], NULL);

    if (!g_str_has_prefix (keys[i], "_meta/")) {
      fail_unless (spec != NULL, "%s: no property %s", preset, keys[i]);
      g_value_init (&expected, spec->value_type);
      g_value_init (&value, spec->value_type);
      fail_unless (gst_value_deserialize (&expected, text), "%s=%s", keys[i],
          text);
      g_object_get_property (G_OBJECT (element), keys[i], &value);
      fail_unless (!g_param_values_cmp (spec, &expected, &value), "%s=%s",
          keys[i], text);
      g_value_unset (&expected);
      g_value_unset (&value);
      count++;
    }
    g_free (text);
  }
  fail_unless (count > 2, "%s has %u properties", preset, count);
  g_strfreev (keys);
}

/* GStreamer finds the files on GST_PRESET_PATH. All presets of an element set
 * the same properties, so that one can follow another; with each it starts. */
GST_START_TEST (test_presets)
{
  static const gchar *elements[] = { "samtrack", "samoverlay", "samtrackbin" };
  static const gchar *presets[] = { "camera", "file", "privacy", "camera" };
  GstElement *element = new_bin (elements[__i__]);
  gchar *name = g_strdup_printf ("%s/%s.prs", g_getenv ("GST_PRESET_PATH"),
      G_OBJECT_TYPE_NAME (element));
  gchar **names = gst_preset_get_preset_names (GST_PRESET (element)), *all;
  GKeyFile *file = g_key_file_new ();
  gsize i, n, number = 0;

  fail_unless (names != NULL, "%s has no presets", elements[__i__]);
  all = g_strjoinv (" ", names);
  fail_unless_equals_string (all, "camera file privacy");
  fail_unless (g_key_file_load_from_file (file, name, 0, NULL), "%s", name);
  for (i = 0; i < G_N_ELEMENTS (presets); i++) {
    check_preset (element, file, presets[i]);
    g_strfreev (g_key_file_get_keys (file, presets[i], &n, NULL));
    number = i ? number : n;
    fail_unless_equals_int (n, number);
    fail_unless (gst_element_set_state (element, GST_STATE_PAUSED) !=
        GST_STATE_CHANGE_FAILURE, "%s", presets[i]);
    gst_element_set_state (element, GST_STATE_NULL);
  }
  g_key_file_free (file);
  g_strfreev (names);
  g_free (all);
  g_free (name);
  gst_object_unref (element);
}

GST_END_TEST;

static Suite *
samtrackbin_suite (void)
{
  Suite *s = suite_create ("samtrackbin");
  TCase *tc = sam_tcase_new (s, "bin");

  tcase_add_test (tc, test_it_has_the_properties_of_its_children);
  tcase_add_loop_test (tc, test_frames_are_those_of_the_elements_in_a_row, 0,
      3);
  tcase_add_test (tc, test_it_exports_where_it_is_told_where_to);
  tcase_add_test (tc, test_signals_and_events_are_the_trackers);
  tcase_add_test (tc, test_it_can_be_made_of_a_text);
  tcase_add_test (tc, test_it_is_a_video_filter_of_playbin);
  tcase_add_test (tc, test_without_a_converter_it_does_not_start);
  tcase_add_loop_test (tc, test_presets, 0, 3);
  return s;
}

GST_CHECK_MAIN (samtrackbin);

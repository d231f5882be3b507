/* SPDX-License-Identifier: MIT */
/* Properties while the element runs: those that only READY may change stay. */

#include "samcheck.h"

#include <string.h>

/* Another value than the one that the property has. */
static void
set_another_value (GObject * object, GParamSpec * pspec, GValue * value)
{
  if (G_IS_PARAM_SPEC_STRING (pspec)) {
    g_value_set_string (value, "/nowhere/another");
  } else if (G_IS_PARAM_SPEC_ENUM (pspec)) {
    GEnumClass *klass = G_PARAM_SPEC_ENUM (pspec)->enum_class;
    gint old = g_value_get_enum (value);

    g_value_set_enum (value, klass->values[klass->values[0].value == old].value);
  } else if (G_IS_PARAM_SPEC_INT (pspec)) {
    g_value_set_int (value, g_value_get_int (value) + 1);
  } else if (G_IS_PARAM_SPEC_UINT (pspec)) {
    g_value_set_uint (value, g_value_get_uint (value) + 1);
  } else if (G_IS_PARAM_SPEC_UINT64 (pspec)) {
    g_value_set_uint64 (value, g_value_get_uint64 (value) - 1);
  } else if (G_IS_PARAM_SPEC_BOOLEAN (pspec)) {
    g_value_set_boolean (value, !g_value_get_boolean (value));
  } else if (G_IS_PARAM_SPEC_DOUBLE (pspec)) {
    g_value_set_double (value, g_value_get_double (value) == 0.5 ? 0.25 : 0.5);
  } else if (GST_VALUE_HOLDS_ARRAY (value)) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_reset (value);
    gst_value_array_append_and_take_value (value, &number);
  } else {
    fail ("%s is of a type that this test does not know", pspec->name);
  }
  g_object_set_property (object, pspec->name, value);
}

/* The text of the only warning on the bus, NULL for none. */
static gchar *
pop_warning (GstBus * bus)
{
  gchar *text = NULL;

  fail_unless (sam_count_messages (bus, GST_MESSAGE_WARNING, &text) <= 1);
  return text;
}

/* Set it to another value; whether it took that. */
static gboolean
takes_another_value (GstElement * element, GstBus * bus, GParamSpec * pspec)
{
  GValue before = G_VALUE_INIT, wanted = G_VALUE_INIT, after = G_VALUE_INIT;
  gchar *text, *quoted = g_strdup_printf ("'%s'", pspec->name);
  gboolean taken;

  g_value_init (&before, pspec->value_type);
  g_value_init (&wanted, pspec->value_type);
  g_value_init (&after, pspec->value_type);
  g_object_get_property (G_OBJECT (element), pspec->name, &before);
  g_value_copy (&before, &wanted);
  set_another_value (G_OBJECT (element), pspec, &wanted);
  g_object_get_property (G_OBJECT (element), pspec->name, &after);
  taken = g_param_values_cmp (pspec, &after, &wanted) == 0;
  text = pop_warning (bus);
  fail_unless (taken || !g_param_values_cmp (pspec, &after, &before));
  fail_unless (taken == (text == NULL), "%s is %s, and the warning is '%s'",
      pspec->name, taken ? "set" : "not set", text);
  fail_unless (taken || (strstr (text, quoted) && strstr (text, "READY")),
      "'%s' does not name %s and READY", text, quoted);
  /* To set what it is already is no change. */
  g_object_set_property (G_OBJECT (element), pspec->name, &after);
  fail_unless (pop_warning (bus) == NULL);
  g_object_set_property (G_OBJECT (element), pspec->name, &before);
  g_free (pop_warning (bus));
  g_value_unset (&before);
  g_value_unset (&wanted);
  g_value_unset (&after);
  g_free (quoted);
  g_free (text);
  return taken;
}

/* The settings that the model is opened with, by their flags. */
static void
check_all (GstElement * element, GstBus * bus, gboolean running)
{
  guint i, n, ready = 0, playing = 0;
  GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (i = 0; i < n; i++) {
    gboolean taken;

    if (specs[i]->owner_type != G_OBJECT_TYPE (element) ||
        !(specs[i]->flags & G_PARAM_WRITABLE))
      continue;
    taken = takes_another_value (element, bus, specs[i]);
    if (specs[i]->flags & GST_PARAM_MUTABLE_READY)
      ready++;
    else
      playing++;
    fail_unless (taken == !(running &&
            (specs[i]->flags & GST_PARAM_MUTABLE_READY)), "%s was %s",
        specs[i]->name, taken ? "set" : "not set");
  }
  fail_unless (ready >= 8 && playing >= 4, "%u and %u properties", ready,
      playing);
  g_free (specs);
}

GST_START_TEST (test_what_only_ready_may_change)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();
  GstHarness *h;

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  check_all (element, bus, FALSE);
  gst_element_set_state (element, GST_STATE_READY);
  check_all (element, bus, FALSE);
  gst_element_set_state (element, GST_STATE_PAUSED);
  check_all (element, bus, TRUE);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  gst_buffer_unref (sam_harness_run (h, 0));
  check_all (element, bus, TRUE);
  gst_buffer_unref (sam_harness_run (h, 1));
  gst_element_set_state (element, GST_STATE_READY);
  check_all (element, bus, FALSE);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
  gst_object_unref (element);
}

GST_END_TEST;

static guint64
add_point (GstHarness * h, gdouble x)
{
  guint64 id = 0;

  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (0), x,
      24.0, TRUE, FALSE, &id);
  return id;
}

static guint
count_objects (GstHarness * h, guint frame)
{
  GstBuffer *buf = sam_harness_run (h, frame);
  guint n = sam_get_num_objects (sam_get_meta (buf));

  gst_buffer_unref (buf);
  return n;
}

/* More ids than slots would be ids of objects that are never tracked. */
GST_START_TEST (test_max_objects_raised_while_it_plays)
{
  GstHarness *h = sam_harness_new ("samtrack max-objects=2",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  gboolean ok = FALSE;
  gchar *text;
  guint i;

  fail_unless_equals_uint64 (add_point (h, 10), 1);
  fail_unless_equals_uint64 (add_point (h, 30), 2);
  fail_unless_equals_int (count_objects (h, 0), 2);
  g_object_set (h->element, "max-objects", 4, NULL);
  text = pop_warning (bus);
  fail_unless_equals_string (text, "The property 'max-objects' stays 2: it can "
      "be set to 4 only in the states NULL and READY.");
  g_free (text);

  fail_unless_equals_uint64 (add_point (h, 50), 0);
  g_free (pop_warning (bus));
  for (i = 1; i < 4; i++)
    fail_unless_equals_int (count_objects (h, i), 2);
  /* and prompts go on */
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (1),
      &ok);
  fail_unless (ok);
  fail_unless_equals_uint64 (add_point (h, 50), 3);
  fail_unless_equals_int (count_objects (h, 4), 2);
  fail_unless (pop_warning (bus) == NULL);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Prompts may come before the slots are counted: those without one are refused
 * one by one, and the others are not held up. */
GST_START_TEST (test_more_prompts_than_slots_at_the_start)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();
  GstHarness *h;
  guint64 id;
  gboolean ok = TRUE;
  guint i;

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  for (i = 1; i <= 5; i++) {
    g_signal_emit_by_name (element, "add-point", G_GUINT64_CONSTANT (0), 0.5,
        0.5, TRUE, TRUE, &id);
    fail_unless_equals_uint64 (id, i);
  }
  g_object_set (element, "max-objects", 3, NULL);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  fail_unless_equals_int (count_objects (h, 0), 3);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      2);
  g_signal_emit_by_name (element, "remove-object", G_GUINT64_CONSTANT (4), &ok);
  fail_if (ok);
  g_free (pop_warning (bus));
  g_signal_emit_by_name (element, "remove-object", G_GUINT64_CONSTANT (1), &ok);
  fail_unless (ok);
  fail_unless_equals_uint64 (add_point (h, 20), 6);
  fail_unless_equals_int (count_objects (h, 1), 3);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
  gst_object_unref (element);
}

GST_END_TEST;

static void
set_number (GObject * object, GParamSpec * pspec, gboolean highest)
{
  if (G_IS_PARAM_SPEC_INT (pspec))
    g_object_set (object, pspec->name, highest ?
        G_PARAM_SPEC_INT (pspec)->maximum : G_PARAM_SPEC_INT (pspec)->minimum,
        NULL);
  else
    g_object_set (object, pspec->name, highest ?
        G_PARAM_SPEC_UINT (pspec)->maximum : G_PARAM_SPEC_UINT (pspec)->minimum,
        NULL);
}

/* What a property promises in its range, the engine takes. */
static guint
check_range (GstElement * element, GstBus * bus, GParamSpec * pspec)
{
  GValue value = G_VALUE_INIT;
  guint highest;

  if (!(pspec->flags & GST_PARAM_MUTABLE_READY) ||
      !(G_IS_PARAM_SPEC_INT (pspec) || G_IS_PARAM_SPEC_UINT (pspec)))
    return 0;
  g_value_init (&value, pspec->value_type);
  g_object_get_property (G_OBJECT (element), pspec->name, &value);
  for (highest = 0; highest < 2; highest++) {
    gchar *text = NULL;

    set_number (G_OBJECT (element), pspec, highest);
    gst_element_set_state (element, GST_STATE_PAUSED);
    sam_count_messages (bus, GST_MESSAGE_ERROR, &text);
    fail_unless (text == NULL, "the %s %s: '%s'",
        highest ? "highest" : "lowest", pspec->name, text);
    gst_element_set_state (element, GST_STATE_NULL);
    g_object_set_property (G_OBJECT (element), pspec->name, &value);
  }
  g_value_unset (&value);
  return 1;
}

GST_START_TEST (test_both_ends_of_every_range)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();
  GParamSpec **specs;
  guint i, n, checked = 0;

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
  /* It heeds no device. */
  gst_util_set_object_arg (G_OBJECT (element), "backend", "cpu");
  for (i = 0; i < n; i++)
    checked += check_range (element, bus, specs[i]);
  fail_unless (checked >= 5, "%u properties", checked);
  g_free (specs);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_END_TEST;

/* The engine logs while it opens: that is in the middle of the start. */
static void
set_while_it_opens (GstDebugCategory * category, GstDebugLevel level,
    const gchar * file, const gchar * function, gint line, GObject * object,
    GstDebugMessage * message, gpointer times)
{
  if (strcmp (gst_debug_category_get_name (category), "samtrack") ||
      !strstr (gst_debug_message_get (message), "threads"))
    return;
  g_object_set (object, "model-file", "/nowhere/another", NULL);
  ++*(guint *) times;
}

GST_START_TEST (test_settings_stay_while_the_model_is_opened)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();
  gchar *name = NULL, *text;
  guint times = 0;

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  g_object_set (element, "model-file", g_getenv ("SAMTRACK_TINY_MODEL"), NULL);
  gst_debug_set_threshold_for_name ("samtrack", GST_LEVEL_INFO);
  gst_debug_add_log_function (set_while_it_opens, &times, NULL);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED),
      GST_STATE_CHANGE_SUCCESS);
  gst_debug_remove_log_function (set_while_it_opens);
  gst_debug_unset_threshold_for_name ("samtrack");
  fail_unless (times > 0, "the engine did not log its threads");
  g_object_get (element, "model-file", &name, NULL);
  fail_unless_equals_string (name, g_getenv ("SAMTRACK_TINY_MODEL"));
  text = pop_warning (bus);
  fail_unless (text && strstr (text, "'model-file' stays"), "'%s'", text);
  g_free (text);
  g_free (name);

  /* a start that fails leaves them free */
  gst_element_set_state (element, GST_STATE_NULL);
  g_object_set (element, "model-file", "/nowhere/another", NULL);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED),
      GST_STATE_CHANGE_FAILURE);
  g_object_set (element, "model-file", NULL, NULL);
  fail_unless (pop_warning (bus) == NULL);
  fail_unless_equals_int (gst_element_set_state (element, GST_STATE_PAUSED),
      GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
  gst_object_unref (element);
}

GST_END_TEST;

static Suite *
settings_suite (void)
{
  Suite *s = suite_create ("settings");
  TCase *tc = sam_tcase_new_tiny (s, "running");

  tcase_add_test (tc, test_what_only_ready_may_change);
  tcase_add_test (tc, test_max_objects_raised_while_it_plays);
  tcase_add_test (tc, test_more_prompts_than_slots_at_the_start);
  tcase_add_test (tc, test_both_ends_of_every_range);
  tcase_add_test (tc, test_settings_stay_while_the_model_is_opened);
  return s;
}

GST_CHECK_MAIN (settings);

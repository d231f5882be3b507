/* SPDX-License-Identifier: MIT */
/* What a program reads of a prompt that is refused: the details of the warning
 * message. docs/GSTREAMER.md lists the reasons. */

#include "samcheck.h"

#include <float.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* The next warning must have these details. */
static void
check_refusal (GstBus * bus, const gchar * reason, guint64 id,
    const gchar * prompt)
{
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  const GstStructure *details = NULL;
  GError *error = NULL;
  guint64 got = G_MAXUINT64;

  fail_unless (message != NULL, "'%s' was not refused", prompt);
  gst_message_parse_warning (message, &error, NULL);
  gst_message_parse_warning_details (message, &details);
  fail_unless (g_error_matches (error, GST_STREAM_ERROR,
          GST_STREAM_ERROR_FAILED));
  fail_unless (g_str_has_suffix (error->message, "."), "'%s'", error->message);
  fail_unless (details != NULL, "'%s' has no details", error->message);
  fail_unless (gst_structure_has_name (details, "samtrack-refusal"));
  fail_unless_equals_string (gst_structure_get_string (details, "reason"),
      reason);
  fail_unless (gst_structure_get_uint64 (details, "id", &got));
  fail_unless_equals_uint64 (got, id);
  fail_unless_equals_string (gst_structure_get_string (details, "prompt"),
      prompt);
  g_error_free (error);
  gst_message_unref (message);
}

static guint64
add_point (GstElement * element, guint64 id, gdouble x, gdouble y,
    gboolean normalized)
{
  g_signal_emit_by_name (element, "add-point", id, x, y, TRUE, normalized, &id);
  return id;
}

static void
close_bus (GstElement * element, GstBus * bus)
{
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  gst_element_set_bus (element, NULL);
  gst_object_unref (bus);
}

GST_START_TEST (test_signals)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  guint64 id = 0;
  gboolean ok = TRUE;

  gst_buffer_unref (sam_harness_run (h, 0));
  fail_unless_equals_uint64 (add_point (h->element, 0, 65, 10.5, FALSE), 0);
  check_refusal (bus, "geometry", 0, "point,x=65,y=10.5");
  add_point (h->element, 1, 0.1, 1.5, TRUE);
  check_refusal (bus, "geometry", 1, "point,x=0.1,y=1.5,normalized=true,id=1");
  add_point (h->element, 1, NAN, 1, FALSE);
  check_refusal (bus, "geometry", 1, "point,x=nan,y=1,id=1");
  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (77), 1.0,
      2.0, FALSE, FALSE, &id);
  check_refusal (bus, "not-tracked", 77, "point,x=1,y=2,positive=false,id=77");
  g_signal_emit_by_name (h->element, "add-box", G_GUINT64_CONSTANT (0), 1.0,
      2.0, 0.0, 4.0, FALSE, &id);
  check_refusal (bus, "geometry", 0, "box,x=1,y=2,w=0,h=4");
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (1), NULL,
      &id);
  check_refusal (bus, "mask", 1, "mask,id=1");
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (5),
      &ok);
  fail_if (ok);
  check_refusal (bus, "not-tracked", 5, "remove,id=5");
  g_signal_emit_by_name (h->element, "undo", G_GUINT64_CONSTANT (0), &ok);
  fail_if (ok);
  check_refusal (bus, "not-tracked", 0, "undo,id=0");
  close_bus (h->element, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The outcome must be this; @reason NULL: it worked. Takes it. */
static void
check_outcome (GstStructure * outcome, const gchar * reason, guint num,
    const guint64 * ids)
{
  const GValue *array = gst_structure_get_value (outcome, "ids");
  const gchar *message = gst_structure_get_string (outcome, "message");
  gboolean ok = !reason;
  guint64 id = G_MAXUINT64;
  guint i;

  fail_unless (gst_structure_has_name (outcome, "samtrack-outcome"));
  fail_unless (gst_structure_get_boolean (outcome, "ok", &ok) && ok == !reason);
  fail_unless_equals_string (gst_structure_get_string (outcome, "reason"),
      reason);
  fail_unless (reason ? message && g_str_has_suffix (message, ".") : !message);
  if (ids) {
    fail_unless (gst_structure_get_uint64 (outcome, "id", &id));
    fail_unless_equals_uint64 (id, num ? ids[0] : 0);
    fail_unless_equals_int (gst_value_array_get_size (array), num);
  }
  for (i = 0; i < num; i++)
    fail_unless_equals_uint64 (g_value_get_uint64 (gst_value_array_get_value
            (array, i)), ids[i]);
  gst_structure_free (outcome);
}

/* Signals that return why. */
GST_START_TEST (test_outcomes)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  const gchar *no_folder = "/nowhere/at/all.tracks";
  gchar *path = g_build_filename (g_get_tmp_dir (), "outcomes.tracks", NULL);
  const struct
  {
    const gchar *text, *reason;
    guint num;
    guint64 ids[3];
  } prompts[] = {
    {"box,x=10,y=10,w=20,h=20", NULL, 1, {1}},
    {"point,x=15,y=15,id=1", NULL, 1, {1}},
    {"point,x=1,y=2;undo,id=9;point,x=99,y=2", "not-tracked", 3, {2, 0, 0}},
    {"remove,id=7;point,x=3,y=4", "not-tracked", 2, {0, 3}},
    {"point,x=1", "syntax", 0, {0}},
    {"point,x=0.5,y=1.5,normalized=true", "geometry", 0, {0}},
    {"remove,id=2;clear", NULL, 2, {2, 0}},
  };
  GstStructure *outcome = NULL;
  guint i;

  gst_buffer_unref (sam_harness_run (h, 0));
  for (i = 0; i < G_N_ELEMENTS (prompts); i++) {
    g_signal_emit_by_name (h->element, "prompt-full", prompts[i].text,
        &outcome);
    check_outcome (outcome, prompts[i].reason, prompts[i].num, prompts[i].ids);
  }
  /* each is told on the bus, too */
  check_refusal (bus, "not-tracked", 9, "undo,id=9");
  check_refusal (bus, "geometry", 0, "point,x=99,y=2");
  check_refusal (bus, "not-tracked", 7, "remove,id=7");
  check_refusal (bus, "syntax", 0, "point,x=1");
  check_refusal (bus, "geometry", 0, "point,x=0.5,y=1.5,normalized=true");
  g_signal_emit_by_name (h->element, "prompt-full", NULL, &outcome);
  check_outcome (outcome, "syntax", 0, prompts[0].ids);
  check_refusal (bus, "syntax", 0, "");
  g_signal_emit_by_name (h->element, "save-tracks-full", path, &outcome);
  check_outcome (outcome, NULL, 0, NULL);
  g_signal_emit_by_name (h->element, "load-tracks-full", path, &outcome);
  check_outcome (outcome, NULL, 0, NULL);
  close_bus (h->element, bus);
  bus = sam_harness_add_bus (h);
  g_signal_emit_by_name (h->element, "load-tracks-full", no_folder, &outcome);
  check_outcome (outcome, "file", 0, NULL);
  g_signal_emit_by_name (h->element, "save-tracks-full", NULL, &outcome);
  check_outcome (outcome, "file", 0, NULL);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      2);
  close_bus (h->element, bus);
  g_remove (path);
  g_free (path);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_texts_and_events)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);

  g_signal_emit_by_name (h->element, "prompt", "circle,x=3");
  check_refusal (bus, "syntax", 0, "circle,x=3");
  /* one item of several: the others are taken */
  g_signal_emit_by_name (h->element, "prompt",
      "point,x=3,y=4;undo,id=9;point,x=5,y=6");
  check_refusal (bus, "not-tracked", 9, "undo,id=9");
  g_signal_emit_by_name (h->element, "prompt", "mask,location=/nowhere/m.png");
  check_refusal (bus, "mask", 0, "mask,location=\"/nowhere/m.png\"");
  /* a text of any bytes */
  g_signal_emit_by_name (h->element, "prompt", "\x1b[31mred\xff");
  check_refusal (bus, "syntax", 0, "\x1b[31mred\xef\xbf\xbd");
  fail_if (gst_harness_push_upstream_event (h,
          gst_event_new_custom (GST_EVENT_CUSTOM_UPSTREAM,
              gst_structure_new ("samtrack-prompt", "prompt", G_TYPE_STRING,
                  "box,x=1", NULL))));
  check_refusal (bus, "syntax", 0, "box,x=1");
  fail_if (gst_harness_push_upstream_event (h,
          gst_event_new_custom (GST_EVENT_CUSTOM_UPSTREAM,
              gst_structure_new ("samtrack-prompt", "op", G_TYPE_STRING,
                  "point", "x", G_TYPE_INT, 3, NULL))));
  check_refusal (bus, "syntax", 0,
      "samtrack-prompt, op=(string)point, x=(int)3;");
  close_bus (h->element, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_initial_prompts)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  g_object_set (element, "max-objects", 1, "initial-prompt",
      "point,x=1,y=1,id=4;point,x=2,y=2,id=5;remove,id=6", NULL);
  gst_element_set_state (element, GST_STATE_PAUSED);
  check_refusal (bus, "no-slot", 5, "point,x=2,y=2,id=5");
  check_refusal (bus, "not-tracked", 6, "remove,id=6");
  gst_element_set_state (element, GST_STATE_NULL);
  close_bus (element, bus);
  gst_object_unref (element);
}

GST_END_TEST;

/* Ids that were given out before the frame's size was known: a program learns
 * which of them are gone. */
GST_START_TEST (test_refused_at_the_frame)
{
  GstElement *element = gst_element_factory_make ("samtrack", NULL);
  GstBus *bus = gst_bus_new ();
  GstBuffer *buf;
  GstHarness *h;

  gst_object_ref_sink (element);
  gst_element_set_bus (element, bus);
  fail_unless_equals_uint64 (add_point (element, 0, 1000, 10, FALSE), 1);
  fail_unless_equals_uint64 (add_point (element, 1, 10, 10, FALSE), 1);
  fail_unless_equals_uint64 (add_point (element, 0, 30, 10, FALSE), 2);
  fail_unless_equals_uint64 (add_point (element, 0, 50, 10, FALSE), 3);
  g_object_set (element, "max-objects", 1, NULL);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 2);
  gst_buffer_unref (buf);
  check_refusal (bus, "geometry", 1, "point,x=1000,y=10");
  check_refusal (bus, "not-tracked", 1, "point,x=10,y=10,id=1");
  check_refusal (bus, "no-slot", 3, "point,x=50,y=10");
  close_bus (element, bus);
  gst_harness_teardown (h);
  gst_object_unref (element);
}

GST_END_TEST;

/* The engine counts objects in its own way: its ids are nobody's business. */
GST_START_TEST (test_the_id_is_the_elements)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=\""
      "point,x=9,y=9,id=40\"", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;

  gst_buffer_unref (sam_harness_run (h, 0));
  /* the only prompt is taken back, and the object with it */
  g_signal_emit_by_name (h->element, "prompt", "undo,id=40;point,x=3,y=3,id=40");
  gst_buffer_unref (sam_harness_run (h, 1));
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless_equals_string (text,
      "The prompt was refused: object 40 is not tracked any more.");
  g_free (text);
  close_bus (h->element, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* No pixel lies at x = width. The last number before it lies in the last one,
 * also where the frame's size is known only later. */
GST_START_TEST (test_points_on_the_edge)
{
  const gdouble last = 64 - 64 * DBL_EPSILON / 2;
  GstHarness *h = gst_harness_new ("samtrack");
  GstBus *bus = sam_harness_add_bus (h);
  GstBuffer *buf;

  gst_harness_set_live (h, FALSE);
  fail_unless (last < 64 && (gfloat) last == 64);
  fail_unless_equals_uint64 (add_point (h->element, 0, 64, 1, FALSE), 1);
  fail_unless_equals_uint64 (add_point (h->element, 0, 1, 48, FALSE), 2);
  fail_unless_equals_uint64 (add_point (h->element, 0, last, 1, FALSE), 3);
  fail_unless_equals_uint64 (add_point (h->element, 0, 1, 0.5, TRUE), 0);
  check_refusal (bus, "geometry", 0, "point,x=1,y=0.5,normalized=true");
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  buf = sam_harness_run (h, 0);
  check_refusal (bus, "geometry", 1, "point,x=64,y=1");
  check_refusal (bus, "geometry", 2, "point,x=1,y=48");
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
  gst_buffer_unref (buf);
  fail_unless_equals_uint64 (add_point (h->element, 0, 64, 1, FALSE), 0);
  check_refusal (bus, "geometry", 0, "point,x=64,y=1");
  fail_unless_equals_uint64 (add_point (h->element, 0, 1, 48, FALSE), 0);
  check_refusal (bus, "geometry", 0, "point,x=1,y=48");
  fail_unless_equals_uint64 (add_point (h->element, 0, last, 1, FALSE), 4);
  fail_unless_equals_uint64 (add_point (h->element, 0, 1 - DBL_EPSILON / 2, 0.5,
          TRUE), 5);
  buf = sam_harness_run (h, 1);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 3);
  gst_buffer_unref (buf);
  close_bus (h->element, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_a_full_queue)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  guint i;

  for (i = 1; i < 256; i++)
    fail_unless_equals_uint64 (add_point (h->element, 1, 30, 24, FALSE), 1);
  fail_unless_equals_uint64 (add_point (h->element, 1, 31, 24, FALSE), 0);
  check_refusal (bus, "queue-full", 1, "point,x=31,y=24,id=1");
  close_bus (h->element, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_properties)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  const GstStructure *details = NULL;
  GstMessage *message;

  g_object_set (h->element, "threads", 3, NULL);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  fail_unless (message != NULL);
  gst_message_parse_warning_details (message, &details);
  fail_unless (details && gst_structure_has_name (details, "samtrack-refusal"));
  fail_unless_equals_string (gst_structure_get_string (details, "reason"),
      "state");
  fail_unless_equals_string (gst_structure_get_string (details, "property"),
      "threads");
  gst_message_unref (message);
  close_bus (h->element, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

static void
parse (GstMessage * message, gchar ** text, const GstStructure ** details)
{
  GError *error = NULL;

  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    gst_message_parse_error (message, &error, NULL);
    gst_message_parse_error_details (message, details);
  } else {
    gst_message_parse_warning (message, &error, NULL);
    gst_message_parse_warning_details (message, details);
  }
  *text = g_strdup (error->message);
  g_error_free (error);
}

/* Push a frame with these flags. The only warning, error if strict, must say
 * @says and have the details of a refusal, where @reason is not NULL. */
static void
check_strict (gboolean strict, const gchar * prompt, GstBufferFlags flags,
    GstFlowReturn flow, const gchar * reason, const gchar * says)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *frame = sam_harness_frame (h, 0);
  GstBus *bus = sam_harness_add_bus (h);
  GstMessage *message;
  const GstStructure *details = NULL;
  gchar *text = NULL;

  gst_element_set_state (h->element, GST_STATE_NULL);
  g_object_set (h->element, "strict", strict, "initial-prompt", prompt, NULL);
  gst_harness_play (h);
  GST_BUFFER_FLAG_SET (frame, flags);
  fail_unless_equals_int (gst_harness_push (h, frame), flow);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  fail_unless ((message == NULL) == (says == NULL), "%s", prompt);
  if (message) {
    fail_unless_equals_int (GST_MESSAGE_TYPE (message), strict ?
        GST_MESSAGE_ERROR : GST_MESSAGE_WARNING);
    parse (message, &text, &details);
    fail_unless (strstr (text, says) != NULL, "%s: '%s'", prompt, text);
    fail_unless_equals_string (details ? gst_structure_get_string (details,
            "reason") : NULL, reason);
    gst_message_unref (message);
    g_free (text);
  }
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, NULL), 0);
  gst_element_set_bus (h->element, NULL);
  gst_object_unref (bus);
  gst_harness_teardown (h);
}

GST_START_TEST (test_strict)
{
  static const struct
  {
    const gchar *prompt, *reason, *says;
  } bad[] = {
    {"bx,x=1", "syntax", "must begin with point"},
    {"point,x=640,y=5", "geometry", "outside"},
    {"point,x=0.5,y=0.5", "syntax", "normalized=true"},
    {"mask,location=/nowhere/m.png", "mask", "/nowhere/m.png"},
    {SQUARE_POINT ";undo,id=1", "not-tracked", "not allowed"},
  };
  const GstBufferFlags damaged = GST_BUFFER_FLAG_CORRUPTED;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (bad); i++) {
    check_strict (FALSE, bad[i].prompt, 0, GST_FLOW_OK, bad[i].reason,
        bad[i].says);
    check_strict (TRUE, bad[i].prompt, 0, GST_FLOW_ERROR, bad[i].reason,
        bad[i].says);
  }
  check_strict (FALSE, NULL, damaged, GST_FLOW_OK, NULL, NULL);
  check_strict (TRUE, SQUARE_POINT, 0, GST_FLOW_OK, NULL, NULL);
  check_strict (TRUE, NULL, damaged, GST_FLOW_ERROR, NULL, "as damaged");
}

GST_END_TEST;

/* The prompts of an application are no reason to end. */
GST_START_TEST (test_strict_is_for_initial_prompts)
{
  GstHarness *h = sam_harness_new ("samtrack strict=true",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);

  g_signal_emit_by_name (h->element, "prompt", "circle,x=3");
  check_refusal (bus, "syntax", 0, "circle,x=3");
  gst_buffer_unref (sam_harness_run (h, 0));
  close_bus (h->element, bus);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
refusals_suite (void)
{
  Suite *s = suite_create ("refusals");
  TCase *tc = sam_tcase_new_tiny (s, "details");

  tcase_add_test (tc, test_signals);
  tcase_add_test (tc, test_outcomes);
  tcase_add_test (tc, test_texts_and_events);
  tcase_add_test (tc, test_initial_prompts);
  tcase_add_test (tc, test_refused_at_the_frame);
  tcase_add_test (tc, test_the_id_is_the_elements);
  tcase_add_test (tc, test_points_on_the_edge);
  tcase_add_test (tc, test_a_full_queue);
  tcase_add_test (tc, test_properties);
  tcase_add_test (tc, test_strict);
  tcase_add_test (tc, test_strict_is_for_initial_prompts);
  return s;
}

GST_CHECK_MAIN (refusals);

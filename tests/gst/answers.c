/* SPDX-License-Identifier: MIT */
/* The three answers to a click: told on the bus and on request, and taken by
 * text, by signal, at once and later. */

#include "samcheck.h"

#define WIDTH 96
#define HEIGHT 64

static GstHarness *
open_harness (const gchar * launch, GstBus ** bus)
{
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT);

  *bus = sam_harness_add_bus (h);
  return h;
}

/* The structure of the only message of that name that waits; NULL: none. */
static GstStructure *
take_message (GstBus * bus, const gchar * name)
{
  GstStructure *s = NULL;
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    const GstStructure *told = gst_message_get_structure (message);

    if (gst_structure_has_name (told, name)) {
      fail_unless (s == NULL, "a second message %s", name);
      s = gst_structure_copy (told);
    }
    gst_message_unref (message);
  }
  return s;
}

static GstStructure *
ask (GstHarness * h, guint64 id)
{
  GstStructure *s = NULL;

  g_signal_emit_by_name (h->element, "get-answers", id, &s);
  return s;
}

static const GstStructure *
get_answer (const GstStructure * s, guint i)
{
  const GValue *array = gst_structure_get_value (s, "answers");

  fail_unless (array && gst_value_array_get_size (array) == 3);
  return gst_value_get_structure (gst_value_array_get_value (array, i));
}

/* All that is told of one answer is what the meta tells of an object. */
static void
check_is_shown (const GstStructure * answer, GstBuffer * buf)
{
  static const gchar *names[] = { "x", "y", "w", "h" };
  const GstStructure *object = sam_get_object (sam_get_meta (buf), 0);
  guint i;

  fail_unless_equals_float (sam_get_double (answer, "iou"),
      sam_get_double (object, "iou"));
  fail_unless_equals_int (sam_get_uint (answer, "area"),
      sam_get_uint (object, "area"));
  for (i = 0; i < G_N_ELEMENTS (names); i++)
    fail_unless_equals_int (sam_get_int (answer, names[i]),
        sam_get_int (object, names[i]));
}

/* The last refusal, whose text holds @text, has that reason. */
static void
check_refused (GstBus * bus, const gchar * reason, const gchar * text)
{
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  const GstStructure *details;
  GError *error = NULL;

  fail_unless (message != NULL, "nothing was refused");
  gst_message_parse_warning (message, &error, NULL);
  gst_message_parse_warning_details (message, &details);
  fail_unless (strstr (error->message, text) != NULL, "'%s'", error->message);
  fail_unless_equals_string (gst_structure_get_string (details, "reason"),
      reason);
  g_error_free (error);
  gst_message_unref (message);
}

GST_START_TEST (test_told_and_taken)
{
  GstBus *bus;
  GstHarness *h = open_harness ("samtrack edges=none initial-prompt=\""
      SQUARE_POINT "\"", &bus);
  GstBuffer *buf = sam_harness_run (h, 0);
  GstStructure *told = take_message (bus, "samtrack-answers"), *asked;
  gboolean ok = FALSE;
  guint taken, other, i;

  fail_unless (told != NULL);
  fail_unless_equals_uint64 (sam_get_uint64 (told, "id"), 1);
  taken = sam_get_uint (told, "taken");
  check_is_shown (get_answer (told, taken - 1), buf);
  /* The one that is taken tells the IoU of the click's window, so that it need
   * not be the highest. */
  for (i = 0; i < 3; i++)
    fail_unless (sam_get_double (get_answer (told, i), "iou") > 0 &&
        sam_get_double (get_answer (told, i), "iou") <= 1);
  gst_buffer_unref (buf);

  asked = ask (h, 1);
  fail_unless (asked != NULL);
  gst_structure_remove_field (told, "running-time");
  fail_unless (gst_structure_is_equal (told, asked));
  gst_structure_free (asked);
  gst_structure_free (told);
  fail_unless (ask (h, 2) == NULL);

  other = taken % 3 + 1;
  g_signal_emit_by_name (h->element, "take-answer", (guint64) 1, other, &ok);
  fail_unless (ok);
  gst_buffer_unref (sam_harness_run (h, 0));
  told = take_message (bus, "samtrack-answers");
  fail_unless (told && sam_get_uint (told, "taken") == other);
  gst_structure_free (told);
  gst_buffer_unref (sam_harness_run (h, 0));
  fail_unless (take_message (bus, "samtrack-answers") == NULL);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* In the text, with the click, before its frame, and after it. */
GST_START_TEST (test_taken_by_text)
{
  guint n;

  for (n = 1; n <= 3; n++) {
    GstBus *bus;
    GstHarness *h = open_harness ("samtrack edges=none", &bus);
    gchar *text = g_strdup_printf (n == 1 ? SQUARE_POINT ",answer=%u" :
        n == 2 ? SQUARE_POINT ";take,id=1,answer=%u" : SQUARE_POINT, n);
    GstStructure *told;
    GstBuffer *buf;

    g_signal_emit_by_name (h->element, "prompt", text);
    buf = sam_harness_run (h, 0);
    if (n == 3) {
      g_signal_emit_by_name (h->element, "prompt", "take,id=1,answer=3");
      gst_buffer_unref (buf);
      buf = sam_harness_run (h, 0);
      told = ask (h, 1);
    } else {
      told = take_message (bus, "samtrack-answers");
      check_is_shown (get_answer (told, n - 1), buf);
    }
    fail_unless (told && sam_get_uint (told, "taken") == n);
    gst_structure_free (told);
    gst_buffer_unref (buf);
    g_free (text);
    fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING,
            NULL), 0);
    sam_harness_close (h, bus);
  }
}

GST_END_TEST;

GST_START_TEST (test_refused)
{
  GstBus *bus;
  GstHarness *h = open_harness ("samtrack", &bus);
  gboolean ok = TRUE;

  g_signal_emit_by_name (h->element, "prompt", SQUARE_BOX ",answer=2");
  check_refused (bus, "syntax", "'answer' is not a key of it");
  g_signal_emit_by_name (h->element, "prompt", SQUARE_POINT ",answer=4");
  check_refused (bus, "syntax", "expected is 1, 2 or 3");
  g_signal_emit_by_name (h->element, "prompt", "take,id=1");
  check_refused (bus, "syntax", "'answer' is missing");
  g_signal_emit_by_name (h->element, "take-answer", (guint64) 1, 4, &ok);
  fail_if (ok);
  check_refused (bus, "answer", "expected answer 1, 2 or 3");
  g_signal_emit_by_name (h->element, "take-answer", (guint64) 1, 2, &ok);
  fail_if (ok);
  check_refused (bus, "not-tracked", "object 1 is not tracked");

  g_signal_emit_by_name (h->element, "prompt", SQUARE_BOX);
  gst_buffer_unref (sam_harness_run (h, 0));
  fail_unless (ask (h, 1) == NULL);
  g_signal_emit_by_name (h->element, "prompt", "take,id=1,answer=2");
  gst_buffer_unref (sam_harness_run (h, 0));
  check_refused (bus, "answer", "not a single click");
  g_signal_emit_by_name (h->element, "prompt", SQUARE_POINT ",id=1;"
      SQUARE_POINT ",id=1,answer=1");
  gst_buffer_unref (sam_harness_run (h, 0));
  check_refused (bus, "answer", "adds to others for the next frame");
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
answers_suite (void)
{
  Suite *s = suite_create ("answers");
  TCase *tc = sam_tcase_new (s, "answers");

  tcase_add_test (tc, test_told_and_taken);
  tcase_add_test (tc, test_taken_by_text);
  tcase_add_test (tc, test_refused);
  return s;
}

GST_CHECK_MAIN (answers);

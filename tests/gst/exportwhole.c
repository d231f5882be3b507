/* SPDX-License-Identifier: MIT */
/* samexport: files that are whole or not there, and the same whenever the same
 * frames are tracked. */

#include "exportcheck.h"

#include <glib/gstdio.h>
#include <string.h>

static gchar *
read_whole (const gchar * name)
{
  gchar *path = export_get_path (name), *text = NULL;

  fail_unless (g_file_get_contents (path, &text, NULL, NULL), "%s", path);
  g_free (path);
  return text;
}

/* Lines of the same frames are the same to the byte, whatever time it took. */
GST_START_TEST (test_files_of_the_same_frames_are_the_same)
{
  gchar *text[2];
  guint i;

  for (i = 0; i < 2; i++) {
    gchar *name = g_strdup_printf ("%u.jsonl", i);
    GstHarness *h = export_open ("run=mine volatile=false", name);
    GstBuffer *buf = export_tracked_new (0);

    gst_structure_set (gst_custom_meta_get_structure
        (gst_buffer_get_custom_meta (buf, "GstSamTrackMeta")), "inference-time",
        G_TYPE_UINT64, (guint64) (1000 + i), NULL);
    gst_harness_push (h, buf);
    export_close (h);
    text[i] = read_whole (name);
    g_free (name);
  }
  fail_unless_equals_string (text[0], text[1]);
  fail_unless (g_str_has_prefix (text[0], "{\"run\":\"mine\","), "%s", text[0]);
  fail_if (strstr (text[0], "inference_time"));
  fail_unless (strstr (text[0], "\"mask_time\"") != NULL);
  g_free (text[0]);
  g_free (text[1]);
}

GST_END_TEST;

static guint
count_files (void)
{
  gchar **names = export_list ();
  const guint n = g_strv_length (names);

  g_strfreev (names);
  return n;
}

/* Under its name is the whole file, or the one that was there before. */
GST_START_TEST (test_a_file_has_its_name_at_the_end)
{
  const gchar *format = __i__ ? "format=mot atomic=true" : "atomic=true";
  const gchar *name = __i__ ? "gt.txt" : "a.jsonl";
  gchar *path = export_get_path (name), *text, **lines;
  GstHarness *h;

  fail_unless (g_file_set_contents (path, "before", -1, NULL));
  h = export_open (format, name);
  text = export_get_refusal (format, name);
  fail_unless (text && strstr (text, "another samexport"), "%s", text);
  g_free (text);
  gst_harness_push (h, export_tracked_new (0));
  export_wait_until_written (h, 1);
  gst_harness_teardown (h);     /* without an end of the stream */
  text = read_whole (name);
  fail_unless_equals_string (text, "before");
  g_free (text);
  fail_unless_equals_int (count_files (), __i__ ? 2 : 1);       /* labels.txt */

  h = export_open (format, name);
  gst_harness_push (h, export_tracked_new (0));
  gst_harness_push_event (h, gst_event_new_eos ());
  lines = export_read_lines (name);
  fail_unless_equals_int (g_strv_length (lines), 1);
  g_strfreev (lines);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "first-stream-time"), 0);
  gst_harness_teardown (h);
  lines = export_read_lines (name);
  fail_unless_equals_int (g_strv_length (lines), 1);
  g_strfreev (lines);
  fail_unless_equals_int (count_files (), __i__ ? 2 : 1);
  g_free (path);
}

GST_END_TEST;

/* A name that cannot be given is told; with strict it is an error. */
GST_START_TEST (test_a_name_that_cannot_be_given)
{
  GstHarness *h = export_open (__i__ ? "atomic=true strict=true" :
      "atomic=true", "a.jsonl");
  GstBus *bus = sam_harness_add_bus (h);
  gchar *path = export_get_path ("a.jsonl"), *text = NULL;

  gst_harness_push (h, export_tracked_new (0));
  fail_if (g_mkdir (path, 0700));
  gst_harness_push_event (h, gst_event_new_eos ());
  fail_unless_equals_int (sam_count_messages (bus, __i__ ? GST_MESSAGE_ERROR :
          GST_MESSAGE_WARNING, &text), 1);
  fail_unless (strstr (text, __i__ ? "not all of it was written" :
          "cannot be renamed to") != NULL, "%s", text);
  g_free (text);
  export_close_bus (bus);
  gst_harness_teardown (h);
  fail_unless_equals_int (count_files (), 1);
  text = export_get_refusal ("atomic=true", "a.jsonl");
  fail_unless (text && strstr (text, "a folder, expected a regular file"), "%s",
      text);
  g_free (text);
  text = export_get_refusal ("atomic=true format=davis", "davis");
  fail_unless (text && strstr (text, "'atomic'"), "%s", text);
  g_free (text);
  g_free (path);
}

GST_END_TEST;

/* Stream times of what came in: a program compares them with the file's. */
GST_START_TEST (test_stats_have_stream_times)
{
  GstHarness *h = export_open ("", "a.jsonl");
  guint n;

  fail_unless (sam_get_stat (h->element, "first-stream-time") ==
      GST_CLOCK_TIME_NONE);
  for (n = 3; n < 6; n++)
    gst_harness_push (h, export_tracked_new (n));
  fail_unless_equals_uint64 (sam_get_stat (h->element, "first-stream-time"),
      gst_util_uint64_scale (3, GST_SECOND, 30));
  fail_unless_equals_uint64 (sam_get_stat (h->element, "last-stream-time"),
      gst_util_uint64_scale (5, GST_SECOND, 30));
  export_close (h);
}

GST_END_TEST;

static Suite *
exportwhole_suite (void)
{
  Suite *suite = suite_create ("exportwhole");
  TCase *tc = sam_tcase_new (suite, "exportwhole");

  tcase_add_checked_fixture (tc, export_set_up, export_tear_down);
  tcase_add_test (tc, test_files_of_the_same_frames_are_the_same);
  tcase_add_loop_test (tc, test_a_file_has_its_name_at_the_end, 0, 2);
  tcase_add_loop_test (tc, test_a_name_that_cannot_be_given, 0, 2);
  tcase_add_test (tc, test_stats_have_stream_times);
  return suite;
}

GST_CHECK_MAIN (exportwhole);

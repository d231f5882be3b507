/* SPDX-License-Identifier: MIT */
/* No memory at the start: an error message, a clean NULL, and it works again
 * once there is some. Alone, because the limit is the process's. */

#include "samcheck.h"

#include <sys/resource.h>

static guint64
get_size (void)
{
  gchar *text = NULL;
  guint64 pages;

  fail_unless (g_file_get_contents ("/proc/self/statm", &text, NULL, NULL));
  pages = g_ascii_strtoull (text, NULL, 10);
  g_free (text);
  return pages * 4096;
}

GST_START_TEST (test_no_memory_is_an_error)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc num-buffers=2 ! "
      "samtrack name=t max-objects=255 ! fakesink", NULL);
  GstElement *track = gst_bin_get_by_name (GST_BIN (pipeline), "t");
  GstBus *bus = gst_element_get_bus (pipeline);
  struct rlimit old, tight;
  GstMessage *message;
  GError *error = NULL;

  fail_unless_equals_int (getrlimit (RLIMIT_AS, &old), 0);
  tight = old;
  /* Enough for threads and weights, not for the 112 MB of 255 objects. */
  tight.rlim_cur = get_size () + 70 * 1024 * 1024;
  fail_unless_equals_int (setrlimit (RLIMIT_AS, &tight), 0);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 10 * GST_SECOND,
      GST_MESSAGE_ERROR);
  setrlimit (RLIMIT_AS, &old);
  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (g_error_matches (error, GST_RESOURCE_ERROR,
          GST_RESOURCE_ERROR_NO_SPACE_LEFT), "%s", error->message);
  g_error_free (error);
  gst_message_unref (message);
  fail_unless_equals_int (gst_element_set_state (pipeline, GST_STATE_NULL),
      GST_STATE_CHANGE_SUCCESS);

  g_object_set (track, "max-objects", 2, NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (track);
  gst_object_unref (pipeline);
}

GST_END_TEST;

static Suite *
nomemory_suite (void)
{
  Suite *s = suite_create ("nomemory");
  TCase *tc = sam_tcase_new (s, "start");

  tcase_add_test (tc, test_no_memory_is_an_error);
  return s;
}

GST_CHECK_MAIN (nomemory);

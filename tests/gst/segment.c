/* SPDX-License-Identifier: MIT */
/* Segments that do not count time. Every critical message of GStreamer fails a
 * test here. */

#include "samcheck.h"

#include <glib/gstdio.h>
#include <string.h>

#define FRAMES 3

static const GstFormat formats[] = { GST_FORMAT_BYTES, GST_FORMAT_DEFAULT,
  GST_FORMAT_BUFFERS
};

static GstHarness *
new_harness (const gchar * launch, GstFormat format)
{
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGB, 64, 48);
  GstSegment segment;

  gst_segment_init (&segment, format);
  fail_unless (gst_harness_push_event (h, gst_event_new_segment (&segment)));
  return h;
}

GST_START_TEST (test_the_tracker_does_without_times)
{
  guint i, n;

  for (i = 0; i < G_N_ELEMENTS (formats); i++) {
    GstHarness *h = new_harness ("samtrack overload-policy=skip "
        "initial-prompt=" SQUARE_BOX, formats[i]);

    for (n = 0; n < FRAMES; n++) {
      GstBuffer *buf = sam_harness_run (h, n);
      const GstStructure *meta = sam_get_meta (buf);

      fail_unless_equals_string (gst_structure_get_string (meta, "state"),
          "ok");
      fail_unless_equals_int (sam_get_num_objects (meta), 1);
      fail_unless_equals_uint64 (sam_get_uint64 (meta, "running-time"),
          GST_CLOCK_TIME_NONE);
      gst_buffer_unref (buf);
    }
    fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), FRAMES);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

GST_START_TEST (test_the_overlay_does_without_times)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (formats); i++) {
    GstHarness *h = new_harness ("samoverlay", formats[i]);

    gst_buffer_unref (sam_harness_run (h, 0));
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* A segment in bytes as GStreamer's own source sends it. */
GST_START_TEST (test_a_raw_file_is_tracked)
{
  const gsize size = FRAMES * 64 * 48 * 3;
  guint8 *frames = g_malloc0 (size);
  GstElement *pipeline, *samtrack;
  GstMessage *message;
  gchar *name, *text;
  GstBus *bus;

  g_close (g_file_open_tmp ("samtrack-XXXXXX.rgb", &name, NULL), NULL);
  fail_unless (g_file_set_contents (name, (gchar *) frames, size, NULL));
  g_free (frames);
  text = g_strdup_printf ("filesrc location=%s blocksize=%d ! "
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1 ! "
      "samtrack name=samtrack initial-prompt=" SQUARE_BOX " ! samoverlay ! "
      "fakesink", name, 64 * 48 * 3);
  pipeline = gst_parse_launch (text, NULL);
  samtrack = gst_bin_get_by_name (GST_BIN (pipeline), "samtrack");
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, GST_CLOCK_TIME_NONE,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless_equals_int (GST_MESSAGE_TYPE (message), GST_MESSAGE_EOS);
  fail_unless_equals_uint64 (sam_get_stat (samtrack, "inferred"), FRAMES);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (samtrack);
  gst_object_unref (pipeline);
  g_remove (name);
  g_free (name);
  g_free (text);
}

GST_END_TEST;

static Suite *
segment_suite (void)
{
  Suite *s = suite_create ("segment");
  TCase *tc = sam_tcase_new_tiny (s, "without time");

  tcase_add_test (tc, test_the_tracker_does_without_times);
  tcase_add_test (tc, test_the_overlay_does_without_times);
  tcase_add_test (tc, test_a_raw_file_is_tracked);
  return s;
}

GST_CHECK_MAIN (segment);

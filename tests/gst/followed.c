/* SPDX-License-Identifier: MIT */
/* Two speeds with the engine: the included model follows itself, with a smaller
 * input. */

#include "samcheck.h"

#include <stdlib.h>

static gchar *
launch_of (const gchar * properties)
{
  return g_strdup_printf ("samtrack follow=%s %s", g_getenv ("SAMTRACK_FAST"),
      properties);
}

/* In a live stream frames get masks of the fast model, which are where the
 * square is. */
GST_START_TEST (test_a_live_stream)
{
  gchar *launch = launch_of ("input-size=320 initial-prompt=" SQUARE_BOX);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGB, 320, 240);
  guint n, age, followed = 0;

  gst_harness_set_live (h, TRUE);
  for (n = 0; n < 600 && followed < 20; n++) {
    GstBuffer *buf = sam_harness_run (h, n);
    const GstStructure *meta = sam_get_meta (buf);

    if (sam_get_num_objects (meta) && gst_structure_get_uint
        (sam_get_object (meta, 0), "anchor-age", &age)) {
      fail_unless_equals_string (gst_structure_get_string (sam_get_object
              (meta, 0), "model"), "follow");
      fail_unless_equals_uint64 (sam_get_id (meta, 0), 1);
      fail_unless (sam_meta_iou (meta, 0) > GOOD_IOU);
      followed++;
    }
    gst_buffer_unref (buf);
    g_usleep (5000);
  }
  fail_unless (followed >= 20, "%u of %u frames", followed, n);
  gst_harness_teardown (h);
  g_free (launch);
}

GST_END_TEST;

/* Both must fit; a file that is none is told as one of model-file is. */
GST_START_TEST (test_refusals)
{
  gchar *launch = launch_of ("memory-budget=60 max-objects=1 history=0");
  gchar *damaged;

  sam_expect_refusal (launch, "model-file and follow need",
      GST_RESOURCE_ERROR_NO_SPACE_LEFT);
  g_free (launch);
  sam_folder_make ("damaged.safetensors");
  fail_unless (g_file_set_contents (sam_file, "no weights", -1, NULL));
  damaged = g_strdup_printf ("samtrack follow=%s", sam_file);
  sam_expect_refusal (damaged, sam_file, GST_RESOURCE_ERROR_SETTINGS);
  g_free (damaged);
  sam_expect_refusal ("samtrack follow=/nowhere/x.safetensors",
      "/nowhere/x.safetensors", GST_RESOURCE_ERROR_NOT_FOUND);
  sam_folder_remove ();
}

GST_END_TEST;

static Suite *
followed_suite (void)
{
  Suite *s = suite_create ("followed");
  TCase *tc = sam_tcase_new (s, "engine");

  tcase_add_test (tc, test_a_live_stream);
  tcase_add_test (tc, test_refusals);
  return s;
}

GST_CHECK_MAIN (followed);

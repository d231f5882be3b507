/* SPDX-License-Identifier: MIT */
/* The element: what it adds to a frame, and what it does with bad ones. */

#include "samcheck.h"

#include <glib/gstdio.h>
#include <string.h>

GST_START_TEST (test_a_box_gives_the_mask_of_what_is_in_it)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 320, 240);
  guint n;

  for (n = 0; n < 10; n++) {
    GstBuffer *buf = sam_harness_run (h, n);
    const GstStructure *meta = sam_get_meta (buf), *object;

    fail_unless_equals_string (gst_structure_get_string (meta, "state"), "ok");
    fail_unless_equals_int (sam_get_int (meta, "width"), 320);
    fail_unless_equals_int (sam_get_int (meta, "height"), 240);
    fail_unless_equals_uint64 (sam_get_uint64 (meta, "running-time"),
        n * GST_SECOND / 30);
    fail_unless_equals_int (sam_get_uint (meta, "age"), 0);
    fail_unless_equals_int (sam_get_num_objects (meta), 1);
    object = sam_get_object (meta, 0);
    fail_unless_equals_uint64 (sam_get_uint64 (object, "id"), 1);
    fail_unless_equals_int (sam_get_uint (object, "slot"), 1);
    fail_unless_equals_string (gst_structure_get_string (object, "state"),
        n ? "tracked" : "new");
    fail_unless (sam_get_double (object, "score") > 0);
    fail_unless (sam_meta_iou (meta, 0) > GOOD_IOU, "frame %u: IoU %g", n,
        sam_meta_iou (meta, 0));
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_the_box_and_area_are_those_of_the_mask)
{
  GstHarness *h = sam_harness_new ("samtrack mask-size=frame initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_I420, 320, 240);
  GstBuffer *buf = sam_harness_run (h, 0);
  const GstStructure *meta = sam_get_meta (buf);
  const GstStructure *object = sam_get_object (meta, 0);
  gint x0 = 320, y0 = 240, x1 = -1, y1 = -1, x, y;
  guint area = 0;
  GstMapInfo map;
  GstBuffer *mask = gst_value_get_buffer (gst_structure_get_value (meta,
          "mask"));
  GstVideoMeta *layout = gst_buffer_get_video_meta (mask);

  fail_unless_equals_int (sam_get_int (meta, "mask-width"), 320);
  fail_unless_equals_int (sam_get_int (meta, "mask-height"), 240);
  fail_unless (layout && layout->format == GST_VIDEO_FORMAT_GRAY8);
  fail_unless_equals_int (layout->width, 320);
  fail_unless_equals_int (layout->stride[0], 320);
  fail_unless (gst_buffer_map (mask, &map, GST_MAP_READ));
  for (y = 0; y < 240; y++) {
    for (x = 0; x < 320; x++) {
      if (!map.data[y * 320 + x])
        continue;
      fail_unless_equals_int (map.data[y * 320 + x], 1);
      area++;
      x0 = MIN (x0, x);
      y0 = MIN (y0, y);
      x1 = MAX (x1, x);
      y1 = MAX (y1, y);
    }
  }
  gst_buffer_unmap (mask, &map);
  /* The engine may count at its own resolution: one cell of 192 / 4 is 6.7 px.
   */
  fail_unless (ABS (sam_get_int (object, "x") - x0) <= 7);
  fail_unless (ABS (sam_get_int (object, "y") - y0) <= 7);
  fail_unless (ABS (sam_get_int (object, "w") - (x1 + 1 - x0)) <= 14);
  fail_unless (ABS (sam_get_int (object, "h") - (y1 + 1 - y0)) <= 14);
  fail_unless (sam_get_uint (object, "area") > area * 0.9 &&
      sam_get_uint (object, "area") < area * 1.1, "%u and %u",
      sam_get_uint (object, "area"), area);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_regions_of_interest_tell_the_same)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_NV12, 320, 240);
  GstBuffer *buf = sam_harness_run (h, 0);
  const GstStructure *object = sam_get_object (sam_get_meta (buf), 0);
  GstVideoRegionOfInterestMeta *roi =
      gst_buffer_get_video_region_of_interest_meta_id (buf, 1);
  GstStructure *params;

  fail_unless (roi != NULL);
  fail_unless_equals_string (g_quark_to_string (roi->roi_type), "object");
  fail_unless_equals_int (roi->x, sam_get_int (object, "x"));
  fail_unless_equals_int (roi->y, sam_get_int (object, "y"));
  fail_unless_equals_int (roi->w, sam_get_int (object, "w"));
  fail_unless_equals_int (roi->h, sam_get_int (object, "h"));
  params = gst_video_region_of_interest_meta_get_param (roi, "samtrack");
  fail_unless (params != NULL);
  fail_unless_equals_uint64 (sam_get_uint64 (params, "id"), 1);
  fail_unless_equals_string (gst_structure_get_string (params, "state"), "new");
  params = gst_video_region_of_interest_meta_get_param (roi, "object_id");
  fail_unless_equals_int (sam_get_int (params, "id"), 1);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_frames_pass_untouched)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_YUY2, 64, 48);
  GstBuffer *in = sam_harness_frame (h, 0), *out;
  GstMemory *memory = gst_buffer_peek_memory (in, 0);
  GstBuffer *before = gst_buffer_copy_deep (in);
  GstMapInfo map;

  GST_BUFFER_OFFSET (in) = 17;
  gst_buffer_ref (in);          /* not writable: a copy gets the metas */
  out = gst_harness_push_and_pull (h, in);
  fail_unless (out != in);
  fail_unless (gst_buffer_peek_memory (out, 0) == memory);
  fail_unless (gst_buffer_map (out, &map, GST_MAP_READ));
  fail_unless_equals_int (gst_buffer_memcmp (before, 0, map.data, map.size), 0);
  gst_buffer_unmap (out, &map);
  fail_unless_equals_uint64 (GST_BUFFER_OFFSET (out), 17);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (out), 0);
  fail_unless_equals_uint64 (GST_BUFFER_DURATION (out), GST_SECOND / 30);
  fail_unless (gst_buffer_get_custom_meta (in, "GstSamTrackMeta") == NULL);
  gst_buffer_unref (in);
  gst_buffer_unref (out);

  in = sam_harness_frame (h, 1);        /* writable: the same buffer */
  out = gst_harness_push_and_pull (h, in);
  fail_unless (out == in);
  gst_buffer_unref (out);
  gst_buffer_unref (before);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_without_a_prompt_it_is_idle)
{
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGBA, 64, 48);
  GstBuffer *buf = sam_harness_run (h, 0);
  const GstStructure *meta = sam_get_meta (buf);

  fail_unless_equals_string (gst_structure_get_string (meta, "state"), "idle");
  fail_unless_equals_int (sam_get_num_objects (meta), 0);
  fail_if (gst_structure_has_field (meta, "mask"));
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-in"), 1);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 0);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_interval_passes_stale_masks)
{
  GstHarness *h = sam_harness_new ("samtrack interval=2 initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_RGB, 64, 48);
  guint n;

  for (n = 0; n < 7; n++) {
    GstBuffer *buf = sam_harness_run (h, n);
    const GstStructure *meta = sam_get_meta (buf);

    fail_unless_equals_string (gst_structure_get_string (meta, "state"),
        n % 3 ? "stale" : "ok");
    fail_unless_equals_int (sam_get_uint (meta, "age"), n % 3);
    fail_unless_equals_uint64 (sam_get_uint64 (meta, "running-time"),
        (n - n % 3) * GST_SECOND / 30);
    fail_unless_equals_int (sam_get_num_objects (meta), 1);
    fail_unless (sam_meta_iou (meta, 0) > 0);
    gst_buffer_unref (buf);
  }
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-in"), 7);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 3);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "skipped"), 4);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "stale"), 4);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_stats_add_up)
{
  GstHarness *h = sam_harness_new ("samtrack precision=fp32 initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_NV12, 320, 240);
  GstStructure *stats;
  guint n;

  for (n = 0; n < 12; n++)
    gst_buffer_unref (sam_harness_run (h, n));
  fail_unless_equals_uint64 (sam_get_stat (h->element, "frames-in"), 12);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 12);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "objects"), 1);
  fail_unless (sam_get_stat (h->element, "open-ns") > 0);
  fail_unless (sam_get_stat (h->element, "first-frame-ns") > 0);
  fail_unless (sam_get_stat (h->element, "bytes-planned") > 0);
  fail_unless (sam_get_stat (h->element, "bytes-used") > 0);
  fail_unless (sam_get_stat (h->element, "step-p50-ns") >=
      sam_get_stat (h->element, "encode-p50-ns"));
  fail_unless (sam_get_stat (h->element, "step-p50-ns") <=
      sam_get_stat (h->element, "step-p95-ns"));
  fail_unless (sam_get_stat (h->element, "step-p95-ns") <=
      sam_get_stat (h->element, "step-p99-ns"));
  fail_unless (sam_get_stat (h->element, "added-p50-ns") > 0);
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless_equals_string (gst_structure_get_string (stats, "precision"),
      "fp32");
  fail_unless (*gst_structure_get_string (stats, "backend"));
  fail_unless_equals_string (gst_structure_get_string (stats, "products"),
      "own");
  fail_unless_equals_string (gst_structure_get_string (stats, "without"), "");
  gst_structure_free (stats);
  gst_harness_teardown (h);
}

GST_END_TEST;

static guint64
get_count (const GstStructure * s, const gchar * name)
{
  guint64 value = G_MAXUINT64;

  fail_unless (gst_structure_get_uint64 (s, name, &value), "no %s", name);
  return value;
}

/* The next element message of that name; those of other names are dropped. */
static GstMessage *
pop_message (GstBus * bus, const gchar * name)
{
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    if (gst_message_has_name (message, name))
      return message;
    gst_message_unref (message);
  }
  return NULL;
}

/* The element message at the end of the stream: every frame once, and the same
 * as the property. */
GST_START_TEST (test_stats_are_posted_at_the_end)
{
  GstHarness *h = sam_harness_new ("samtrack interval=2 initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_I420, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  gint64 before = g_get_monotonic_time (), p50, p99;
  const GstStructure *s;
  GstStructure *stats;
  GstMessage *message;
  gdouble rate;
  guint n;

  for (n = 0; n < 10; n++)
    gst_buffer_unref (sam_harness_run (h, n));
  fail_unless (pop_message (bus, "samtrack-stats") == NULL);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  message = pop_message (bus, "samtrack-stats");
  fail_unless (message != NULL);
  fail_unless (GST_MESSAGE_SRC (message) == GST_OBJECT (h->element));
  s = gst_message_get_structure (message);
  fail_unless_equals_uint64 (get_count (s, "frames-in"), 10);
  fail_unless_equals_uint64 (get_count (s, "inferred"), 4);
  fail_unless_equals_uint64 (get_count (s, "skipped"), 6);
  fail_unless_equals_uint64 (get_count (s, "stale"), 6);
  fail_unless_equals_uint64 (get_count (s, "dropped"), 0);
  fail_unless_equals_uint64 (get_count (s, "rejected-prompts"), 0);
  fail_unless_equals_int (sam_get_uint (s, "objects"), 1);
  fail_unless (gst_structure_get_int64 (s, "step-p50-ns", &p50) &&
      gst_structure_get_int64 (s, "step-p99-ns", &p99));
  fail_unless (p50 > 0 && p50 <= p99 &&
      p99 / 1000 <= g_get_monotonic_time () - before);
  /* ten frames took at least this long, and at most all the time there was */
  rate = sam_get_double (s, "frames-per-second");
  fail_unless (rate > 9e6 / (g_get_monotonic_time () - before) &&
      rate < 9e9 / (2 * p50), "%g frames per second", rate);

  g_object_get (h->element, "stats", &stats, NULL);
  gst_structure_set_name (stats, "samtrack-stats");
  fail_unless (gst_structure_is_equal (s, stats));
  gst_structure_free (stats);
  gst_message_unref (message);
  fail_unless (pop_message (bus, "samtrack-stats") == NULL);
  gst_bus_set_flushing (bus, TRUE);
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_objects_can_be_read_at_any_time)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_NV12, 64, 48);
  GstStructure *objects;

  g_object_get (h->element, "objects", &objects, NULL);
  fail_unless_equals_int (sam_get_num_objects (objects), 0);
  gst_structure_free (objects);
  gst_buffer_unref (sam_harness_run (h, 0));
  g_object_get (h->element, "objects", &objects, NULL);
  fail_unless_equals_uint64 (sam_get_id (objects, 0), 1);
  fail_unless_equals_int (sam_get_int (objects, "width"), 64);
  gst_structure_free (objects);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_frames_of_one_pixel_and_odd_ones)
{
  static const gint sizes[][2] = { {1, 1}, {1, 7}, {7, 1}, {3, 3}, {17, 13},
  {129, 97}
  };
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_GRAY8
  };
  guint i, k;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    for (k = 0; k < G_N_ELEMENTS (formats); k++) {
      GstHarness *h = sam_harness_new ("samtrack mask-size=frame "
          "initial-prompt=" SQUARE_POINT, formats[k], sizes[i][0], sizes[i][1]);
      GstBuffer *buf = sam_harness_run (h, 0);
      const GstStructure *meta = sam_get_meta (buf);

      fail_unless_equals_int (sam_get_num_objects (meta), 1);
      fail_unless_equals_int (sam_get_int (meta, "mask-width"), sizes[i][0]);
      fail_unless_equals_int (sam_get_int (meta, "mask-height"), sizes[i][1]);
      gst_buffer_unref (buf);
      gst_harness_teardown (h);
    }
  }
}

GST_END_TEST;

GST_START_TEST (test_frames_of_8k)
{
  GstHarness *h = sam_harness_new ("samtrack mask-size=frame initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_NV12, 7680, 4320);
  GstBuffer *buf = sam_harness_run (h, 0);
  const GstStructure *meta = sam_get_meta (buf);

  fail_unless (sam_meta_iou (meta, 0) > GOOD_IOU, "IoU %g",
      sam_meta_iou (meta, 0));
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_caps_change_in_mid_stream)
{
  GstHarness *h = sam_harness_new ("samtrack interval=1 initial-prompt="
      SQUARE_BOX, GST_VIDEO_FORMAT_RGB, 320, 240);
  GstBuffer *buf = sam_harness_run (h, 0);
  const GstStructure *meta;
  gint w = sam_get_int (sam_get_object (sam_get_meta (buf), 0), "w");

  gst_buffer_unref (buf);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=NV12,width=640,height=480,framerate=30/1");
  /* stale: the last box, stretched to the new size */
  buf = sam_harness_run (h, 1);
  meta = sam_get_meta (buf);
  fail_unless_equals_string (gst_structure_get_string (meta, "state"), "stale");
  fail_unless_equals_int (sam_get_int (meta, "width"), 640);
  fail_unless (ABS (sam_get_int (sam_get_object (meta, 0), "w") - 2 * w) <= 1);
  gst_buffer_unref (buf);
  /* tracked on: the same object */
  buf = sam_harness_run (h, 2);
  meta = sam_get_meta (buf);
  fail_unless_equals_string (gst_structure_get_string (meta, "state"), "ok");
  fail_unless_equals_uint64 (sam_get_id (meta, 0), 1);
  fail_unless (sam_meta_iou (meta, 0) > GOOD_IOU);
  gst_buffer_unref (buf);
  /* another picture: the last masks cannot fit, so it is tracked on at once */
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=NV12,width=640,height=360,framerate=30/1");
  buf = sam_harness_run (h, 3);
  meta = sam_get_meta (buf);
  fail_unless_equals_string (gst_structure_get_string (meta, "state"), "ok");
  fail_unless_equals_uint64 (sam_get_id (meta, 0), 1);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_frames_without_timestamps)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  guint n;

  for (n = 0; n < 3; n++) {
    GstBuffer *buf = sam_harness_frame (h, 0);

    GST_BUFFER_PTS (buf) = GST_CLOCK_TIME_NONE;
    GST_BUFFER_DURATION (buf) = GST_CLOCK_TIME_NONE;
    buf = gst_harness_push_and_pull (h, buf);
    fail_if (GST_BUFFER_PTS_IS_VALID (buf));
    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_eos_before_the_first_frame)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstEvent *event;
  gboolean eos = FALSE;

  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  while ((event = gst_harness_try_pull_event (h))) {
    eos |= GST_EVENT_TYPE (event) == GST_EVENT_EOS;
    gst_event_unref (event);
  }
  fail_unless (eos);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_a_gap_flag_skips_inference)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *buf;

  gst_buffer_unref (sam_harness_run (h, 0));
  buf = sam_harness_frame (h, 1);
  GST_BUFFER_FLAG_SET (buf, GST_BUFFER_FLAG_GAP);
  buf = gst_harness_push_and_pull (h, buf);
  fail_unless_equals_string (gst_structure_get_string (sam_get_meta (buf),
          "state"), "stale");
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A seek begins anew: the objects are gone, the initial prompt comes again. */
GST_START_TEST (test_a_flush_begins_anew)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *buf;
  GstSegment segment;
  guint64 id;

  gst_buffer_unref (sam_harness_run (h, 0));
  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (0), 5.0,
      5.0, TRUE, FALSE, &id);
  fail_unless_equals_uint64 (id, 2);
  buf = sam_harness_run (h, 1);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  gst_buffer_unref (buf);

  gst_harness_push_event (h, gst_event_new_flush_start ());
  gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
  /* ids are never used twice */
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 3);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

static void
check_start_fails (const gchar * property, const gchar * value, GQuark domain,
    gint code, const gchar * word)
{
  GstElement *pipeline = gst_parse_launch ("videotestsrc num-buffers=2 ! "
      "samtrack name=samtrack ! fakesink", NULL);
  GstElement *samtrack = gst_bin_get_by_name (GST_BIN (pipeline), "samtrack");
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message;
  GError *error = NULL;

  gst_util_set_object_arg (G_OBJECT (samtrack), property, value);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 10 * GST_SECOND,
      GST_MESSAGE_ERROR);
  fail_unless (message != NULL, "%s=%s gave no error", property, value);
  gst_message_parse_error (message, &error, NULL);
  fail_unless (error->domain == domain && error->code == code,
      "%s=%s gave %s %d: %s", property, value,
      g_quark_to_string (error->domain), error->code, error->message);
  fail_unless (!word || strstr (error->message, word), "'%s' does not say '%s'",
      error->message, word);
  g_error_free (error);
  gst_message_unref (message);
  fail_unless_equals_int (gst_element_set_state (pipeline, GST_STATE_NULL),
      GST_STATE_CHANGE_SUCCESS);

  /* and it works once the setting is mended */
  gst_util_set_object_arg (G_OBJECT (samtrack), "backend", "auto");
  g_object_set (samtrack, "model-file", NULL, "memory-budget", 0, NULL);
  gst_bus_set_flushing (bus, TRUE);
  gst_bus_set_flushing (bus, FALSE);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, 20 * GST_SECOND,
      GST_MESSAGE_ERROR | GST_MESSAGE_EOS);
  fail_unless (message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS);
  gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (samtrack);
  gst_object_unref (pipeline);
}

GST_START_TEST (test_a_missing_model_is_an_error)
{
  check_start_fails ("model-file", "/nowhere/model.safetensors",
      GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
      "/nowhere/model.safetensors");
}

GST_END_TEST;

GST_START_TEST (test_a_small_budget_is_an_error)
{
  check_start_fails ("memory-budget", "1", GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_NO_SPACE_LEFT, "a budget of 1 MiB is too small");
}

GST_END_TEST;

GST_START_TEST (test_a_foreign_model_is_an_error)
{
  gchar *name = NULL;
  gint fd = g_file_open_tmp ("samtrack-XXXXXX.safetensors", &name, NULL);

  fail_unless (fd >= 0);
  g_close (fd, NULL);
  fail_unless (g_file_set_contents (name, "this holds no weights", -1, NULL));
  check_start_fails ("model-file", name, GST_RESOURCE_ERROR,
      GST_RESOURCE_ERROR_SETTINGS, name);
  check_start_fails ("model-file", g_getenv ("SAMTRACK_DETECTOR"),
      GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, "model.safetensors");
  g_remove (name);
  g_free (name);
}

GST_END_TEST;

GST_START_TEST (test_there_and_back_a_hundred_times)
{
  /* The first keeps the weights, which all elements share. */
  GstHarness *keeper = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 8, 8);
  GstHarness *h = sam_harness_new ("samtrack max-objects=2 "
      "initial-prompt=" SQUARE_BOX, GST_VIDEO_FORMAT_RGB, 64, 48);
  GstVideoInfo info;
  GstSegment segment;
  GstCaps *caps;
  GstPad *sink = gst_element_get_static_pad (h->element, "sink");
  gint i;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGB, 64, 48);
  caps = gst_video_info_to_caps (&info);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  for (i = 0; i < 100; i++) {
    fail_unless_equals_int (gst_element_set_state (h->element,
            GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    if (i % 10 == 0) {
      gst_pad_send_event (sink, gst_event_new_stream_start ("again"));
      gst_pad_send_event (sink, gst_event_new_caps (caps));
      gst_pad_send_event (sink, gst_event_new_segment (&segment));
      fail_unless_equals_int (gst_pad_chain (sink, sam_frame_new (&info, 0)),
          GST_FLOW_OK);
      fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 1);
    }
    fail_unless_equals_int (gst_element_set_state (h->element,
            GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
  gst_caps_unref (caps);
  gst_object_unref (sink);
  gst_harness_teardown (h);
  gst_harness_teardown (keeper);
}

GST_END_TEST;

/* The area of a square with a hole of a hundredth of the frame, or an island of
 * that size beside it, as the element shows it. */
static guint
area_of_pieces (const gchar * element, gboolean island)
{
  GstHarness *h =
      sam_harness_new (element, GST_VIDEO_FORMAT_I420, 320, 240);
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 64 * 48, NULL);
  GstCaps *caps = gst_caps_from_string ("video/x-raw,format=GRAY8,width=64,"
      "height=48,framerate=0/1");
  GstSample *mask;
  guint64 id = 0;
  guint area, y;

  gst_buffer_memset (buf, 0, 0, 64 * 48);
  for (y = 12; y < 36; y++)
    gst_buffer_memset (buf, y * 64 + 16, 1, 24);
  for (y = 20; y < 25; y++)
    gst_buffer_memset (buf, y * 64 + (island ? 50 : 24), island, 6);
  mask = gst_sample_new (buf, caps, NULL, NULL);
  gst_buffer_unref (buf);
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), mask,
      &id);
  buf = gst_harness_push_and_pull (h, sam_harness_frame (h, 0));
  area = sam_get_uint (sam_get_object (sam_get_meta (buf), 0), "area");
  gst_buffer_unref (buf);
  gst_sample_unref (mask);
  gst_caps_unref (caps);
  gst_harness_teardown (h);
  return area;
}

GST_START_TEST (test_holes_are_filled)
{
  /* 24 x 24 of 64 x 48, less 6 x 5; 62 pixels of a mask of 80 x 80 */
  const gint whole = 24 * 24 * 25, hole = 6 * 5 * 25;
  const gint open = area_of_pieces ("samtrack fill-holes=8", FALSE);
  const gint filled = area_of_pieces ("samtrack fill-holes=80", FALSE);

  fail_unless (ABS (open - (whole - hole)) < hole / 2, "%d", open);
  fail_unless (ABS (filled - whole) < hole / 2, "%d", filled);
  fail_unless (filled > open + hole / 2, "%d of %d", filled, open);
}

GST_END_TEST;

GST_START_TEST (test_islands_are_removed)
{
  const gint square = 24 * 24 * 25, island = 6 * 5 * 25;
  const gint all = area_of_pieces ("samtrack remove-islands=8", TRUE);
  const gint alone = area_of_pieces ("samtrack remove-islands=100", TRUE);

  fail_unless (ABS (all - square - island) < island / 2, "%d", all);
  fail_unless (ABS (alone - square) < island / 2, "%d", alone);
}

GST_END_TEST;

static Suite *
samtrack_suite (void)
{
  Suite *s = suite_create ("samtrack");
  TCase *tc = sam_tcase_new (s, "frames");

  tcase_add_test (tc, test_a_box_gives_the_mask_of_what_is_in_it);
  tcase_add_test (tc, test_the_box_and_area_are_those_of_the_mask);
  tcase_add_test (tc, test_regions_of_interest_tell_the_same);
  tcase_add_test (tc, test_frames_pass_untouched);
  tcase_add_test (tc, test_without_a_prompt_it_is_idle);
  tcase_add_test (tc, test_interval_passes_stale_masks);
  tcase_add_test (tc, test_stats_add_up);
  tcase_add_test (tc, test_stats_are_posted_at_the_end);
  tcase_add_test (tc, test_objects_can_be_read_at_any_time);
  tcase_add_test (tc, test_frames_of_8k);
  tcase_add_test (tc, test_caps_change_in_mid_stream);
  tcase_add_test (tc, test_holes_are_filled);
  tcase_add_test (tc, test_islands_are_removed);
  tc = sam_tcase_new_tiny (s, "bad input");
  tcase_add_test (tc, test_frames_of_one_pixel_and_odd_ones);
  tcase_add_test (tc, test_frames_without_timestamps);
  tcase_add_test (tc, test_eos_before_the_first_frame);
  tcase_add_test (tc, test_a_gap_flag_skips_inference);
  tcase_add_test (tc, test_a_flush_begins_anew);
  tc = sam_tcase_new_tiny (s, "states");
  tcase_add_test (tc, test_a_missing_model_is_an_error);
  tcase_add_test (tc, test_a_small_budget_is_an_error);
  tcase_add_test (tc, test_a_foreign_model_is_an_error);
  tcase_add_test (tc, test_there_and_back_a_hundred_times);
  return s;
}

GST_CHECK_MAIN (samtrack);

/* SPDX-License-Identifier: MIT */
/* Overload and latency: never silently late. */

#include "samcheck.h"

#include "track/gstsamqos.h"

#include <string.h>

#define TRACK "samtrack initial-prompt=" SQUARE_BOX " "

/* What a sink says that shows frames @late behind the one of @time. */
static void
push_qos (GstHarness * h, GstClockTime time, GstClockTimeDiff late)
{
  fail_unless (gst_harness_push_upstream_event (h,
          gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 1.5, late, time)));
}

static void
check_state (GstHarness * h, guint n, const gchar * state)
{
  GstBuffer *buf = sam_harness_run (h, n);
  const gchar *got = gst_structure_get_string (sam_get_meta (buf), "state");

  fail_unless_equals_string (got, state);
  gst_buffer_unref (buf);
}

GST_START_TEST (test_skip_passes_late_frames_with_stale_masks)
{
  GstHarness *h = sam_harness_new (TRACK "overload-policy=skip",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  GstMessage *message;
  GstFormat format;
  guint64 processed, dropped;

  check_state (h, 0, "ok");
  /* frames up to the third are late, as the sink has it */
  push_qos (h, 0, 3 * GST_SECOND / 30);
  check_state (h, 1, "stale");
  check_state (h, 2, "stale");
  check_state (h, 3, "stale");
  check_state (h, 4, "ok");
  fail_unless_equals_uint64 (sam_get_stat (h->element, "skipped"), 3);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "stale"), 3);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "stale-ages"), 1 + 2 + 3);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 2);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "dropped"), 0);
  /* and it is said, but not every time */
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_QOS);
  fail_unless (message != NULL);
  gst_message_parse_qos_stats (message, &format, &processed, &dropped);
  fail_unless_equals_int (format, GST_FORMAT_BUFFERS);
  fail_unless_equals_uint64 (processed, 1);
  gst_message_unref (message);
  fail_unless (gst_bus_pop_filtered (bus, GST_MESSAGE_QOS) == NULL);
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_drop_drops_them)
{
  GstHarness *h = sam_harness_new (TRACK "overload-policy=drop",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBuffer *buf;
  guint n;

  check_state (h, 0, "ok");
  push_qos (h, 0, 2 * GST_SECOND / 30);
  for (n = 1; n <= 3; n++)
    fail_unless_equals_int (gst_harness_push (h, sam_harness_frame (h, n)),
        GST_FLOW_OK);
  buf = gst_harness_pull (h);
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buf), 3 * GST_SECOND / 30);
  fail_unless (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_DISCONT));
  gst_buffer_unref (buf);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "dropped"), 2);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 2);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_block_tracks_on_every_frame)
{
  GstHarness *h = sam_harness_new (TRACK "overload-policy=block",
      GST_VIDEO_FORMAT_RGB, 64, 48);

  check_state (h, 0, "ok");
  push_qos (h, 0, GST_SECOND);
  check_state (h, 1, "ok");
  check_state (h, 2, "ok");
  gst_harness_teardown (h);
}

GST_END_TEST;

/* auto follows what the pipeline says of itself. */
GST_START_TEST (test_auto_skips_where_it_is_live)
{
  GstHarness *h = sam_harness_new (TRACK, GST_VIDEO_FORMAT_RGB, 64, 48);

  check_state (h, 0, "ok");
  push_qos (h, 0, GST_SECOND / 30);
  check_state (h, 1, "ok");
  gst_harness_teardown (h);

  h = sam_harness_new (TRACK "max-wait=10000000000", GST_VIDEO_FORMAT_RGB, 64,
      48);
  gst_harness_set_live (h, TRUE);
  check_state (h, 0, "ok");
  push_qos (h, 0, GST_SECOND / 30);
  check_state (h, 1, "stale");
  gst_harness_teardown (h);
}

GST_END_TEST;

/* However late, the masks do not die. */
GST_START_TEST (test_skipping_ends)
{
  GstHarness *h = sam_harness_new (TRACK "overload-policy=skip",
      GST_VIDEO_FORMAT_RGB, 64, 48);
  guint n;

  check_state (h, 0, "ok");
  push_qos (h, 0, 1000 * GST_SECOND);
  for (n = 1; n < 1000; n++) {
    gst_buffer_unref (sam_harness_run (h, n));
    if (sam_get_stat (h->element, "inferred") > 1)
      break;
    g_usleep (20000);
  }
  fail_unless (n > 5 && n < 1000, "again after %u frames", n);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* What is reported covers what was measured; both pads and stats agree. */
GST_START_TEST (test_latency_is_what_was_measured)
{
  GstHarness *h = sam_harness_new (TRACK, GST_VIDEO_FORMAT_RGB, 64, 48);
  GstClockTime latency;
  guint64 p95;
  guint n;

  gst_harness_set_upstream_latency (h, 10 * GST_MSECOND);
  fail_unless_equals_uint64 (gst_harness_query_latency (h), 10 * GST_MSECOND);
  for (n = 0; n < 17; n++)
    gst_buffer_unref (sam_harness_run (h, n));
  latency = gst_harness_query_latency (h) - 10 * GST_MSECOND;
  fail_unless_equals_uint64 (latency, sam_get_stat (h->element,
          "latency-reported"));
  p95 = sam_get_stat (h->element, "step-p95-ns");
  if (p95 > 20 * GST_MSECOND)
    fail_unless (latency > p95 / 2, "%" G_GUINT64_FORMAT " ns reported, p95 is "
        "%" G_GUINT64_FORMAT, latency, p95);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* So many frames of that many ms: how often is there something new to report?
 */
static guint
measure (GstSamQos * qos, guint n, guint ms)
{
  guint changes = 0;

  while (n--)
    changes += gst_sam_qos_measure (qos, ms * GST_MSECOND);
  return changes;
}

GST_START_TEST (test_latency_does_not_jitter)
{
  GstSamQos qos;

  memset (&qos, 0, sizeof qos);
  gst_sam_qos_init (&qos);
  /* 15 ms are granted by every video sink */
  fail_unless_equals_int (measure (&qos, 64, 14), 0);
  fail_unless_equals_uint64 (gst_sam_qos_get_reported (&qos), 0);
  fail_unless_equals_int (measure (&qos, 64, 20), 1);
  fail_unless_equals_uint64 (gst_sam_qos_get_reported (&qos),
      21 * GST_MSECOND);
  /* what was reported covers it, or nearly is it */
  fail_unless_equals_int (measure (&qos, 64, 20), 0);
  fail_unless_equals_int (measure (&qos, 64, 16), 0);
  /* two outliers of 64 are not the latency, eight are */
  measure (&qos, 2, 500);
  fail_unless_equals_int (measure (&qos, 62, 20), 0);
  measure (&qos, 8, 100);
  fail_unless_equals_int (measure (&qos, 8, 20), 1);
  fail_unless_equals_uint64 (gst_sam_qos_get_reported (&qos),
      105 * GST_MSECOND);
  fail_unless_equals_int (measure (&qos, 64, 20), 1);
  /* still reported a little below the grant, then no more */
  fail_unless_equals_int (measure (&qos, 64, 11), 1);
  fail_unless (gst_sam_qos_get_reported (&qos) > 11 * GST_MSECOND);
  fail_unless_equals_int (measure (&qos, 64, 8), 1);
  fail_unless_equals_uint64 (gst_sam_qos_get_reported (&qos), 0);
  gst_sam_qos_clear (&qos);
}

GST_END_TEST;

static Suite *
overload_suite (void)
{
  Suite *s = suite_create ("overload");
  TCase *tc = sam_tcase_new_tiny (s, "overload");

  tcase_add_test (tc, test_skip_passes_late_frames_with_stale_masks);
  tcase_add_test (tc, test_drop_drops_them);
  tcase_add_test (tc, test_block_tracks_on_every_frame);
  tcase_add_test (tc, test_auto_skips_where_it_is_live);
  tcase_add_test (tc, test_skipping_ends);
  tc = sam_tcase_new (s, "latency");
  tcase_add_test (tc, test_latency_is_what_was_measured);
  tcase_add_test (tc, test_latency_does_not_jitter);
  return s;
}

GST_CHECK_MAIN (overload);

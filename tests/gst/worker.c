/* SPDX-License-Identifier: MIT */
/* The thread that tracks where the pipeline is live. The element is linked with a
 * gate before sam_tracker_step(), so that a test decides how long a step takes. */

#include "gate.h"

#include <string.h>

/* Before a frame is copied for the worker. */
static SamGate copy_gate;

gboolean __real_gst_video_frame_copy (GstVideoFrame * to,
    const GstVideoFrame * from);

gboolean __wrap_gst_video_frame_copy (GstVideoFrame * to,
    const GstVideoFrame * from);

gboolean
__wrap_gst_video_frame_copy (GstVideoFrame * to, const GstVideoFrame * from)
{
  gboolean ok;

  sam_gate_enter (&copy_gate, NULL);
  ok = __real_gst_video_frame_copy (to, from);
  sam_gate_leave (&copy_gate);
  return ok;
}

/* Wait for all steps of frames that came so far. */
static void
settle (GstHarness * h)
{
  gst_sam_worker_wait (&((GstSamTrack *) h->element)->worker, LONG);
}

/* What the meta of the n-th frame says of how old its masks are. */
static void
check_frame (GstHarness * h, guint n, const gchar * state, gint age)
{
  GstBuffer *buf = sam_harness_run (h, n);
  const GstStructure *meta = sam_get_meta (buf);

  fail_unless_equals_string (gst_structure_get_string (meta, "state"), state);
  fail_unless_equals_int (sam_get_uint (meta, "age"), age);
  if (age >= 0 && g_strcmp0 (state, "idle"))
    fail_unless_equals_uint64 (sam_get_uint64 (meta, "running-time"),
        GST_BUFFER_PTS (buf) - age * (GST_SECOND / 30));
  gst_buffer_unref (buf);
}

/* A step that does not end stops no frame; the next one has the newest frame. */
GST_START_TEST (test_frames_do_not_wait_for_a_long_step)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  guint n;

  sam_gate_set (&sam_step_gate, TRUE);
  for (n = 0; n < 10; n++) {
    check_frame (h, n, "idle", 0);
    sam_gate_wait_entered (&sam_step_gate, 1);
  }
  fail_unless (sam_step_gate.thread != g_thread_self ());
  fail_unless_equals_int (sam_gate_get_entered (&sam_step_gate), 1);
  sam_gate_set (&sam_step_gate, FALSE);
  sam_gate_wait_entered (&sam_step_gate, 2);
  settle (h);
  sam_gate_set (&sam_step_gate, TRUE);
  check_frame (h, 10, "stale", 1);
  check_frame (h, 11, "stale", 2);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 2);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "skipped"), 12);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "stale"), 2);
  sam_gate_set (&sam_step_gate, FALSE);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A model that is quick enough loses nothing: the masks of every frame, to the
 * bit, are those of the policy block. */
GST_START_TEST (test_own_masks_where_there_is_time)
{
  GstHarness *here =
      sam_track_harness_new (SQUARE_BOX ";" SQUARE_POINT, TRUE, LONG);
  GstHarness *apart =
      sam_track_harness_new (SQUARE_BOX ";" SQUARE_POINT, TRUE, LONG);
  GThread *self = g_thread_self ();
  guint n;

  gst_util_set_object_arg (G_OBJECT (here->element), "overload-policy",
      "block");
  for (n = 0; n < 8; n++) {
    GstBuffer *a = sam_harness_run (here, n), *b;
    GstSamReport x, y;
    GstMapInfo map;

    fail_unless (sam_step_gate.thread == self);
    b = sam_harness_run (apart, n);
    fail_unless (sam_step_gate.thread != self);
    gst_sam_meta_read (&x, (GstMeta *) gst_buffer_get_custom_meta (a,
            GST_SAM_META_NAME));
    gst_sam_meta_read (&y, (GstMeta *) gst_buffer_get_custom_meta (b,
            GST_SAM_META_NAME));
    fail_unless_equals_int (y.state, GST_SAM_REPORT_OK);
    fail_unless_equals_int (x.num_objects, 2);
    fail_unless_equals_int (y.num_objects, 2);
    fail_unless (!memcmp (x.object, y.object, 2 * sizeof x.object[0]));
    fail_unless (gst_buffer_map (x.mask, &map, GST_MAP_READ));
    fail_unless (gst_buffer_memcmp (y.mask, 0, map.data, map.size) == 0);
    gst_buffer_unmap (x.mask, &map);
    gst_buffer_unref (a);
    gst_buffer_unref (b);
  }
  gst_harness_teardown (here);
  gst_harness_teardown (apart);
}

GST_END_TEST;

static gpointer
open_later (gpointer data)
{
  g_usleep (30000);
  sam_gate_set (&sam_step_gate, FALSE);
  return NULL;
}

/* A frame waits as long as it may, and no longer. */
GST_START_TEST (test_a_frame_waits_for_its_masks)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, LONG);
  GThread *thread;
  gint64 start;

  sam_gate_set (&sam_step_gate, TRUE);
  thread = g_thread_new ("opener", open_later, NULL);
  check_frame (h, 0, "ok", 0);
  g_thread_join (thread);
  g_object_set (h->element, "max-wait", 500 * GST_MSECOND, NULL);
  sam_gate_set (&sam_step_gate, TRUE);
  start = g_get_monotonic_time ();
  check_frame (h, 1, "stale", 1);
  fail_unless (g_get_monotonic_time () - start >= 500000);
  sam_gate_set (&sam_step_gate, FALSE);
  gst_harness_teardown (h);
}

GST_END_TEST;

static gpointer
flush_start (gpointer data)
{
  gst_harness_push_event (data, gst_event_new_flush_start ());
  return NULL;
}

static gpointer
interrupt (gpointer data)
{
  gst_sam_worker_interrupt (&((GstSamTrack *) ((GstHarness *) data)->element)
      ->worker, TRUE);
  return NULL;
}

/* While a frame is being copied, a flush and a change of state begin all the
 * same. */
GST_START_TEST (test_nobody_waits_for_a_copy)
{
  static const GThreadFunc calls[] = { interrupt, flush_start };
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GThread *streaming, *thread;

  gst_buffer_unref (sam_harness_run (h, 0));
  settle (h);
  sam_gate_set (&copy_gate, TRUE);
  streaming = g_thread_new ("streaming", sam_harness_push_first, h);
  sam_gate_wait_entered (&copy_gate, 2);
  thread = g_thread_new ("other", calls[__i__], h);
  g_thread_join (thread);       /* for ever, if it waits for the copy */
  fail_unless_equals_int (copy_gate.left, 1);
  sam_gate_set (&copy_gate, FALSE);
  g_thread_join (streaming);
  copy_gate.entered = copy_gate.left = 0;
  gst_harness_teardown (h);
}

GST_END_TEST;

/* While the model has a frame, nobody but its owner has the frame's memory. */
GST_START_TEST (test_no_buffer_is_held)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GstBuffer *in = sam_harness_frame (h, 0), *out;
  GstMemory *memory = gst_memory_ref (gst_buffer_peek_memory (in, 0));

  sam_gate_set (&sam_step_gate, TRUE);
  out = gst_harness_push_and_pull (h, in);
  sam_gate_wait_entered (&sam_step_gate, 1);
  fail_unless (gst_buffer_is_writable (out));
  gst_buffer_unref (out);
  fail_unless_equals_int (GST_MINI_OBJECT_REFCOUNT (memory), 1);
  gst_memory_unref (memory);
  sam_gate_set (&sam_step_gate, FALSE);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A flush ends the wait of a frame; what the step finds is of another stream. */
GST_START_TEST (test_a_flush_during_a_step)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, LONG);
  GstBus *bus = sam_harness_add_bus (h);
  GThread *thread;
  guint n;

  sam_gate_set (&sam_step_gate, TRUE);
  thread = g_thread_new ("streaming", sam_harness_push_first, h);
  sam_gate_wait_entered (&sam_step_gate, 1);
  gst_harness_push_event (h, gst_event_new_flush_start ());
  g_thread_join (thread);
  sam_harness_flush (h);
  g_object_set (h->element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  check_frame (h, 0, "idle", 0);
  sam_gate_set (&sam_step_gate, FALSE);
  sam_gate_wait_left (&sam_step_gate, 2);
  for (n = 1; sam_get_stat (h->element, "inferred") < 2; n++)
    gst_buffer_unref (sam_harness_run (h, n));
  /* The object of the first stream was not told; its id is not given again. */
  {
    GstBuffer *buf = sam_harness_run (h, n);

    fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 2);
    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
    gst_buffer_unref (buf);
  }
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Stopped during a step, and played again. */
GST_START_TEST (test_a_stop_during_a_step)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GThread *thread;
  guint i;

  for (i = 0; i < 3; i++) {
    sam_gate_set (&sam_step_gate, TRUE);
    gst_buffer_unref (sam_harness_run (h, i));
    sam_gate_wait_entered (&sam_step_gate, i + 1);
    thread = g_thread_new ("opener", open_later, NULL);
    fail_unless_equals_int (gst_element_set_state (h->element, GST_STATE_NULL),
        GST_STATE_CHANGE_SUCCESS);
    g_thread_join (thread);
    gst_harness_play (h);
    gst_element_set_state (h->element, GST_STATE_PLAYING);
    gst_harness_set_src_caps_str (h, CAPS);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The first frames after a stop are not taken for those that were tracked before
 * it: they wait for a step of their own, and have their size in the meta. */
GST_START_TEST (test_a_stop_and_a_long_step)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, LONG);
  GstBuffer *buf;

  check_frame (h, 0, "ok", 0);
  gst_element_set_state (h->element, GST_STATE_NULL);
  gst_harness_play (h);
  gst_harness_set_src_caps_str (h, CAPS);
  g_object_set (h->element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  sam_gate_set (&sam_step_gate, TRUE);
  buf = sam_harness_run (h, 0);
  fail_unless_equals_int (sam_get_int (sam_get_meta (buf), "width"), 64);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "skipped"), 1);
  gst_buffer_unref (buf);
  sam_gate_set (&sam_step_gate, FALSE);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A step that fails while frames go on is one error. */
GST_START_TEST (test_a_step_that_fails)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GstBus *bus = sam_harness_add_bus (h);
  GstFlowReturn ret = GST_FLOW_OK;
  guint n;

  sam_step_set (SAM_EDEVICE, 0);
  for (n = 0; n < 1000 && ret == GST_FLOW_OK; n++) {
    ret = gst_harness_push (h, sam_harness_frame (h, n));
    sam_gate_wait_left (&sam_step_gate, 1);
  }
  fail_unless_equals_int (ret, GST_FLOW_ERROR);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, NULL), 1);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Masks of the last caps come in after the new ones: of the same picture they
 * are scaled, of another one they are of no use. */
GST_START_TEST (test_other_caps_during_a_step)
{
  const gboolean same = __i__;
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GstBuffer *buf;
  const GstStructure *meta;

  sam_gate_set (&sam_step_gate, TRUE);
  gst_buffer_unref (sam_harness_run (h, 0));
  sam_gate_wait_entered (&sam_step_gate, 1);
  gst_harness_set_src_caps_str (h, same ?
      "video/x-raw,format=RGB,width=128,height=96,framerate=30/1" :
      "video/x-raw,format=RGB,width=96,height=48,framerate=30/1");
  sam_gate_set (&sam_step_gate, FALSE);
  settle (h);
  sam_gate_set (&sam_step_gate, TRUE);
  buf = sam_harness_run (h, 1);
  meta = sam_get_meta (buf);
  fail_unless_equals_string (gst_structure_get_string (meta, "state"),
      same ? "stale" : "idle");
  fail_unless_equals_int (sam_get_int (meta, "width"), same ? 128 : 96);
  gst_buffer_unref (buf);
  sam_gate_set (&sam_step_gate, FALSE);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* From now on frames wait: the step that runs is waited for first. */
GST_START_TEST (test_block_during_a_step)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GThread *thread;

  sam_gate_set (&sam_step_gate, TRUE);
  check_frame (h, 0, "idle", 0);
  sam_gate_wait_entered (&sam_step_gate, 1);
  check_frame (h, 1, "idle", 0);
  gst_util_set_object_arg (G_OBJECT (h->element), "overload-policy", "block");
  thread = g_thread_new ("opener", open_later, NULL);
  check_frame (h, 2, "ok", 0);
  g_thread_join (thread);
  check_frame (h, 3, "ok", 0);
  gst_util_set_object_arg (G_OBJECT (h->element), "overload-policy", "skip");
  g_object_set (h->element, "max-wait", LONG, NULL);
  check_frame (h, 4, "ok", 0);
  fail_unless_equals_int (sam_gate_get_entered (&sam_step_gate), 4);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Frames between two that are tracked on are not left to the worker. */
GST_START_TEST (test_an_interval)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, LONG);
  guint n;

  g_object_set (h->element, "interval", 2, NULL);
  for (n = 0; n < 9; n++)
    check_frame (h, n, n % 3 ? "stale" : "ok", n % 3);
  fail_unless_equals_int (sam_gate_get_entered (&sam_step_gate), 3);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Every change of state is told, also when two steps end between two frames. */
GST_START_TEST (test_every_object_is_announced)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GstBus *bus = sam_harness_add_bus (h);
  GstMessage *message;

  sam_gate_set (&sam_step_gate, TRUE);
  check_frame (h, 0, "idle", 0);
  sam_gate_wait_entered (&sam_step_gate, 1);
  check_frame (h, 1, "idle", 0);
  sam_gate_set (&sam_step_gate, FALSE);
  settle (h);
  check_frame (h, 2, "stale", 1);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT);
  fail_unless (message != NULL);
  fail_unless_equals_string (gst_structure_get_string
      (gst_message_get_structure (message), "state"), "new");
  gst_message_unref (message);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Without objects the model does not run, and frames are not copied. */
GST_START_TEST (test_nothing_to_track)
{
  GstHarness *h = sam_track_harness_new (NULL, TRUE, LONG);
  GstSamTrack *self = (GstSamTrack *) h->element;
  guint64 id;
  guint n;

  for (n = 0; n < 5; n++)
    check_frame (h, n, "idle", 0);
  fail_unless_equals_int (sam_gate_get_entered (&sam_step_gate), 0);
  g_signal_emit_by_name (self, "add-point", G_GUINT64_CONSTANT (0), 30.0, 20.0,
      TRUE, FALSE, &id);
  check_frame (h, n++, "ok", 0);
  g_signal_emit_by_name (self, "clear");
  check_frame (h, n++, "idle", 0);
  check_frame (h, n++, "idle", 0);
  fail_unless_equals_int (sam_gate_get_entered (&sam_step_gate), 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The overlay pad draws what the meta has while the model is at work. */
GST_START_TEST (test_the_overlay_during_a_step)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, LONG);
  GstPad *pad = gst_element_request_pad_simple (h->element, "overlay");
  GstHarness *o = gst_harness_new_with_element (h->element, NULL, NULL);
  GstBuffer *before, *during;
  GstMapInfo map;

  gst_harness_add_element_src_pad (o, pad);
  gst_util_set_object_arg (G_OBJECT (h->element), "mask-size", "model");
  check_frame (h, 0, "ok", 0);
  before = gst_harness_pull (o);
  sam_gate_set (&sam_step_gate, TRUE);
  g_object_set (h->element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  check_frame (h, 1, "stale", 1);
  during = gst_harness_pull (o);
  fail_unless_equals_int (gst_buffer_get_size (before), 64 * 48);
  fail_unless (gst_buffer_map (before, &map, GST_MAP_READ));
  fail_unless (gst_buffer_memcmp (during, 0, map.data, map.size) == 0);
  gst_buffer_unmap (before, &map);
  gst_buffer_unref (before);
  gst_buffer_unref (during);
  sam_gate_set (&sam_step_gate, FALSE);
  gst_element_release_request_pad (h->element, pad);
  gst_object_unref (pad);
  gst_harness_teardown (o);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
worker_suite (void)
{
  Suite *s = suite_create ("worker");
  TCase *tc = sam_tcase_new_tiny (s, "apart");

  tcase_add_checked_fixture (tc, sam_step_reset, NULL);
  tcase_add_test (tc, test_frames_do_not_wait_for_a_long_step);
  tcase_add_test (tc, test_own_masks_where_there_is_time);
  tcase_add_test (tc, test_a_frame_waits_for_its_masks);
  tcase_add_loop_test (tc, test_nobody_waits_for_a_copy, 0, 2);
  tcase_add_test (tc, test_no_buffer_is_held);
  tcase_add_test (tc, test_a_flush_during_a_step);
  tcase_add_test (tc, test_a_stop_during_a_step);
  tcase_add_test (tc, test_a_stop_and_a_long_step);
  tcase_add_test (tc, test_a_step_that_fails);
  tcase_add_loop_test (tc, test_other_caps_during_a_step, 0, 2);
  tcase_add_test (tc, test_block_during_a_step);
  tcase_add_test (tc, test_an_interval);
  tcase_add_test (tc, test_every_object_is_announced);
  tcase_add_test (tc, test_nothing_to_track);
  tcase_add_test (tc, test_the_overlay_during_a_step);
  return s;
}

GST_CHECK_MAIN (worker);

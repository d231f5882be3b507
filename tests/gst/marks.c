/* SPDX-License-Identifier: MIT */
/* What samtrack says of recent prompts in its meta. The element is inside, with
 * a gate before sam_tracker_step(). */

#include "gate.h"

static void
navigate (GstHarness * h, const gchar * what, gint button, gdouble x, gdouble y)
{
  GstStructure *s = gst_structure_new ("application/x-gst-navigation",
      "event", G_TYPE_STRING, what, NULL);

  if (button)
    gst_structure_set (s, "button", G_TYPE_INT, button,
        "pointer_x", G_TYPE_DOUBLE, x, "pointer_y", G_TYPE_DOUBLE, y, NULL);
  else
    gst_structure_set (s, "key", G_TYPE_STRING, "n", NULL);
  gst_harness_push_upstream_event (h, gst_event_new_navigation (s));
}

/* The prompts and the current object of a frame. */
typedef struct
{
  guint n, waiting;
  guint64 current, id;          /* the id and the others are of the last one */
  gdouble x, y, w, h;
  guint64 age;
  gboolean positive;
  gboolean any_waits;           /* of all prompts, listed or not */
} Seen;

static Seen
see (GstBuffer * buf)
{
  GstSamReport report;
  Seen seen = { 0, };
  guint i;

  fail_unless (gst_sam_meta_read (&report, (GstMeta *)
          gst_buffer_get_custom_meta (buf, GST_SAM_META_NAME)));
  seen.current = report.current;
  seen.n = report.num_marks;
  seen.any_waits = report.waiting;
  for (i = 0; i < seen.n; i++) {
    const GstSamMark *mark = &report.mark[i];

    seen.waiting += mark->waits;
    seen.id = mark->id;
    seen.x = mark->x;
    seen.y = mark->y;
    seen.w = mark->w;
    seen.h = mark->h;
    seen.age = mark->age;
    seen.positive = mark->positive;
  }
  gst_buffer_unref (buf);
  return seen;
}

static Seen
run (GstHarness * h, guint n)
{
  return see (sam_harness_run (h, n));
}

/* From the click to a second later; without navigation nothing is current. */
GST_START_TEST (test_the_life_of_a_click)
{
  GstHarness *h = sam_track_harness_new (NULL, FALSE, 0);
  GstBuffer *buf;
  Seen seen;
  guint n;

  gst_util_set_object_arg (G_OBJECT (h->element), "navigation", "points");
  seen = run (h, 0);
  fail_unless (!seen.n && !seen.current);
  navigate (h, "mouse-button-press", 1, 32, 12);
  buf = sam_harness_frame (h, 1);       /* no step is made on a gap */
  GST_BUFFER_FLAG_SET (buf, GST_BUFFER_FLAG_GAP);
  seen = see (gst_harness_push_and_pull (h, buf));
  fail_unless_equals_int (seen.n, 1);
  fail_unless_equals_int (seen.waiting, 1);
  fail_unless_equals_uint64 (seen.current, 1);
  fail_unless_equals_uint64 (seen.id, 1);
  fail_unless_equals_uint64 (seen.age, 0);
  fail_unless_equals_float (seen.x, 0.5);
  fail_unless_equals_float (seen.y, 0.25);
  fail_unless (seen.positive);
  for (n = 2; n < 32; n++) {
    seen = run (h, n);
    fail_unless_equals_int (seen.n, 1);
    fail_unless_equals_int (seen.waiting, 0);
    fail_unless (ABS (GST_CLOCK_DIFF ((n - 2) * GST_SECOND / 30, seen.age)) <=
        1);
  }
  seen = run (h, n++);
  fail_unless_equals_int (seen.n, 0);
  fail_unless_equals_uint64 (seen.current, 1);
  navigate (h, "key-press", 0, 0, 0);
  seen = run (h, n++);
  fail_unless_equals_uint64 (seen.current, 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* It waits until the step that has it ends and its masks are seen, however many
 * frames pass meanwhile. */
GST_START_TEST (test_a_click_waits_for_a_slow_step)
{
  GstHarness *h = sam_track_harness_new (NULL, TRUE, 0);
  GstSamTrack *self = (GstSamTrack *) h->element;
  guint64 id;
  Seen seen;
  guint n;

  sam_gate_set (&sam_step_gate, TRUE);
  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (0), 16.0,
      12.0, TRUE, FALSE, &id);
  for (n = 0; n < 40; n++) {
    seen = run (h, n);
    fail_unless_equals_int (seen.n, 1);
    fail_unless_equals_int (seen.waiting, 1);
    sam_gate_wait_entered (&sam_step_gate, 1);
  }
  sam_gate_set (&sam_step_gate, FALSE);
  gst_sam_worker_wait (&self->worker, LONG);
  sam_gate_set (&sam_step_gate, TRUE);
  seen = run (h, n++);
  fail_unless_equals_int (seen.n, 1);
  fail_unless_equals_int (seen.waiting, 0);
  fail_unless_equals_uint64 (seen.age, 0);
  seen = run (h, n++);
  fail_unless (seen.age > 0);
  sam_gate_set (&sam_step_gate, FALSE);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Prompts that are not shown: those of initial-prompt, those
 * refused, those of objects that are gone. */
GST_START_TEST (test_what_is_not_listed)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, FALSE, 0);
  gboolean ok;
  guint64 id;
  guint n = 0;

  fail_unless_equals_int (run (h, n++).n, 0);
  g_signal_emit_by_name (h->element, "prompt", "point,x=90,y=3");
  fail_unless_equals_int (run (h, n++).n, 0);
  g_signal_emit_by_name (h->element, "add-box", G_GUINT64_CONSTANT (0), 16.0,
      12.0, 32.0, 24.0, FALSE, &id);
  fail_unless_equals_int (run (h, n++).n, 1);
  fail_unless_equals_int (run (h, n++).n, 1);
  g_signal_emit_by_name (h->element, "remove-object", id, &ok);
  fail_unless_equals_int (run (h, n++).n, 0);
  g_signal_emit_by_name (h->element, "prompt", "point,x=9,y=3;point,x=3,y=9");
  fail_unless_equals_int (run (h, n++).n, 2);
  g_signal_emit_by_name (h->element, "clear");
  fail_unless_equals_int (run (h, n++).n, 0);
  g_signal_emit_by_name (h->element, "prompt", "point,x=9,y=3;point,x=3,y=9");
  fail_unless_equals_int (run (h, n++).n, 2);
  sam_harness_flush (h);
  fail_unless_equals_int (run (h, 0).n, 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Until the step that has them ends, frames tell that a prompt waits, listed or
 * not: who hides things must not let them pass. */
GST_START_TEST (test_an_initial_prompt_waits)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, 0);
  GstSamTrack *self = (GstSamTrack *) h->element;
  Seen seen;
  guint n;

  sam_gate_set (&sam_step_gate, TRUE);
  for (n = 0; n < 3; n++) {
    seen = run (h, n);
    fail_unless_equals_int (seen.n, 0);
    fail_unless (seen.any_waits, "frame %u", n);
    sam_gate_wait_entered (&sam_step_gate, 1);
  }
  sam_gate_set (&sam_step_gate, FALSE);
  gst_sam_worker_wait (&self->worker, LONG);
  fail_unless (!run (h, n++).any_waits);
  gst_harness_teardown (h);
  /* nobody has asked for anything */
  h = sam_track_harness_new (NULL, FALSE, 0);
  fail_unless (!run (h, 0).any_waits);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* As the tracker does it: of the last frame one by one, of one before that all
 * at once. */
GST_START_TEST (test_undo)
{
  GstHarness *h = sam_track_harness_new (NULL, FALSE, 0);
  gboolean ok;
  Seen seen;

  g_signal_emit_by_name (h->element, "prompt",
      "point,x=9,y=3;point,x=32,y=24,id=1,positive=false;point,x=9,y=9,id=1");
  fail_unless_equals_int (run (h, 0).n, 3);
  g_signal_emit_by_name (h->element, "undo", G_GUINT64_CONSTANT (1), &ok);
  seen = run (h, 1);
  fail_unless_equals_int (seen.n, 2);
  fail_unless (!seen.positive);
  fail_unless_equals_float (seen.x, 0.5);
  g_signal_emit_by_name (h->element, "prompt", "point,x=9,y=12,id=1");
  fail_unless_equals_int (run (h, 2).n, 3);
  fail_unless_equals_int (run (h, 3).n, 3);
  g_signal_emit_by_name (h->element, "undo", G_GUINT64_CONSTANT (1), &ok);
  fail_unless_equals_int (run (h, 4).n, 2);
  g_signal_emit_by_name (h->element, "undo", G_GUINT64_CONSTANT (1), &ok);
  fail_unless_equals_int (run (h, 5).n, 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Coordinates are fractions: a change of caps between the click and its frame
 * changes nothing, nor does a scaler after it. */
GST_START_TEST (test_other_caps)
{
  GstHarness *h = sam_track_harness_new (NULL, FALSE, 0);
  GstVideoMetaTransform scale;
  GstVideoInfo from, to;
  GstBuffer *buf, *scaled = gst_buffer_new ();
  const GstMetaInfo *info = gst_meta_get_info (GST_SAM_META_NAME);
  guint64 id;
  Seen seen;

  g_signal_emit_by_name (h->element, "add-box", G_GUINT64_CONSTANT (0), 16.0,
      12.0, 32.0, 12.0, FALSE, &id);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=128,height=96,framerate=30/1");
  buf = sam_harness_run (h, 0);
  gst_video_info_set_format (&from, GST_VIDEO_FORMAT_RGB, 128, 96);
  gst_video_info_set_format (&to, GST_VIDEO_FORMAT_RGB, 640, 480);
  scale.in_info = &from;
  scale.out_info = &to;
  fail_unless (info->transform_func (scaled, (GstMeta *)
          gst_buffer_get_custom_meta (buf, GST_SAM_META_NAME), buf,
          gst_video_meta_transform_scale_get_quark (), &scale));
  gst_buffer_unref (buf);
  seen = see (scaled);
  fail_unless_equals_int (seen.n, 1);
  fail_unless_equals_float (seen.x, 0.25);
  fail_unless_equals_float (seen.y, 0.25);
  fail_unless_equals_float (seen.w, 0.5);
  fail_unless_equals_float (seen.h, 0.25);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Of many clicks on one object the last ones are kept. */
GST_START_TEST (test_many_clicks)
{
  GstHarness *h = sam_track_harness_new (NULL, FALSE, 0);
  GstBuffer *buf;
  guint64 id = 0;
  guint i, k;
  Seen seen;

  for (k = 0; k < 7; k++) {
    guint64 object = 0;

    for (i = 0; i < 36; i++) {
      g_signal_emit_by_name (h->element, "add-point", object, 16.0, (gdouble) i,
          TRUE, FALSE, &id);
      object = id;
    }
    fail_unless_equals_uint64 (object, k + 1);
  }
  buf = sam_harness_frame (h, 0);
  GST_BUFFER_FLAG_SET (buf, GST_BUFFER_FLAG_GAP);
  seen = see (gst_harness_push_and_pull (h, buf));
  fail_unless_equals_int (seen.n, 7 * 32);
  fail_unless_equals_int (seen.waiting, 7 * 32);
  fail_unless_equals_float (seen.y, 35 / 48.0);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
marks_suite (void)
{
  Suite *s = suite_create ("marks");
  TCase *tc = sam_tcase_new_tiny (s, "listed");

  tcase_add_checked_fixture (tc, sam_step_reset, NULL);
  tcase_add_test (tc, test_the_life_of_a_click);
  tcase_add_test (tc, test_a_click_waits_for_a_slow_step);
  tcase_add_test (tc, test_what_is_not_listed);
  tcase_add_test (tc, test_an_initial_prompt_waits);
  tcase_add_test (tc, test_undo);
  tcase_add_test (tc, test_other_caps);
  tcase_add_test (tc, test_many_clicks);
  return s;
}

GST_CHECK_MAIN (marks);

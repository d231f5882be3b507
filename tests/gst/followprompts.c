/* SPDX-License-Identifier: MIT */
/* Two speeds: prompts have an answer of the fast model with the next frame, and
 * the slow one's when it comes. */

#include "followcheck.h"

#define OTHER "box,x=0.25,y=0.0,w=0.375,h=0.25,normalized=true"

static void
add (GstHarness * h, const gchar * text)
{
  g_signal_emit_by_name (h->element, "prompt", text);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "rejected-prompts"), 0);
}

/* The slow model has not even answered the first one. */
GST_START_TEST (test_answers_at_once)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  sam_gate_set (&sam_step_gate, TRUE);
  follow_expect (h, 0, "ok 0: 1@0+0");
  follow_expect (h, 1, "ok 0: 1@1+1");
  add (h, OTHER);
  follow_expect (h, 2, "ok 0: 1@2+2 2@0+0");
  follow_expect (h, 3, "ok 0: 1@3+3 2@1+1");
  /* The part to the left of this point is not it. */
  add (h, "point,x=24,y=24,id=1,positive=false");
  follow_expect (h, 4, "ok 0: 1@8+0 2@2+2");
  follow_close (h, NULL);
}

GST_END_TEST;

/* Masks of the slow model from before a click do not take its answer back; those
 * from after it take its place. */
GST_START_TEST (test_an_anchor_from_before)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  sam_gate_set (&sam_step_gate, TRUE);
  follow_expect (h, 0, "ok 0: 1@0+0");
  follow_expect (h, 1, "ok 0: 1@1+1");
  add (h, OTHER);
  follow_expect (h, 2, "ok 0: 1@2+2 2@0+0");
  /* Its step on frame 0 ends, and it is in that on frame 2. */
  sam_gate_let_one (&sam_step_gate);
  sam_gate_wait_entered (&sam_step_gate, 2);
  follow_expect_begin (h, 3, "ok 0: 1@");
  follow_settle_fast (h);       /* the replay has left out frame 1 */
  follow_expect (h, 4, "ok 0: 1@3+4 2@2+2");
  follow_let_slow_come (h);     /* on the frames 2 and 4 */
  follow_expect_begin (h, 5, "ok 0: 1@");
  follow_settle_fast (h);
  follow_expect (h, 6, "ok 0: 1@4+2 2@3+2");
  follow_close (h, NULL);
}

GST_END_TEST;

/* What the slow model has not seen yet is taken back at once. */
GST_START_TEST (test_undo_of_a_prompt_that_waits)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  follow_start (h);
  add (h, OTHER);
  follow_expect (h, 3, "ok 0: 1@3+3 2@0+0");
  add (h, "undo,id=2");         /* waits, too: it is not in its step on 3 */
  follow_let_slow_come (h);
  follow_expect_begin (h, 4, "ok 0: 1@");
  follow_settle_fast (h);
  follow_expect (h, 5, "ok 0: 1@4+2");
  follow_close (h, NULL);
}

GST_END_TEST;

/* A correction that is undone before the slow model has it: its next masks are
 * taken, although they have fewer prompts. */
GST_START_TEST (test_undo_of_a_correction)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  follow_start (h);
  add (h, "point,x=20,y=24,id=1,positive=false");       /* begins there */
  follow_expect (h, 3, "ok 0: 1@4+0");
  add (h, "undo,id=1");
  follow_let_slow_come (h);     /* on the frames 1 and 3 */
  follow_expect_begin (h, 4, "ok 0: 1@");
  follow_settle_fast (h);
  follow_expect (h, 5, "ok 0: 1@4+2");
  follow_close (h, NULL);
}

GST_END_TEST;

/* A late click is answered on the frame that its author saw. */
GST_START_TEST (test_a_late_click)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint64 id = 0;
  guint n;

  follow_start (h);
  g_signal_emit_by_name (h->element, "add-box-at", G_GUINT64_CONSTANT (0),
      0.25, 0.0, 0.375, 0.25, TRUE, GST_SECOND / 30, &id);
  fail_unless_equals_uint64 (id, 2);
  for (n = 3; n < 6; n++)       /* it catches up */
    g_free (follow_run (h, n));
  follow_expect_begin (h, 6, "ok 0: 1@6+6 2@5+");
  follow_close (h, NULL);
}

GST_END_TEST;

/* A mask that a user gives is made for the fast model's input, too. The scripted
 * tracker takes the box around it: 16 columns of 16, 4 rows of 12. */
GST_START_TEST (test_a_mask)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstSample *sample = sam_sample_new ();
  const GstStructure *object;
  guint64 id = 0;
  GstBuffer *buf;

  follow_start (h);
  g_signal_emit_by_name (h->element, "add-mask", G_GUINT64_CONSTANT (0), sample,
      &id);
  gst_sample_unref (sample);
  buf = sam_harness_run (h, 3);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  object = sam_get_object (sam_get_meta (buf), 1);
  fail_unless_equals_int (sam_get_int (object, "w"), 64);
  fail_unless_equals_int (sam_get_int (object, "y"), 16);
  fail_unless_equals_int (sam_get_int (object, "h"), 16);
  gst_buffer_unref (buf);
  follow_close (h, NULL);
}

GST_END_TEST;

/* A file that is still being read; one that is none. */
GST_START_TEST (test_mask_files)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint n, objects = 1;
  gchar *text;

  sam_folder_make ("mask.png");
  sam_write_png (sam_file);
  follow_start (h);
  text = g_strdup_printf ("mask,location=%s", sam_file);
  g_signal_emit_by_name (h->element, "prompt", text);
  for (n = 3; n < 200 && objects < 2; n++) {
    GstBuffer *buf = sam_harness_run (h, n);

    objects = sam_get_num_objects (sam_get_meta (buf));
    gst_buffer_unref (buf);
    g_usleep (1000);
  }
  fail_unless_equals_int (objects, 2);
  g_free (text);
  fail_unless (g_file_set_contents (sam_file, "no picture", -1, NULL));
  text = g_strdup_printf ("mask,location=%s,label=none", sam_file);
  g_signal_emit_by_name (h->element, "prompt", text);
  g_free (text);
  for (; n < 230; n++) {
    GstBuffer *buf = sam_harness_run (h, n);

    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
    gst_buffer_unref (buf);
    g_usleep (1000);
  }
  follow_close (h, NULL);
  sam_folder_remove ();
}

GST_END_TEST;

/* More than the fast model's queue holds wait for the slow one. */
GST_START_TEST (test_many_prompts)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint i;

  follow_start (h);
  for (i = 0; i < 2 * GST_SAM_FOLLOW_PROMPTS; i++)
    add (h, "point,x=30,y=24,id=1");
  follow_expect_begin (h, 3, "ok 0: 1@");
  follow_let_slow_come (h);
  follow_expect_begin (h, 4, "ok 0: 1@");
  follow_close (h, NULL);
}

GST_END_TEST;

/* What is removed is not tracked on above what it has hidden. */
GST_START_TEST (test_a_removed_object_hides_none)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX ";" SQUARE_BOX);
  gboolean ok = FALSE;

  sam_gate_set (&sam_step_gate, TRUE);
  gst_buffer_unref (sam_harness_run (h, 0));
  gst_buffer_unref (sam_harness_run (h, 1));
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (1),
      &ok);
  fail_unless (ok);
  follow_expect (h, 2, "ok 0: 2@2+2");
  follow_close (h, NULL);
}

GST_END_TEST;

/* Both models hold max-objects, 32. */
GST_START_TEST (test_more_objects_than_fit)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstBuffer *buf;
  guint i;

  follow_start (h);
  for (i = 0; i < 40; i++)
    g_signal_emit_by_name (h->element, "prompt", OTHER);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "rejected-prompts"), 9);
  buf = sam_harness_run (h, 3);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 32);
  gst_buffer_unref (buf);
  follow_let_slow_come (h);
  follow_expect_begin (h, 4, "ok 0: 1@");
  follow_settle_fast (h);
  buf = sam_harness_run (h, 5);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 32);
  gst_buffer_unref (buf);
  follow_close (h, NULL);
}

GST_END_TEST;

static Suite *
followprompts_suite (void)
{
  Suite *s = suite_create ("followprompts");
  TCase *tc = sam_tcase_new_tiny (s, "scripted");

  tcase_add_checked_fixture (tc, follow_begin, follow_end);
  tcase_add_test (tc, test_answers_at_once);
  tcase_add_test (tc, test_an_anchor_from_before);
  tcase_add_test (tc, test_undo_of_a_prompt_that_waits);
  tcase_add_test (tc, test_undo_of_a_correction);
  tcase_add_test (tc, test_a_late_click);
  tcase_add_test (tc, test_a_mask);
  tcase_add_test (tc, test_mask_files);
  tcase_add_test (tc, test_many_prompts);
  tcase_add_test (tc, test_a_removed_object_hides_none);
  tcase_add_test (tc, test_more_objects_than_fit);
  return s;
}

GST_CHECK_MAIN (followprompts);

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

/* A prompt that the slow model is just being given is neither waiting nor an
 * object of its: there is something to track all the same. */
GST_START_TEST (test_a_prompt_that_is_applied)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  sam_gate_set (&sam_prompt_gate, TRUE);
  follow_expect (h, 0, "ok 0: 1@0+0");
  sam_gate_wait_entered (&sam_prompt_gate, 1);
  follow_expect (h, 1, "ok 0: 1@1+1");
  sam_gate_set (&sam_prompt_gate, FALSE);
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

static void
prompt_at_random (GstHarness * h, GRand * rand, const gchar * format)
{
  gchar *text = g_strdup (format), *id = strchr (text, '%');

  if (id)
    *id = '0' + g_rand_int_range (rand, 1, 10);
  g_signal_emit_by_name (h->element, "prompt", text);
  g_free (text);
}

/* What users and pipelines do, in any order. */
static void
act (GstHarness * h, GRand * rand)
{
  static const gchar *prompts[] = { OTHER, SQUARE_BOX, SQUARE_POINT, "clear",
    "undo,id=%", "remove,id=%", "point,id=%,x=20,y=20",
    "point,id=%,x=30,y=30,positive=false", "box,id=%,x=9,y=9,w=9,h=9"
  };
  gboolean ok;

  switch (g_rand_int_range (rand, 0, 12)) {
    case 0:
      sam_harness_flush (h);
      break;
    case 1:
      g_signal_emit_by_name (h->element, "save-tracks", sam_file, &ok);
      break;
    case 2:
      if (g_file_test (sam_file, G_FILE_TEST_EXISTS))
        g_signal_emit_by_name (h->element, "load-tracks", sam_file, &ok);
      break;
    case 3:
      gst_util_set_object_arg (G_OBJECT (h->element), "overload-policy",
          g_rand_boolean (rand) ? "block" : "skip");
      break;
    case 4:
      gst_harness_set_src_caps_str (h, g_rand_boolean (rand) ? CAPS :
          "video/x-raw,format=RGB,width=96,height=48,framerate=30/1");
      break;
    default:
      prompt_at_random (h, rand, prompts[g_rand_int_range (rand, 0,
                  G_N_ELEMENTS (prompts))]);
      break;
  }
}

/* No two objects have an id or a slot in common. */
static void
check_objects (const GstStructure * meta)
{
  const guint n = sam_check_objects (meta, 32);
  guint i, k;

  for (i = 0; i < n; i++) {
    for (k = 0; k < i; k++) {
      fail_unless (sam_get_id (meta, i) != sam_get_id (meta, k));
      fail_unless (sam_get_uint (sam_get_object (meta, i), "slot") !=
          sam_get_uint (sam_get_object (meta, k), "slot"));
    }
  }
}

GST_START_TEST (test_at_random)
{
  const guint32 seed = g_random_int ();
  GRand *rand = g_rand_new_with_seed (seed);
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint n;

  g_print ("seed %u\n", seed);
  sam_folder_make ("tracks");
  g_object_set (h->element, "max-wait", 2 * GST_MSECOND, NULL);
  sam_fast_set (SAM_OK, 300);
  for (n = 0; n < 400; n++) {
    GstBuffer *buf;

    if (g_rand_int_range (rand, 0, 3) == 0)
      act (h, rand);
    buf = sam_harness_run (h, n);
    check_objects (sam_get_meta (buf));
    gst_buffer_unref (buf);
  }
  follow_close (h, NULL);
  sam_folder_remove ();
  g_rand_free (rand);
}

GST_END_TEST;

static Suite *
followprompts_suite (void)
{
  Suite *s = suite_create ("followprompts");
  TCase *tc = sam_tcase_new_tiny (s, "scripted");

  tcase_add_checked_fixture (tc, follow_begin, follow_end);
  tcase_add_test (tc, test_answers_at_once);
  tcase_add_test (tc, test_a_prompt_that_is_applied);
  tcase_add_test (tc, test_an_anchor_from_before);
  tcase_add_test (tc, test_undo_of_a_prompt_that_waits);
  tcase_add_test (tc, test_undo_of_a_correction);
  tcase_add_test (tc, test_a_late_click);
  tcase_add_test (tc, test_a_mask);
  tcase_add_test (tc, test_mask_files);
  tcase_add_test (tc, test_many_prompts);
  tcase_add_test (tc, test_a_removed_object_hides_none);
  tcase_add_test (tc, test_more_objects_than_fit);
  tcase_add_test (tc, test_at_random);
  return s;
}

GST_CHECK_MAIN (followprompts);

/* SPDX-License-Identifier: MIT */
/* Two speeds: a fast model follows the masks of a slow one. */

#include "followcheck.h"

static gpointer
push_fourth (gpointer h)
{
  gst_harness_push (h, sam_harness_frame (h, 3));
  return NULL;
}

static gpointer
push_second (gpointer h)
{
  gst_harness_push (h, sam_harness_frame (h, 1));
  return NULL;
}

/* While the slow model has a frame, each frame has masks of its own. */
GST_START_TEST (test_every_frame_has_its_masks)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstStructure *stats, *follow;

  follow_start (h);
  follow_expect (h, 3, "ok 0: 1@3+3");
  follow_expect (h, 4, "ok 0: 1@4+4");
  follow_expect (h, 5, "ok 0: 1@5+5");
  fail_unless_equals_uint64 (sam_get_stat (h->element, "inferred"), 1);
  fail_unless (sam_get_stat (h->element, "followed") >= 4);
  g_object_get (h->element, "stats", &stats, NULL);
  fail_unless (gst_structure_get (stats, "follow", GST_TYPE_STRUCTURE, &follow,
          NULL));
  fail_unless_equals_uint64 (sam_get_uint64 (follow, "anchors"), 1);
  fail_unless_equals_string (gst_structure_get_string (follow, "variant"),
      "scripted");
  gst_structure_free (follow);
  gst_structure_free (stats);
  follow_close (h, NULL);
}

GST_END_TEST;

/* The next masks of the slow model, which has run on the frames 0, 1 and 5, take
 * the place of those that the fast one has made of the first. */
GST_START_TEST (test_the_next_anchor)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  follow_start (h);
  follow_expect (h, 3, "ok 0: 1@3+3");
  follow_expect (h, 4, "ok 0: 1@4+4");
  follow_expect (h, 5, "ok 0: 1@5+5");
  follow_let_slow_come (h);
  follow_expect_begin (h, 6, "ok 0: 1@");
  follow_settle_fast (h);
  follow_expect (h, 7, "ok 0: 1@4+2");
  follow_expect (h, 8, "ok 0: 1@5+3");
  follow_close (h, NULL);
}

GST_END_TEST;

/* A long step: the replay does not run on every frame, and no frame waits for
 * it or goes back. */
GST_START_TEST (test_a_replay_in_strides)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint n, before;

  follow_start (h);
  for (n = 3; n < 60; n++)
    follow_expect_begin (h, n, "ok 0: 1@");
  before = follow_get_element (h)->follow->num_replays;
  follow_let_slow_come (h);            /* from the frames 1 and 59 */
  for (; n < 64; n++)
    follow_expect_begin (h, n, "ok 0: 1@");
  follow_settle_fast (h);
  fail_unless (follow_get_element (h)->follow->num_kept <= GST_SAM_FOLLOW_KEPT);
  fail_unless (follow_get_element (h)->follow->num_replays - before <=
      2 * GST_SAM_FOLLOW_REPLAYS + 5);
  follow_expect_begin (h, n, "ok 0: 1@");
  follow_close (h, NULL);
}

GST_END_TEST;

/* Ids, slots and labels are the slow model's; what a user removes is gone with
 * the next frame. */
GST_START_TEST (test_objects_are_those_of_the_model)
{
  GstHarness *h = follow_harness_new
      ("box,x=0.25,y=0.0,w=0.375,h=0.25,normalized=true;" SQUARE_BOX);
  gboolean ok = FALSE;

  follow_start_from (h, " 1@0+0 2@0+0");
  follow_expect (h, 3, "ok 0: 1@3+3 2@3+3");
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (1),
      &ok);
  fail_unless (ok);
  follow_expect (h, 4, "ok 0: 2@4+4");
  follow_let_slow_come (h);
  follow_expect_begin (h, 5, "ok 0: 2@");
  follow_settle_fast (h);              /* its only object has the slot 2 */
  follow_expect (h, 6, "ok 0: 2@4+2");
  g_signal_emit_by_name (h->element, "clear");
  follow_expect (h, 7, "idle 0:");
  follow_expect (h, 8, "idle 0:");
  follow_let_slow_come (h);
  follow_settle (h);
  follow_expect (h, 9, "idle 0:");
  follow_close (h, NULL);
}

GST_END_TEST;

/* An object that the slow model does not see is not looked for; it is lost, and
 * found again, when that one says so. */
GST_START_TEST (test_lost_and_found)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX
      ";point,x=0.1,y=0.1,normalized=true,positive=false");
  GstBus *bus = sam_harness_add_bus (h);
  guint64 id;

  follow_start_from (h, " 1@0+0 2 new+0");
  follow_expect (h, 3, "ok 0: 1@3+3 2 occluded+3");
  follow_let_slow_come (h);
  follow_expect_begin (h, 4, "ok 0: 1@");
  follow_settle_fast (h);       /* with the model's word of frame 3 */
  follow_expect (h, 5, "ok 0: 1@4+2 2 lost+2");
  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (2), 28.0,
      4.0, TRUE, FALSE, &id);
  follow_expect (h, 6, "ok 0: 1@5+3 2@0+0");    /* the fast model's answer */
  follow_let_slow_come (h);
  follow_expect_begin (h, 7, "ok 0: 1@");
  follow_settle_fast (h);
  follow_expect_begin (h, 8, "ok 0: 1@");
  follow_expect_change (bus, "lost");
  follow_expect_change (bus, "found");
  follow_close (h, bus);
}

GST_END_TEST;

typedef enum
{
  AT_SLOW,                      /* step of the slow model */
  AT_BACK,                      /* first step with an anchor */
  AT_FRONT,                     /* step that a frame waits for */
  POINTS
} Point;

/* Go on until a step is on its way that ends only when its gate opens. Returns
 * the thread that waits in it with a frame; NULL: none does. */
static GThread *
stop_at (GstHarness * h, Point at)
{
  GThread *thread;

  if (at != AT_BACK)
    follow_start (h);
  if (at == AT_SLOW)
    return NULL;
  if (at == AT_BACK) {
    follow_expect (h, 0, "ok 0: 1@0+0");
    follow_settle (h);
  }
  sam_gate_set (&sam_fast_gate, TRUE);
  thread = g_thread_new ("streaming", at == AT_BACK ? push_second :
      push_fourth, h);
  sam_gate_wait_entered (&sam_fast_gate, at == AT_BACK ? 2 : 5);
  return thread;
}

static gpointer
open_later (gpointer data)
{
  g_usleep (20000);
  sam_gate_set (&sam_step_gate, FALSE);
  sam_gate_set (&sam_fast_gate, FALSE);
  return NULL;
}

/* Whatever is on its way, what it finds is of another stream, in which an object
 * begins anew and is followed. */
GST_START_TEST (test_a_flush)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GThread *streaming = stop_at (h, __i__), *opener;
  guint n;

  gst_harness_push_event (h, gst_event_new_flush_start ());
  if (streaming)
    g_thread_join (streaming);
  sam_harness_flush (h);
  opener = g_thread_new ("opener", open_later, NULL);
  follow_expect (h, 0, "ok 0: 2@0+0");
  g_thread_join (opener);
  for (n = 1; n < 4; n++) {
    follow_settle (h);
    g_free (follow_run (h, n));
  }
  follow_settle (h);
  follow_expect_begin (h, n, "ok 0: 2@");
  follow_close (h, NULL);
}

GST_END_TEST;

/* A step that ends after the flush is of the stream before, and tells nothing. */
GST_START_TEST (test_a_step_from_before_a_flush)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GThread *streaming = stop_at (h, AT_FRONT);

  gst_harness_push_event (h, gst_event_new_flush_start ());
  g_thread_join (streaming);
  sam_harness_flush (h);
  g_object_set (h->element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  follow_expect (h, 0, "idle 0:");
  sam_gate_let_one (&sam_fast_gate);
  sam_gate_wait_entered (&sam_fast_gate, 6);    /* that with frame 0 */
  follow_expect (h, 1, "idle 0:");
  follow_close (h, NULL);
}

GST_END_TEST;

GST_START_TEST (test_a_stop)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint i;

  for (i = 0; i < 2; i++) {
    GThread *streaming = stop_at (h, __i__), *opener;

    opener = g_thread_new ("opener", open_later, NULL);
    fail_unless_equals_int (gst_element_set_state (h->element, GST_STATE_NULL),
        GST_STATE_CHANGE_SUCCESS);
    if (streaming)
      g_thread_join (streaming);
    g_thread_join (opener);
    while (gst_harness_buffers_in_queue (h))
      gst_buffer_unref (gst_harness_pull (h));
    sam_step_reset ();
    sam_step_set (SAM_OK, SLOW);
    gst_harness_play (h);
    gst_element_set_state (h->element, GST_STATE_PLAYING);
    gst_harness_set_src_caps_str (h, CAPS);
  }
  follow_close (h, NULL);
}

GST_END_TEST;

GST_START_TEST (test_an_end)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GThread *streaming = stop_at (h, __i__), *opener;

  opener = g_thread_new ("opener", open_later, NULL);
  if (streaming)
    g_thread_join (streaming);
  fail_unless (gst_harness_push_event (h, gst_event_new_eos ()));
  g_thread_join (opener);
  follow_close (h, NULL);
}

GST_END_TEST;

/* The stream goes on with the slow model's masks, and one warning says so. */
GST_START_TEST (test_the_fast_model_fails)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *why = NULL;

  follow_start (h);
  follow_expect (h, 3, "ok 0: 1@3+3");
  sam_fast_set (SAM_EDEVICE, 0);
  follow_expect (h, 4, "stale 1: 1@3+3");
  g_object_set (h->element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  follow_expect (h, 5, "stale 2: 1@3+3");
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &why),
      1);
  fail_unless (strstr (why, "follow is off: as the test wants it") != NULL,
      "%s", why);
  g_free (why);
  sam_gate_set (&sam_step_gate, FALSE);
  follow_settle (h);
  g_object_set (h->element, "max-wait", LONG, NULL);
  follow_expect (h, 6, "ok 0: 1@3");
  follow_close (h, bus);
}

GST_END_TEST;

/* That is the end of the stream, as it is without a fast one. */
GST_START_TEST (test_the_slow_model_fails)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstBus *bus = sam_harness_add_bus (h);
  GstFlowReturn ret = GST_FLOW_OK;
  guint n;

  follow_start (h);
  sam_step_set (SAM_EDEVICE, 0);
  sam_gate_set (&sam_step_gate, FALSE);
  for (n = 3; n < 1000 && ret == GST_FLOW_OK; n++) {
    ret = gst_harness_push (h, sam_harness_frame (h, n));
    sam_gate_wait_left (&sam_step_gate, 2);
  }
  fail_unless_equals_int (ret, GST_FLOW_ERROR);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, NULL), 1);
  follow_close (h, bus);
}

GST_END_TEST;

/* A model that would follow itself, or one that takes longer: by far, as a busy
 * machine may stretch the steps of either. */
GST_START_TEST (test_a_model_of_the_same_speed)
{
  const gboolean is_same = __i__;
  GstHarness *h = follow_harness_new_with (SQUARE_BOX, NULL, is_same ? "embedded" :
      follow_file);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL, *why = NULL;
  guint n, warnings = 0;

  sam_step_set (SAM_OK, 5000);
  sam_fast_set (SAM_OK, 40000);
  if (is_same) {                /* told at the start, before there was a bus */
    gst_element_set_state (h->element, GST_STATE_NULL);
    gst_harness_play (h);
    gst_element_set_state (h->element, GST_STATE_PLAYING);
    gst_harness_set_src_caps_str (h, CAPS);
  }
  for (n = 0; n < 200 && !warnings; n++) {
    g_free (follow_run (h, n));
    follow_settle (h);
    warnings = sam_count_messages (bus, GST_MESSAGE_WARNING, &why);
  }
  fail_unless_equals_int (warnings, 1);
  fail_unless (strstr (why, is_same ? "it names the model itself" :
          "expected at most 80 %") != NULL, "%s", why);
  text = follow_run (h, n);
  fail_unless (g_str_has_prefix (text, "ok 0: 1@") && !strchr (text, '+'),
      "'%s'", text);
  g_free (text);
  g_free (why);
  follow_close (h, bus);
}

GST_END_TEST;

static gboolean
is_followed (GstHarness * h, guint n)
{
  gchar *text = follow_run (h, n);
  const gboolean follows = strchr (text, '+') != NULL;

  g_free (text);
  return follows;
}

#define CAPS_AT(rate) \
    "video/x-raw,format=RGB,width=64,height=48,framerate=" rate

/* With auto it follows while a step of the slow model takes longer than a
 * frame. */
GST_START_TEST (test_auto)
{
  gchar *slow_file = follow_file;
  GstHarness *h;
  guint n;

  sam_fast_model = g_getenv ("SAMTRACK_MODEL");
  h = follow_harness_new_with (SQUARE_BOX, slow_file, "auto");
  gst_harness_set_src_caps_str (h, CAPS_AT ("1/1000"));
  follow_expect_begin (h, 0, "ok 0: 1@0");
  follow_settle (h);
  for (n = 1; n < 4; n++)
    fail_unless (!is_followed (h, n));
  gst_harness_set_src_caps_str (h, CAPS_AT ("1000/1"));
  for (; n < 400 && !is_followed (h, n); n++)
    follow_settle (h);
  fail_unless (n < 400);
  gst_harness_set_src_caps_str (h, CAPS_AT ("1/1000"));
  for (; n < 800 && is_followed (h, n); n++)
    follow_settle (h);
  fail_unless (n < 800);
  follow_close (h, NULL);
}

GST_END_TEST;

/* Frames that wait for the slow model have nothing to be followed. */
GST_START_TEST (test_block)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  follow_start (h);
  follow_expect (h, 3, "ok 0: 1@3+3");
  sam_gate_set (&sam_step_gate, FALSE);
  follow_settle (h);                   /* the slow model had the frames 0, 1 and 3 */
  gst_util_set_object_arg (G_OBJECT (h->element), "overload-policy", "block");
  follow_expect (h, 4, "ok 0: 1@3");
  follow_expect (h, 5, "ok 0: 1@4");
  follow_close (h, NULL);
}

GST_END_TEST;

/* Frames that the slow model skips as asked have masks of their own. */
GST_START_TEST (test_an_interval)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint n;

  g_object_set (h->element, "interval", 3, NULL);
  for (n = 0; n < 4; n++) {
    g_free (follow_run (h, n));
    follow_settle (h);
  }
  for (; n < 12; n++) {
    follow_expect_begin (h, n, "ok 0: 1@");
    follow_settle (h);
  }
  fail_unless_equals_int (sam_gate_get_entered (&sam_step_gate), 3);
  follow_close (h, NULL);
}

GST_END_TEST;

/* Objects of a file have the ids of those that were followed, and are others. */
GST_START_TEST (test_tracks_of_a_file)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  gboolean ok = FALSE;
  guint n;

  sam_folder_make ("tracks");
  g_free (follow_run (h, 0));
  follow_settle (h);
  g_signal_emit_by_name (h->element, "save-tracks", sam_file, &ok);
  fail_unless (ok);
  for (n = 1; n < 6; n++) {
    g_free (follow_run (h, n));
    follow_settle (h);
  }
  follow_expect_begin (h, n++, "ok 0: 1@6+");
  follow_settle (h);
  g_signal_emit_by_name (h->element, "load-tracks", sam_file, &ok);
  fail_unless (ok);             /* it had run on frame 0 alone */
  g_free (follow_run (h, n++));
  follow_settle (h);
  g_free (follow_run (h, n++));
  follow_settle (h);
  follow_expect_begin (h, n++, "ok 0: 1@3+");
  follow_close (h, NULL);
  sam_folder_remove ();
}

GST_END_TEST;

/* Of the same picture masks go on; of another one they begin anew. */
GST_START_TEST (test_other_caps)
{
  const gboolean same = __i__;
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstBuffer *buf;
  guint n;

  follow_start (h);
  gst_harness_set_src_caps_str (h, same ?
      "video/x-raw,format=RGB,width=128,height=96,framerate=30/1" :
      "video/x-raw,format=RGB,width=96,height=48,framerate=30/1");
  buf = sam_harness_run (h, 3);
  fail_unless_equals_int (sam_get_int (sam_get_meta (buf), "width"),
      same ? 128 : 96);
  fail_unless_equals_string (gst_structure_get_string (sam_get_meta (buf),
          "state"), same ? "ok" : "idle");
  gst_buffer_unref (buf);
  sam_gate_set (&sam_step_gate, FALSE);
  for (n = 4; n < 8; n++) {
    follow_settle (h);
    gst_buffer_unref (sam_harness_run (h, n));
  }
  follow_settle (h);
  follow_expect_begin (h, n, "ok 0: 1@");
  follow_close (h, NULL);
}

GST_END_TEST;

static Suite *
follow_suite (void)
{
  Suite *s = suite_create ("follow");
  TCase *tc = sam_tcase_new_tiny (s, "scripted");

  tcase_add_checked_fixture (tc, follow_begin, follow_end);
  tcase_add_test (tc, test_every_frame_has_its_masks);
  tcase_add_test (tc, test_the_next_anchor);
  tcase_add_test (tc, test_a_replay_in_strides);
  tcase_add_test (tc, test_objects_are_those_of_the_model);
  tcase_add_test (tc, test_lost_and_found);
  tcase_add_loop_test (tc, test_a_flush, 0, POINTS);
  tcase_add_test (tc, test_a_step_from_before_a_flush);
  tcase_add_loop_test (tc, test_a_stop, 0, POINTS);
  tcase_add_loop_test (tc, test_an_end, 0, POINTS);
  tcase_add_test (tc, test_the_fast_model_fails);
  tcase_add_test (tc, test_the_slow_model_fails);
  tcase_add_loop_test (tc, test_a_model_of_the_same_speed, 0, 2);
  tcase_add_test (tc, test_auto);
  tcase_add_test (tc, test_block);
  tcase_add_test (tc, test_an_interval);
  tcase_add_test (tc, test_tracks_of_a_file);
  tcase_add_loop_test (tc, test_other_caps, 0, 2);
  return s;
}

GST_CHECK_MAIN (follow);

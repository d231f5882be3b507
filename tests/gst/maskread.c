/* SPDX-License-Identifier: MIT */
/* Masks that are read from files: where, how often, and who waits for them. The
 * element is linked with a reader that reads nothing, and waits for the test. */

#include "gate.h"

#include "track/gstsampng.h"

#include <string.h>

/* Before every file. */
static SamGate gate = {.shut = TRUE };

/* guarded by its lock */
static gboolean missing;        /* there are no files */
static guint given_up;

static void
set_gate (gboolean open)
{
  sam_gate_set (&gate, !open);
}

gboolean
gst_sam_png_check (const gchar * location, GError ** error)
{
  gboolean ok;

  g_mutex_lock (&gate.lock);
  ok = !missing;
  g_mutex_unlock (&gate.lock);
  if (!ok)
    g_set_error (error, GST_SAM_REFUSAL, GST_SAM_REFUSED_MASK, "%s is missing.",
        location);
  return ok;
}

/* A mask whose middle is set; of "bad.png" there is none. */
gboolean
gst_sam_png_read (GstSamPlane * plane, const gchar * location,
    gint value, const gint * cancelled, GError ** error)
{
  gboolean ok;

  memset (plane, 0, sizeof *plane);
  sam_gate_enter (&gate, cancelled);
  ok = !g_atomic_int_get (cancelled) && strcmp (location, "bad.png");
  g_mutex_lock (&gate.lock);
  given_up += g_atomic_int_get (cancelled);
  g_mutex_unlock (&gate.lock);
  sam_gate_leave (&gate);
  if (ok) {
    plane->width = plane->height = 8;
    plane->bits = g_malloc0 (8);
    memset (plane->bits + 2, 0x3c, 4);
  } else {
    g_set_error (error, GST_SAM_REFUSAL, GST_SAM_REFUSED_MASK, "%s is bad.",
        location);
  }
  return ok;
}

/* All have one object. */
gboolean
gst_sam_png_find_values (const gchar * location, guint8 used[256], guint * num,
    const gint * cancelled, GError ** error)
{
  *num = 0;
  return TRUE;
}

/* Objects after the n-th frame; *id is that of the last one. */
static guint
run (GstHarness * h, guint n, guint64 * id)
{
  GstBuffer *buf = sam_harness_run (h, n);
  const GstStructure *meta = sam_get_meta (buf);
  guint objects = sam_get_num_objects (meta);

  if (id)
    *id = objects ? sam_get_id (meta, objects - 1) : 0;
  gst_buffer_unref (buf);
  return objects;
}

/* Push a frame in a thread, which is in the element then. */
static GThread *
start_frame (GstHarness * h)
{
  GThread *thread = g_thread_new ("streaming", sam_harness_push_first, h);

  while (sam_get_stat (h->element, "frames-in") < 1)
    g_usleep (100);
  return thread;
}

static void
send_prompt (GstHarness * h, const gchar * text)
{
  fail_unless (gst_harness_push_event (h, gst_event_new_custom
          (GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new ("samtrack-prompt",
                  "prompt", G_TYPE_STRING, text, NULL))));
}

/* Live frames go on while the file is read; prompts behind it wait. */
GST_START_TEST (test_live_frames_do_not_wait)
{
  GstHarness *h = sam_track_harness_new (NULL, TRUE, 10 * GST_SECOND);
  guint64 id;
  guint n = 0;

  send_prompt (h, "mask,location=a.png");
  send_prompt (h, "point,x=30,y=20");
  sam_gate_wait_entered (&gate, 1);
  fail_unless (gate.thread != g_thread_self ());
  for (; n < 5; n++)
    fail_unless_equals_int (run (h, n, NULL), 0);
  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (0), 5.0,
      5.0, TRUE, FALSE, &id);
  fail_unless_equals_uint64 (id, 3);
  fail_unless_equals_int (run (h, n++, NULL), 0);
  set_gate (TRUE);
  while (!run (h, n++, &id))
    g_usleep (100);
  fail_unless_equals_int (run (h, n, &id), 3);
  fail_unless_equals_uint64 (id, 3);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Elsewhere the first frame has the mask, however long that takes. */
GST_START_TEST (test_other_frames_wait)
{
  const gboolean live = __i__;
  GstHarness *h =
      sam_track_harness_new ("mask,location=a.png;point,x=30,y=20", live,
          10 * GST_SECOND);
  GThread *thread;
  GstBuffer *buf;

  if (live)
    gst_util_set_object_arg (G_OBJECT (h->element), "overload-policy", "block");
  thread = start_frame (h);
  sam_gate_wait_entered (&gate, 1);
  fail_unless (gst_harness_try_pull (h) == NULL);
  set_gate (TRUE);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)),
      GST_FLOW_OK);
  buf = gst_harness_pull (h);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 1);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_a_flush_ends_the_wait)
{
  GstHarness *h =
      sam_track_harness_new ("mask,location=a.png", FALSE, 10 * GST_SECOND);
  GThread *thread = start_frame (h);

  gst_harness_push_event (h, gst_event_new_flush_start ());
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)),
      GST_FLOW_FLUSHING);
  set_gate (TRUE);
  sam_harness_flush (h);
  /* applied once, though it waited when it was applied anew */
  fail_unless_equals_int (run (h, 0, NULL), 1);
  fail_unless_equals_int (sam_gate_get_entered (&gate), 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_a_state_change_ends_the_wait)
{
  GstHarness *h =
      sam_track_harness_new ("mask,location=a.png", FALSE, 10 * GST_SECOND);
  GThread *thread = start_frame (h);

  sam_gate_wait_entered (&gate, 1);
  fail_unless_equals_int (gst_element_set_state (h->element, GST_STATE_NULL),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless_equals_int (GPOINTER_TO_INT (g_thread_join (thread)),
      GST_FLOW_FLUSHING);
  fail_unless_equals_int (given_up, 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Nobody waits, and the reader is at work: it is told to give up. */
GST_START_TEST (test_a_state_change_ends_reading)
{
  GstHarness *h =
      sam_track_harness_new ("mask,location=a.png;mask,location=b.png", TRUE,
          10 * GST_SECOND);

  fail_unless_equals_int (run (h, 0, NULL), 0);
  sam_gate_wait_entered (&gate, 1);
  fail_unless_equals_int (gst_element_set_state (h->element, GST_STATE_NULL),
      GST_STATE_CHANGE_SUCCESS);
  fail_unless_equals_int (given_up, 1);
  fail_unless_equals_int (gate.entered, 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* The files of initial-prompt are read once, though they are gone by now. */
GST_START_TEST (test_initial_masks_are_kept)
{
  GstHarness *h =
      sam_track_harness_new ("mask,location=a.png,id=1;mask,location=b.png;"
      "mask,location=a.png;mask,location=a.png,id=1", FALSE, 10 * GST_SECOND);

  set_gate (TRUE);
  fail_unless_equals_int (run (h, 0, NULL), 3);
  fail_unless_equals_int (sam_gate_get_entered (&gate), 2);
  missing = TRUE;
  sam_harness_flush (h);
  fail_unless_equals_int (run (h, 0, NULL), 3);
  fail_unless_equals_int (sam_gate_get_entered (&gate), 2);
  /* set anew it is read anew */
  missing = FALSE;
  g_object_set (h->element, "initial-prompt", "mask,location=a.png", NULL);
  sam_harness_flush (h);
  fail_unless_equals_int (run (h, 0, NULL), 1);
  fail_unless_equals_int (sam_gate_get_entered (&gate), 3);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* One file for many prompts at once: the first may be in work already. */
GST_START_TEST (test_one_file_for_many_prompts)
{
  GString *text = g_string_new (NULL);
  GstHarness *h = sam_track_harness_new (NULL, FALSE, 10 * GST_SECOND);
  guint i;

  for (i = 0; i < 20; i++)
    g_string_append (text, "mask,location=a.png;");
  g_signal_emit_by_name (h->element, "prompt", text->str);
  set_gate (TRUE);
  fail_unless_equals_int (run (h, 0, NULL), 20);
  fail_unless (sam_gate_get_entered (&gate) <= 2, "%u",
      sam_gate_get_entered (&gate));
  /* later it may be another picture */
  g_signal_emit_by_name (h->element, "prompt", "mask,location=a.png");
  i = sam_gate_get_entered (&gate);
  fail_unless_equals_int (run (h, 1, NULL), 21);
  fail_unless (sam_gate_get_entered (&gate) >= i);
  sam_gate_wait_left (&gate, 2);
  g_string_free (text, TRUE);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A flush while live frames go on without the mask: it does not come twice. */
GST_START_TEST (test_a_flush_before_the_mask)
{
  GstHarness *h =
      sam_track_harness_new ("mask,location=a.png", TRUE, 10 * GST_SECOND);
  guint n = 2;

  fail_unless_equals_int (run (h, 0, NULL), 0);
  sam_harness_flush (h);
  fail_unless_equals_int (run (h, 1, NULL), 0);
  set_gate (TRUE);
  while (!run (h, n++, NULL))
    g_usleep (100);
  fail_unless_equals_int (run (h, n, NULL), 1);
  fail_unless_equals_int (sam_gate_get_entered (&gate), 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* More prompts than the tracker takes for one frame: the rest of them is not
 * for the objects of the stream that follows. */
GST_START_TEST (test_a_flush_before_the_last_prompt)
{
  GString *text = g_string_new (NULL);
  GstHarness *h;
  GstBus *bus;
  guint i;

  for (i = 0; i < 20; i++)
    g_string_append (text, "point,x=30,y=20,id=1;");
  h = sam_track_harness_new (text->str, TRUE, 10 * GST_SECOND);
  bus = sam_harness_add_bus (h);
  for (i = 0; i < 3; i++) {
    fail_unless_equals_int (run (h, 0, NULL), 1);
    sam_harness_flush (h);
  }
  fail_unless_equals_int (run (h, 0, NULL), 1);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  g_string_free (text, TRUE);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* What turns out later to be no mask is refused when its turn has come, and
 * what follows is applied. */
GST_START_TEST (test_a_bad_file_is_refused_at_the_frame)
{
  GstHarness *h = sam_track_harness_new (NULL, FALSE, 10 * GST_SECOND);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL;
  guint64 id;

  g_signal_emit_by_name (h->element, "prompt",
      "mask,location=bad.png;point,x=30,y=20");
  set_gate (TRUE);
  sam_gate_wait_left (&gate, 1);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  fail_unless_equals_int (run (h, 0, &id), 1);
  fail_unless_equals_uint64 (id, 2);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless_equals_string (text, "bad.png is bad.");
  g_free (text);
  /* its id is free for nobody, its place is */
  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (1), 5.0,
      5.0, TRUE, FALSE, &id);
  fail_unless_equals_uint64 (id, 0);
  fail_unless_equals_uint64 (sam_get_stat (h->element, "rejected-prompts"), 2);
  sam_harness_close (h, bus);
}

GST_END_TEST;

GST_START_TEST (test_commands_while_it_is_read)
{
  GstHarness *h =
      sam_track_harness_new ("mask,location=a.png", TRUE, 10 * GST_SECOND);
  guint64 id;
  guint n = 1;

  /* removed before it was there: what follows waits all the same */
  fail_unless_equals_int (run (h, 0, NULL), 0);
  g_signal_emit_by_name (h->element, "prompt", "remove,id=1;point,x=9,y=9");
  fail_unless_equals_int (run (h, n++, NULL), 0);
  set_gate (TRUE);
  while (!run (h, n++, &id))
    g_usleep (100);
  fail_unless_equals_uint64 (id, 2);

  /* clear takes it out of the queue at once */
  set_gate (FALSE);
  g_signal_emit_by_name (h->element, "prompt", "mask,location=b.png");
  g_signal_emit_by_name (h->element, "clear");
  g_signal_emit_by_name (h->element, "prompt", "point,x=9,y=9");
  fail_unless_equals_int (run (h, n++, &id), 1);
  fail_unless_equals_uint64 (id, 4);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Nothing is read before the element starts: the model's size is not known. */
GST_START_TEST (test_prompts_before_the_start)
{
  GstElement *element;
  GstHarness *h;

  gst_sam_meta_register ();
  element = g_object_new (GST_TYPE_SAM_TRACK, NULL);
  gst_object_ref_sink (element);
  g_signal_emit_by_name (element, "prompt", "mask,location=a.png");
  set_gate (TRUE);
  fail_unless_equals_int (sam_gate_get_entered (&gate), 0);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_live (h, FALSE);
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  fail_unless_equals_int (run (h, 0, NULL), 1);
  fail_unless_equals_int (sam_gate_get_entered (&gate), 1);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
maskread_suite (void)
{
  Suite *s = suite_create ("maskread");
  TCase *tc = sam_tcase_new_tiny (s, "files");

  tcase_add_test (tc, test_live_frames_do_not_wait);
  tcase_add_loop_test (tc, test_other_frames_wait, 0, 2);
  tcase_add_test (tc, test_a_flush_ends_the_wait);
  tcase_add_test (tc, test_a_state_change_ends_the_wait);
  tcase_add_test (tc, test_a_state_change_ends_reading);
  tcase_add_test (tc, test_initial_masks_are_kept);
  tcase_add_test (tc, test_one_file_for_many_prompts);
  tcase_add_test (tc, test_a_flush_before_the_mask);
  tcase_add_test (tc, test_a_flush_before_the_last_prompt);
  tcase_add_test (tc, test_a_bad_file_is_refused_at_the_frame);
  tcase_add_test (tc, test_commands_while_it_is_read);
  tcase_add_test (tc, test_prompts_before_the_start);
  return s;
}

GST_CHECK_MAIN (maskread);

/* SPDX-License-Identifier: MIT */
/* Two speeds: a fast model follows the masks of a slow one. Both are scripted
 * trackers, with a gate before the steps of each, so that a test decides what is
 * slow. A box moves by one pixel with every frame that its tracker processes:
 * its place tells which tracker a mask is of, and from which anchor on. */

#include "gate.h"
#include <string.h>

#define X0 16                   /* of SQUARE_BOX on its first frame, px */
#define SLOW 5000               /* us, so that the other model is faster */

static gchar *fast_file;

static void
use_two_models (void)
{
  fast_file = g_strdup (g_getenv ("SAMTRACK_DETECTOR"));
  sam_fast_model = fast_file;
  sam_step_reset ();
  sam_step_set (SAM_OK, SLOW);
}

static void
use_one_model (void)
{
  sam_fast_model = NULL;
  g_clear_pointer (&fast_file, g_free);
}

static GstHarness *
harness_new (const gchar * prompt, const gchar * model, const gchar * follow)
{
  GstElement *element;
  GstHarness *h;

  gst_sam_meta_register ();
  element = g_object_new (GST_TYPE_SAM_TRACK, "initial-prompt", prompt,
      "max-objects", 32, "max-wait", LONG, "lost-after", 1, "model-file",
      model, "follow", follow, NULL);
  gst_object_ref_sink (element);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_live (h, TRUE);
  gst_harness_set_src_caps_str (h, CAPS);
  return h;
}

static GstHarness *
follow_harness_new (const gchar * prompt)
{
  return harness_new (prompt, NULL, fast_file);
}

static GstSamTrack *
get_element (GstHarness * h)
{
  return (GstSamTrack *) h->element;
}

/* Wait for all steps of the fast model, with its replays. */
static void
settle_fast (GstHarness * h)
{
  GstSamFollow *follow = get_element (h)->follow;
  gboolean busy;

  do {
    g_usleep (500);
    gst_sam_mutex_lock (&follow->lock);
    busy = !follow->is_off && (follow->waiting || follow->busy ||
        follow->has_anchor || follow->replays || follow->resets);
    gst_sam_mutex_unlock (&follow->lock);
  } while (busy);
}

static void
settle (GstHarness * h)
{
  gst_sam_worker_wait (&get_element (h)->worker, LONG);
  settle_fast (h);
}

/* The label map has the object's slot in the middle of its box. */
static void
check_mask (const GstStructure * meta, const GstStructure * object)
{
  const gint x = sam_get_int (object, "x") + sam_get_int (object, "w") / 2;
  const gint y = sam_get_int (object, "y") + sam_get_int (object, "h") / 2;
  GstBuffer *mask = NULL;
  GstMapInfo map;

  fail_unless (gst_structure_get (meta, "mask", GST_TYPE_BUFFER, &mask, NULL));
  fail_unless (gst_buffer_map (mask, &map, GST_MAP_READ));
  fail_unless_equals_int (map.data[y * sam_get_int (meta, "mask-width") + x],
      sam_get_uint (object, "slot"));
  gst_buffer_unmap (mask, &map);
  gst_buffer_unref (mask);
}

/* What the n-th frame says: "STATE AGE: ID@X+ANCHOR ...", how far a box has
 * moved, and the anchor's age, if it follows one; "ID STATE" without a mask. */
static gchar *
run (GstHarness * h, guint n)
{
  GstBuffer *buf = sam_harness_run (h, n);
  const GstStructure *meta = sam_get_meta (buf);
  GString *text = g_string_new (NULL);
  guint i, age;

  g_string_printf (text, "%s %u:", gst_structure_get_string (meta, "state"),
      sam_get_uint (meta, "age"));
  for (i = 0; i < sam_get_num_objects (meta); i++) {
    const GstStructure *object = sam_get_object (meta, i);

    g_string_append_printf (text, " %u", (guint) sam_get_id (meta, i));
    if (sam_get_uint (object, "area") > 0)
      g_string_append_printf (text, "@%d", sam_get_int (object, "x") - X0);
    else
      g_string_append_printf (text, " %s",
          gst_structure_get_string (object, "state"));
    if (gst_structure_get_uint (object, "anchor-age", &age))
      g_string_append_printf (text, "+%u", age);
    if (sam_get_uint (object, "area") > 0)
      check_mask (meta, object);
  }
  gst_buffer_unref (buf);
  return g_string_free (text, FALSE);
}

static void
expect (GstHarness * h, guint n, const gchar * wanted)
{
  gchar *text = run (h, n);

  fail_unless (g_str_equal (text, wanted), "frame %u: '%s', expected '%s'", n,
      text, wanted);
  g_free (text);
}

static void
expect_begin (GstHarness * h, guint n, const gchar * begin)
{
  gchar *text = run (h, n);

  fail_unless (g_str_has_prefix (text, begin), "frame %u: '%s', expected '%s'",
      n, text, begin);
  g_free (text);
}

/* Run the first frames, until those that come have masks of the fast model: it
 * has begun with the slow one's of frame 0, where objects are at @first. The
 * slow one is in a step on frame 1, for as long as the test wants. */
static void
start_following_from (GstHarness * h, const gchar * first)
{
  gchar *wanted;

  expect (h, 0, "idle 0:");
  settle (h);
  sam_gate_set (&sam_step_gate, TRUE);
  wanted = g_strconcat ("stale 1:", first, NULL);
  expect (h, 1, wanted);        /* the anchor is told as it is, for now */
  settle_fast (h);
  g_free (run (h, 2));
  settle_fast (h);
  g_free (wanted);
}

static void
start_following (GstHarness * h)
{
  start_following_from (h, " 1@0");
}

/* The slow model ends its step, and has one on the newest frame. */
static void
let_slow_come (GstHarness * h)
{
  sam_gate_set (&sam_step_gate, FALSE);
  gst_sam_worker_wait (&get_element (h)->worker, LONG);
  sam_gate_set (&sam_step_gate, TRUE);
}

/* Takes over the message. */
static GstMessage *
find_change (GstBus * bus, const gchar * state)
{
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    if (!g_strcmp0 (gst_structure_get_string (gst_message_get_structure
                (message), "state"), state))
      return message;
    gst_message_unref (message);
  }
  ck_abort_msg ("no message with the state %s", state);
  return NULL;
}

static gpointer
push_fourth (gpointer h)
{
  gst_harness_push (h, sam_harness_frame (h, 3));
  return NULL;
}

static void
end (GstHarness * h)
{
  sam_gate_set (&sam_step_gate, FALSE);
  sam_gate_set (&sam_fast_gate, FALSE);
  gst_harness_teardown (h);
}

/* While the slow model has a frame, each frame has masks of its own. */
GST_START_TEST (test_every_frame_has_its_masks)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstStructure *stats, *follow;

  start_following (h);
  expect (h, 3, "ok 0: 1@3+3");
  expect (h, 4, "ok 0: 1@4+4");
  expect (h, 5, "ok 0: 1@5+5");
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
  end (h);
}

GST_END_TEST;

/* The next masks of the slow model, which has run on the frames 0, 1 and 5, take
 * the place of those that the fast one has made of the first. */
GST_START_TEST (test_the_next_anchor)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  start_following (h);
  expect (h, 3, "ok 0: 1@3+3");
  expect (h, 4, "ok 0: 1@4+4");
  expect (h, 5, "ok 0: 1@5+5");
  let_slow_come (h);
  expect_begin (h, 6, "ok 0: 1@");
  settle_fast (h);
  expect (h, 7, "ok 0: 1@4+2");
  expect (h, 8, "ok 0: 1@5+3");
  end (h);
}

GST_END_TEST;

/* A long step: the replay does not run on every frame, and no frame waits for
 * it or goes back. */
GST_START_TEST (test_a_replay_in_strides)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint n, before;

  start_following (h);
  for (n = 3; n < 60; n++)
    expect_begin (h, n, "ok 0: 1@");
  before = get_element (h)->follow->num_replays;
  let_slow_come (h);            /* from the frames 1 and 59 */
  for (; n < 64; n++)
    expect_begin (h, n, "ok 0: 1@");
  settle_fast (h);
  fail_unless (get_element (h)->follow->num_kept <= GST_SAM_FOLLOW_KEPT);
  fail_unless (get_element (h)->follow->num_replays - before <=
      2 * GST_SAM_FOLLOW_REPLAYS + 5);
  expect_begin (h, n, "ok 0: 1@");
  end (h);
}

GST_END_TEST;

/* Ids, slots and labels are the slow model's; what a user removes is gone with
 * the next frame. */
GST_START_TEST (test_objects_are_those_of_the_model)
{
  GstHarness *h = follow_harness_new
      ("box,x=0.25,y=0.0,w=0.375,h=0.25,normalized=true;" SQUARE_BOX);
  gboolean ok = FALSE;

  start_following_from (h, " 1@0 2@0");
  expect (h, 3, "ok 0: 1@3+3 2@3+3");
  g_signal_emit_by_name (h->element, "remove-object", G_GUINT64_CONSTANT (1),
      &ok);
  fail_unless (ok);
  expect (h, 4, "ok 0: 2@4+4");
  let_slow_come (h);
  expect_begin (h, 5, "ok 0: 2@");
  settle_fast (h);              /* its only object has the slot 2 */
  expect (h, 6, "ok 0: 2@4+2");
  g_signal_emit_by_name (h->element, "clear");
  expect (h, 7, "idle 0:");
  expect (h, 8, "idle 0:");
  let_slow_come (h);
  settle (h);
  expect (h, 9, "idle 0:");
  end (h);
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

  start_following_from (h, " 1@0 2 new");
  expect (h, 3, "ok 0: 1@3+3 2 new+3");
  let_slow_come (h);
  expect_begin (h, 4, "ok 0: 1@");
  settle_fast (h);
  expect_begin (h, 5, "ok 0: 1@");
  settle_fast (h);
  expect (h, 6, "ok 0: 1@5+3 2 lost+3");
  g_signal_emit_by_name (h->element, "add-point", G_GUINT64_CONSTANT (2), 28.0,
      4.0, TRUE, FALSE, &id);
  expect (h, 7, "ok 0: 1@6+4 2 lost+4");
  let_slow_come (h);
  expect_begin (h, 8, "ok 0: 1@");
  settle_fast (h);
  expect_begin (h, 9, "ok 0: 1@");
  gst_message_unref (find_change (bus, "lost"));
  gst_message_unref (find_change (bus, "found"));
  sam_gate_set (&sam_step_gate, FALSE);
  sam_harness_close (h, bus);
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
  if (at != AT_BACK)
    start_following (h);
  if (at == AT_SLOW)
    return NULL;
  if (at == AT_BACK) {
    expect (h, 0, "idle 0:");
    settle (h);
    sam_gate_set (&sam_fast_gate, TRUE);
    expect (h, 1, "stale 1: 1@0");
    sam_gate_wait_entered (&sam_fast_gate, 1);
    return NULL;
  }
  sam_gate_set (&sam_fast_gate, TRUE);
  return g_thread_new ("streaming", push_fourth, h);
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
  expect (h, 0, "idle 0:");
  g_thread_join (opener);
  for (n = 1; n < 4; n++) {
    settle (h);
    g_free (run (h, n));
  }
  settle (h);
  expect_begin (h, n, "ok 0: 2@");
  end (h);
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
  end (h);
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
  end (h);
}

GST_END_TEST;

/* The stream goes on with the slow model's masks, and one warning says so. */
GST_START_TEST (test_the_fast_model_fails)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *why = NULL;

  start_following (h);
  expect (h, 3, "ok 0: 1@3+3");
  sam_fast_set (SAM_EDEVICE, 0);
  expect (h, 4, "stale 1: 1@3+3");
  g_object_set (h->element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  expect (h, 5, "stale 2: 1@3+3");
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &why),
      1);
  fail_unless (strstr (why, "follow is off: as the test wants it") != NULL,
      "%s", why);
  g_free (why);
  sam_gate_set (&sam_step_gate, FALSE);
  settle (h);
  g_object_set (h->element, "max-wait", LONG, NULL);
  expect (h, 6, "ok 0: 1@3");
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* That is the end of the stream, as it is without a fast one. */
GST_START_TEST (test_the_slow_model_fails)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  GstBus *bus = sam_harness_add_bus (h);
  GstFlowReturn ret = GST_FLOW_OK;
  guint n;

  start_following (h);
  sam_step_set (SAM_EDEVICE, 0);
  sam_gate_set (&sam_step_gate, FALSE);
  for (n = 3; n < 1000 && ret == GST_FLOW_OK; n++) {
    ret = gst_harness_push (h, sam_harness_frame (h, n));
    sam_gate_wait_left (&sam_step_gate, 2);
  }
  fail_unless_equals_int (ret, GST_FLOW_ERROR);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_ERROR, NULL), 1);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* A model that would follow itself, or one that takes as long. */
GST_START_TEST (test_a_model_of_the_same_speed)
{
  const gboolean is_same = __i__;
  GstHarness *h = harness_new (SQUARE_BOX, NULL, is_same ? "embedded" :
      fast_file);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text = NULL, *why = NULL;
  guint n, warnings = 0;

  sam_step_set (SAM_OK, 10000);
  sam_fast_set (SAM_OK, 10000);
  if (is_same) {                /* told at the start, before there was a bus */
    gst_element_set_state (h->element, GST_STATE_NULL);
    gst_harness_play (h);
    gst_element_set_state (h->element, GST_STATE_PLAYING);
    gst_harness_set_src_caps_str (h, CAPS);
  }
  for (n = 0; n < 200 && !warnings; n++) {
    g_free (run (h, n));
    settle (h);
    warnings = sam_count_messages (bus, GST_MESSAGE_WARNING, &why);
  }
  fail_unless_equals_int (warnings, 1);
  fail_unless (strstr (why, is_same ? "it names the model itself" :
          "expected at most 80 %") != NULL, "%s", why);
  text = run (h, n);
  fail_unless (g_str_has_prefix (text, "ok 0: 1@") && !strchr (text, '+'),
      "'%s'", text);
  g_free (text);
  g_free (why);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* With auto it follows while a step of the slow model takes longer than a
 * frame, which is 33 ms. */
GST_START_TEST (test_auto)
{
  gchar *slow_file = fast_file, *text;
  gboolean follows = FALSE;
  GstHarness *h;
  guint n;

  sam_fast_model = g_getenv ("SAMTRACK_MODEL");
  h = harness_new (SQUARE_BOX, slow_file, "auto");
  expect (h, 0, "idle 0:");
  settle (h);
  for (n = 1; n < 4; n++) {
    expect_begin (h, n, "ok 0: 1@");
    fail_unless (!gst_sam_follow_is_on (get_element (h)->follow));
  }
  sam_step_set (SAM_OK, 60000);
  for (; n < 400 && !follows; n++) {
    text = run (h, n);
    follows = strchr (text, '+') != NULL;
    g_free (text);
    settle_fast (h);
  }
  fail_unless (follows);
  sam_step_set (SAM_OK, 0);
  for (; n < 800 && follows; n++) {
    settle (h);
    text = run (h, n);
    follows = strchr (text, '+') != NULL;
    g_free (text);
  }
  fail_unless (!follows);
  end (h);
}

GST_END_TEST;

/* Frames that wait for the slow model have nothing to be followed. */
GST_START_TEST (test_block)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);

  start_following (h);
  expect (h, 3, "ok 0: 1@3+3");
  sam_gate_set (&sam_step_gate, FALSE);
  settle (h);                   /* the slow model had the frames 0, 1 and 3 */
  gst_util_set_object_arg (G_OBJECT (h->element), "overload-policy", "block");
  expect (h, 4, "ok 0: 1@3");
  expect (h, 5, "ok 0: 1@4");
  end (h);
}

GST_END_TEST;

/* Frames that the slow model skips as asked have masks of their own. */
GST_START_TEST (test_an_interval)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  guint n;

  g_object_set (h->element, "interval", 3, NULL);
  for (n = 0; n < 4; n++) {
    g_free (run (h, n));
    settle (h);
  }
  for (; n < 12; n++) {
    expect_begin (h, n, "ok 0: 1@");
    settle (h);
  }
  fail_unless_equals_int (sam_gate_get_entered (&sam_step_gate), 3);
  end (h);
}

GST_END_TEST;

/* Objects of a file have the ids of those that were followed, and are others. */
GST_START_TEST (test_tracks_of_a_file)
{
  GstHarness *h = follow_harness_new (SQUARE_BOX);
  gboolean ok = FALSE;
  guint n;

  sam_folder_make ("tracks");
  g_free (run (h, 0));
  settle (h);
  g_signal_emit_by_name (h->element, "save-tracks", sam_file, &ok);
  fail_unless (ok);
  for (n = 1; n < 6; n++) {
    g_free (run (h, n));
    settle (h);
  }
  expect_begin (h, n++, "ok 0: 1@6+");
  settle (h);
  g_signal_emit_by_name (h->element, "load-tracks", sam_file, &ok);
  fail_unless (ok);             /* it had run on frame 0 alone */
  g_free (run (h, n++));
  settle (h);
  g_free (run (h, n++));
  settle (h);
  expect_begin (h, n++, "ok 0: 1@3+");
  end (h);
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

  start_following (h);
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
    settle (h);
    gst_buffer_unref (sam_harness_run (h, n));
  }
  settle (h);
  expect_begin (h, n, "ok 0: 1@");
  end (h);
}

GST_END_TEST;

static Suite *
follow_suite (void)
{
  Suite *s = suite_create ("follow");
  TCase *tc = sam_tcase_new_tiny (s, "scripted");

  tcase_add_checked_fixture (tc, use_two_models, use_one_model);
  tcase_add_test (tc, test_every_frame_has_its_masks);
  tcase_add_test (tc, test_the_next_anchor);
  tcase_add_test (tc, test_a_replay_in_strides);
  tcase_add_test (tc, test_objects_are_those_of_the_model);
  tcase_add_test (tc, test_lost_and_found);
  tcase_add_loop_test (tc, test_a_flush, 0, POINTS);
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

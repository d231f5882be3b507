/* SPDX-License-Identifier: MIT */
/* The signals save-tracks and load-tracks: in a live pipeline, where a worker
 * tracks, and in another one; from other threads; in every state. The element is
 * linked with a gate before sam_tracker_step(). */

#include "gate.h"

#include <glib/gstdio.h>
#include <string.h>

static void
setup (void)
{
  sam_step_reset ();
  sam_folder_make ("tracks");
}

static gboolean
emit (GstElement * element, const gchar * signal, const gchar * location)
{
  gboolean ok = 2;

  g_signal_emit_by_name (element, signal, location, &ok);
  return ok;
}

static void
run_until (GstHarness * h, guint first, guint end)
{
  for (; first < end; first++)
    gst_buffer_unref (sam_harness_run (h, first));
}

/* Both frames have the same objects, to the bit; ids too. */
static void
check_same (GstHarness * a, GstHarness * b, guint n, guint num_objects)
{
  GstBuffer *x = sam_harness_run (a, n), *y = sam_harness_run (b, n);
  GstSamReport of_x, of_y;
  GstMapInfo map;

  gst_sam_meta_read (&of_x, (GstMeta *) gst_buffer_get_custom_meta (x,
          GST_SAM_META_NAME));
  gst_sam_meta_read (&of_y, (GstMeta *) gst_buffer_get_custom_meta (y,
          GST_SAM_META_NAME));
  fail_unless_equals_int (of_x.num_objects, num_objects);
  fail_unless_equals_int (of_y.num_objects, num_objects);
  fail_unless_equals_uint64 (of_x.frame_index, of_y.frame_index);
  fail_unless (!memcmp (of_x.object, of_y.object,
          num_objects * sizeof of_x.object[0]));
  fail_unless (gst_buffer_map (of_x.mask, &map, GST_MAP_READ));
  fail_unless (gst_buffer_memcmp (of_y.mask, 0, map.data, map.size) == 0);
  gst_buffer_unmap (of_x.mask, &map);
  gst_buffer_unref (x);
  gst_buffer_unref (y);
}

/* The element's ids differ from the engine's; prompts wait. */
GST_START_TEST (test_another_element_goes_on)
{
  const gboolean live = __i__ & 1, before = __i__ & 2;
  GstHarness *a =
      sam_track_harness_new (SQUARE_BOX ";" SQUARE_POINT, live, LONG);
  GstHarness *b =
      sam_track_harness_new (before ? NULL : SQUARE_POINT, live, LONG);
  guint64 id;
  guint n;

  run_until (a, 0, 2);
  g_signal_emit_by_name (a->element, "remove-object", G_GUINT64_CONSTANT (1),
      &id);
  g_signal_emit_by_name (a->element, "prompt", "point,id=7,x=1,y=1");
  g_signal_emit_by_name (a->element, "prompt", "clear");
  run_until (a, 2, 3);
  g_signal_emit_by_name (a->element, "add-box", G_GUINT64_CONSTANT (0), 12.0,
      10.0, 20.0, 20.0, FALSE, &id);
  fail_unless_equals_uint64 (id, 3);
  run_until (a, 3, 5);
  g_signal_emit_by_name (a->element, "add-point", id, 20.0, 20.0, TRUE, FALSE,
      &id);
  g_signal_emit_by_name (a->element, "add-point", G_GUINT64_CONSTANT (0), 40.0,
      20.0, TRUE, FALSE, &id);
  fail_unless_equals_uint64 (id, 4);
  fail_unless (emit (a->element, "save-tracks", sam_file) == TRUE);
  if (!before)
    run_until (b, 0, 3);
  g_signal_emit_by_name (b->element, "add-point", G_GUINT64_CONSTANT (0), 40.0,
      20.0, TRUE, FALSE, &id);  /* will be dropped */
  fail_unless (emit (b->element, "load-tracks", sam_file) == TRUE);
  for (n = 5; n < 9; n++)
    check_same (a, b, n, 2);
  g_signal_emit_by_name (b->element, "add-point", G_GUINT64_CONSTANT (0), 40.0,
      20.0, TRUE, FALSE, &id);
  fail_unless_equals_uint64 (id, 5);
  gst_harness_teardown (a);
  gst_harness_teardown (b);
}

GST_END_TEST;

typedef struct
{
  GstElement *element;
  gint done;
} Emitter;

static gpointer
save_once (gpointer data)
{
  Emitter *e = data;
  const gboolean ok = emit (e->element, "save-tracks", sam_file);

  g_atomic_int_set (&e->done, TRUE);
  return GINT_TO_POINTER (ok);
}

/* Handed to whoever has the tracker, between two steps. */
GST_START_TEST (test_during_a_step)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, TRUE, LONG);
  Emitter e = { h->element, FALSE };
  GThread *thread;

  g_object_set (h->element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  sam_gate_set (&sam_step_gate, TRUE);
  gst_buffer_unref (sam_harness_run (h, 0));
  sam_gate_wait_entered (&sam_step_gate, 1);
  thread = g_thread_new ("emitter", save_once, &e);
  g_usleep (30000);
  fail_unless (!g_atomic_int_get (&e.done));
  gst_buffer_unref (sam_harness_run (h, 1));    /* no frame waits */
  sam_gate_set (&sam_step_gate, FALSE);
  fail_unless (g_thread_join (thread) == GINT_TO_POINTER (TRUE));
  fail_unless (g_file_test (sam_file, G_FILE_TEST_IS_REGULAR));
  gst_harness_teardown (h);
}

GST_END_TEST;

static gpointer
save_and_load (gpointer data)
{
  Emitter *e = data;
  guint i;

  for (i = 0; i < 20; i++) {
    fail_unless (emit (e->element, "save-tracks", sam_file) == TRUE);
    fail_unless (emit (e->element, "load-tracks", sam_file) == TRUE);
  }
  g_atomic_int_set (&e->done, TRUE);
  return NULL;
}

GST_START_TEST (test_while_frames_come)
{
  GstHarness *h =
      sam_track_harness_new (SQUARE_BOX ";" SQUARE_POINT, __i__, LONG);
  Emitter e = { h->element, FALSE };
  GstBuffer *buf;
  GThread *thread;
  guint n;

  run_until (h, 0, 1);
  thread = g_thread_new ("emitter", save_and_load, &e);
  for (n = 1; n < 5 || !g_atomic_int_get (&e.done); n++)
    gst_buffer_unref (sam_harness_run (h, n));
  g_thread_join (thread);
  buf = sam_harness_run (h, n);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 1);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 1), 2);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

static void
check_refused (GstHarness * h, GstBus * bus, const gchar * signal,
    const gchar * location, const gchar * reason)
{
  const GstStructure *details = NULL;
  GstMessage *message;

  fail_unless (emit (h->element, signal, location) == FALSE);
  message = gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING);
  fail_unless (message != NULL);
  gst_message_parse_warning_details (message, &details);
  fail_unless (gst_structure_has_name (details, "samtrack-refusal"));
  fail_unless_equals_string (gst_structure_get_string (details, "reason"),
      reason);
  fail_unless_equals_string (gst_structure_get_string (details, "location"),
      location ? location : "");
  gst_message_unref (message);
  fail_unless (gst_bus_pop_filtered (bus, GST_MESSAGE_WARNING) == NULL);
}

static void
spoil (void)
{
  gchar *data;
  gsize size;

  fail_unless (g_file_get_contents (sam_file, &data, &size, NULL));
  data[size - 1] ^= 1;
  fail_unless (g_file_set_contents (sam_file, data, size, NULL));
  g_free (data);
}

GST_START_TEST (test_refusals)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, __i__, LONG);
  GstBus *bus = sam_harness_add_bus (h);
  sam_tracker *tracker;
  GstBuffer *buf;

  run_until (h, 0, 2);
  check_refused (h, bus, "load-tracks", sam_file, "file");  /* there is none */
  check_refused (h, bus, "load-tracks", NULL, "file");
  check_refused (h, bus, "save-tracks", NULL, "file");
  check_refused (h, bus, "save-tracks", "", "file");
  check_refused (h, bus, "save-tracks", sam_folder, "file");
  check_refused (h, bus, "save-tracks", "/dev/full", "file");
  fail_unless (emit (h->element, "save-tracks", sam_file) == TRUE);
  spoil ();
  check_refused (h, bus, "load-tracks", sam_file, "file");
  /* A file of the engine's, without the ids of an element. */
  tracker = ((GstSamTrack *) h->element)->tracker;
  fail_unless_equals_int (sam_tracker_save (tracker, sam_file, NULL, 0, NULL),
      0);
  check_refused (h, bus, "load-tracks", sam_file, "file");
  buf = sam_harness_run (h, 2); /* nothing has changed */
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
  fail_unless_equals_uint64 (sam_get_uint64 (sam_get_meta (buf),
          "frame-index"), 2);
  gst_buffer_unref (buf);
  gst_element_set_state (h->element, GST_STATE_NULL);
  check_refused (h, bus, "save-tracks", sam_file, "state");
  check_refused (h, bus, "load-tracks", sam_file, "state");
  gst_element_set_state (h->element, GST_STATE_READY);
  check_refused (h, bus, "load-tracks", sam_file, "state");
  gst_element_set_state (h->element, GST_STATE_NULL);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static GstPadProbeReturn
save_here (GstPad * pad, GstPadProbeInfo * info, gpointer element)
{
  fail_unless (emit (element, "save-tracks", sam_file) == TRUE);
  return GST_PAD_PROBE_REMOVE;
}

/* From the streaming thread itself. */
GST_START_TEST (test_in_a_probe)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, __i__, LONG);
  GstPad *pad = gst_element_get_static_pad (h->element, "src");

  gst_pad_add_probe (pad, GST_PAD_PROBE_TYPE_BUFFER, save_here, h->element,
      NULL);
  run_until (h, 0, 2);
  fail_unless (emit (h->element, "load-tracks", sam_file) == TRUE);
  gst_object_unref (pad);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* From the first frame on, in every stream; prompts of the other property are
 * for what the file has. */
GST_START_TEST (test_initial_tracks)
{
  GstHarness *a = sam_track_harness_new (SQUARE_BOX ";" SQUARE_POINT, FALSE,
      LONG);
  GstElement *track;
  GstHarness *b;
  GstBuffer *buf;
  guint stream;

  run_until (a, 0, 3);
  fail_unless (emit (a->element, "save-tracks", sam_file) == TRUE);
  track = g_object_new (GST_TYPE_SAM_TRACK, "initial-tracks", sam_file,
      "initial-prompt", __i__ ? "box,id=9,x=1,y=1,w=9,h=9" : NULL,
      "max-objects", 32, "max-wait", LONG, NULL);
  gst_object_ref_sink (track);
  b = gst_harness_new_with_element (track, "sink", "src");
  gst_harness_set_src_caps_str (b, CAPS);
  for (stream = 0; stream < 2; stream++) {
    if (stream)
      sam_harness_flush (b);
    buf = sam_harness_run (b, 3);
    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)),
        __i__ ? 3 : 2);
    fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 1);
    fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 1), 2);
    fail_unless_equals_uint64 (sam_get_uint64 (sam_get_meta (buf),
            "frame-index"), 3);
    gst_buffer_unref (buf);
  }
  if (!__i__) {
    sam_harness_flush (b);
    check_same (a, b, 3, 2);
    check_same (a, b, 4, 2);
  }
  gst_object_unref (track);
  gst_harness_teardown (a);
  gst_harness_teardown (b);
}

GST_END_TEST;

static gchar *
pop_error (GstBus * bus)
{
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  GError *error = NULL;
  gchar *text;

  fail_unless (message != NULL);
  gst_message_parse_error (message, &error, NULL);
  text = g_strdup (error->message);
  g_error_free (error);
  gst_message_unref (message);
  return text;
}

/* A file that is missing, or no longer there for the next stream, is an error:
 * a stream without its objects would look like one in which nothing is. */
GST_START_TEST (test_initial_tracks_that_cannot_be_loaded)
{
  GstHarness *h = sam_track_harness_new (SQUARE_BOX, FALSE, LONG);
  GstBus *bus = sam_harness_add_bus (h);
  gchar *text;

  run_until (h, 0, 2);
  fail_unless (emit (h->element, "save-tracks", sam_file) == TRUE);
  g_object_set (h->element, "initial-tracks", sam_file, NULL);
  fail_if (g_remove (sam_file));
  sam_harness_flush (h);
  fail_unless_equals_int (gst_harness_push (h, sam_harness_frame (h, 2)),
      GST_FLOW_ERROR);
  text = pop_error (bus);
  fail_unless (strstr (text, "The tracks were not loaded") && strstr (text,
          sam_file), "%s", text);
  g_free (text);
  gst_element_set_state (h->element, GST_STATE_NULL);
  fail_unless (gst_element_set_state (h->element, GST_STATE_PAUSED) ==
      GST_STATE_CHANGE_FAILURE);
  text = pop_error (bus);
  fail_unless (strstr (text, sam_file) != NULL, "%s", text);
  g_free (text);
  gst_element_set_state (h->element, GST_STATE_NULL);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
save_suite (void)
{
  Suite *s = suite_create ("save");
  TCase *tc = sam_tcase_new_tiny (s, "tracks");

  tcase_add_checked_fixture (tc, setup, sam_folder_remove);
  tcase_add_loop_test (tc, test_another_element_goes_on, 0, 4);
  tcase_add_test (tc, test_during_a_step);
  tcase_add_loop_test (tc, test_while_frames_come, 0, 2);
  tcase_add_loop_test (tc, test_refusals, 0, 2);
  tcase_add_loop_test (tc, test_in_a_probe, 0, 2);
  tcase_add_loop_test (tc, test_initial_tracks, 0, 2);
  tcase_add_test (tc, test_initial_tracks_that_cannot_be_loaded);
  return s;
}

GST_CHECK_MAIN (save);

/* SPDX-License-Identifier: MIT */
/* What a click would take: asked for between frames, answered by a message, in
 * the worker's thread and in the streaming thread; nothing else is changed. On
 * the scripted tracker, whose answers are boxes. That the engine's are those of
 * the click is tests/track/preview.c. */

#include "samcheck.h"
#include "scripted.h"

#include "track/gstsamtrackprivate.h"

#include <string.h>

#define WIDTH 64
#define HEIGHT 48
#define FRAME_TIME (GST_SECOND / 30)
#define LONG (G_GUINT64_CONSTANT (3600) * GST_SECOND)
#define CAPS "video/x-raw,format=RGB,width=64,height=48,framerate=30/1"
#define POINT "point,x=0.5,y=0.5,normalized=true"

typedef struct
{
  GstHarness *h;
  GstBus *bus;
  guint frame;
} Rig;

static Rig
open_rig (gboolean live, guint history, gboolean idle)
{
  GstElement *element = g_object_new (GST_TYPE_SAM_TRACK, "max-objects", 1,
      "history", history, "history-idle", idle, "max-wait", LONG, NULL);
  Rig rig = { NULL, };

  gst_object_ref_sink (element);
  rig.h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_live (rig.h, live);
  gst_harness_set_src_caps_str (rig.h, CAPS);
  rig.bus = sam_harness_add_bus (rig.h);
  return rig;
}

static void
close_rig (Rig * rig)
{
  sam_harness_close (rig->h, rig->bus);
}

static GstBuffer *
run (Rig * rig)
{
  GstCaps *caps = gst_pad_get_current_caps (rig->h->srcpad);
  GstVideoInfo info;
  GstBuffer *buf;

  gst_video_info_from_caps (&info, caps);
  gst_caps_unref (caps);
  buf = sam_frame_new (&info, 0);
  GST_BUFFER_PTS (buf) = rig->frame++ * FRAME_TIME;
  GST_BUFFER_DURATION (buf) = FRAME_TIME;
  buf = gst_harness_push_and_pull (rig->h, buf);
  gst_sam_worker_wait (&((GstSamTrack *) rig->h->element)->worker, LONG);
  return buf;
}

static void
run_until (Rig * rig, guint frame)
{
  while (rig->frame < frame)
    gst_buffer_unref (run (rig));
}

static guint64
ask (Rig * rig, const gchar * text)
{
  guint64 number;

  g_signal_emit_by_name (rig->h->element, "preview", text, &number);
  return number;
}

/* The next answer. Where @live a thread gives it, else the next frame, as soon
 * as the last one is long enough ago. */
static GstStructure *
pop_answer (Rig * rig, gboolean live)
{
  GstStructure *s = NULL;
  GstMessage *message;

  while (!s) {
    if (!live)
      gst_buffer_unref (run (rig));
    message = gst_bus_timed_pop_filtered (rig->bus, live ? 60 * GST_SECOND :
        10 * GST_MSECOND, GST_MESSAGE_ELEMENT);
    fail_unless (message || !live, "no answer came");
    if (message && gst_message_has_name (message, "samtrack-preview"))
      s = gst_structure_copy (gst_message_get_structure (message));
    g_clear_pointer (&message, gst_message_unref);
  }
  return s;
}

/* The mask is the box that is told, and that is around the point. */
static void
check_box (const GstStructure * s, gdouble x, gdouble y)
{
  const GstSample *sample =
      gst_value_get_sample (gst_structure_get_value (s, "mask"));
  GstBuffer *mask = gst_sample_get_buffer ((GstSample *) sample);
  const gint left = sam_get_int (s, "x"), top = sam_get_int (s, "y");
  const gint w = sam_get_int (s, "w"), h = sam_get_int (s, "h");
  GstMapInfo map;
  gint i;

  fail_unless_equals_int (left, WIDTH * (x - SCRIPTED_WIDTH / 2));
  fail_unless_equals_int (top, HEIGHT * (y - SCRIPTED_HEIGHT / 2));
  fail_unless_equals_int (w, WIDTH * SCRIPTED_WIDTH);
  fail_unless_equals_int (h, HEIGHT * SCRIPTED_HEIGHT);
  fail_unless_equals_int (sam_get_uint (s, "area"), w * h);
  fail_unless (sam_get_double (s, "score") > 0);
  fail_unless (sam_get_double (s, "iou") == SCRIPTED_IOU);
  gst_buffer_map (mask, &map, GST_MAP_READ);
  fail_unless_equals_int (map.size, WIDTH * HEIGHT);
  for (i = 0; i < WIDTH * HEIGHT; i++) {
    const gint column = i % WIDTH - left, row = i / WIDTH - top;

    fail_unless_equals_int (map.data[i] != 0, column >= 0 && column < w &&
        row >= 0 && row < h);
  }
  gst_buffer_unmap (mask, &map);
}

/* Frames that are only kept, and frames with an object that takes all slots. */
static void
check_answers (gboolean live)
{
  Rig rig = open_rig (live, 8, TRUE);
  GstStructure *s;
  gchar *text;

  run_until (&rig, 4);
  fail_unless_equals_uint64 (ask (&rig, POINT), 1);
  s = pop_answer (&rig, live);
  fail_unless_equals_uint64 (sam_get_uint64 (s, "number"), 1);
  fail_unless_equals_uint64 (sam_get_uint64 (s, "running-time"),
      (rig.frame - 1) * FRAME_TIME);
  check_box (s, 0.5, 0.5);
  gst_structure_free (s);

  g_signal_emit_by_name (rig.h->element, "prompt", SQUARE_BOX);
  run_until (&rig, rig.frame + 3);
  text = g_strdup_printf ("point,x=20,y=18,running-time=%" G_GUINT64_FORMAT,
      (rig.frame - 2) * FRAME_TIME + FRAME_TIME / 2);
  fail_unless_equals_uint64 (ask (&rig, text), 2);
  s = pop_answer (&rig, live);
  fail_unless_equals_uint64 (sam_get_uint64 (s, "number"), 2);
  if (live)
    fail_unless_equals_uint64 (sam_get_uint64 (s, "running-time"),
        (rig.frame - 2) * FRAME_TIME);
  check_box (s, 20. / WIDTH, 18. / HEIGHT);
  gst_structure_free (s);
  g_free (text);
  close_rig (&rig);
}

GST_START_TEST (test_answers)
{
  check_answers (TRUE);
}

GST_END_TEST;

GST_START_TEST (test_answers_not_live)
{
  check_answers (FALSE);
}

GST_END_TEST;

/* Frames are held back, as in a pause: an event has the request served. */
GST_START_TEST (test_pause)
{
  Rig rig = open_rig (FALSE, 8, TRUE);
  GstStructure *s = NULL;
  guint64 number;

  run_until (&rig, 4);
  number = ask (&rig, POINT);
  while (!s) {
    GstMessage *message;

    fail_unless (gst_harness_push_event (rig.h, gst_event_new_custom
            (GST_EVENT_CUSTOM_DOWNSTREAM,
                gst_structure_new_empty ("samtrack-preview"))));
    message = gst_bus_timed_pop_filtered (rig.bus, 10 * GST_MSECOND,
        GST_MESSAGE_ELEMENT);
    if (message && gst_message_has_name (message, "samtrack-preview"))
      s = gst_structure_copy (gst_message_get_structure (message));
    g_clear_pointer (&message, gst_message_unref);
  }
  fail_unless_equals_uint64 (sam_get_uint64 (s, "number"), number);
  fail_unless_equals_uint64 (sam_get_uint64 (s, "running-time"),
      (rig.frame - 1) * FRAME_TIME);
  fail_unless_equals_int (sam_get_int (s, "width"), WIDTH);
  fail_unless_equals_int (sam_get_int (s, "height"), HEIGHT);
  check_box (s, 0.5, 0.5);
  gst_structure_free (s);
  close_rig (&rig);
}

GST_END_TEST;

/* The newest request is served, then none for a while. */
GST_START_TEST (test_newest)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_POINT,.x = 1 };
  const gint64 start = g_get_monotonic_time ();
  GstSamPreview preview = { FALSE, };
  guint64 number = 0;

  fail_if (gst_sam_preview_take (&preview, &prompt, &number));
  fail_unless_equals_uint64 (gst_sam_preview_ask (&preview, &prompt), 1);
  prompt.x = 2;
  fail_unless_equals_uint64 (gst_sam_preview_ask (&preview, &prompt), 2);
  prompt.x = 0;
  fail_unless (gst_sam_preview_take (&preview, &prompt, &number));
  fail_unless (number == 2 && prompt.x == 2);
  fail_if (gst_sam_preview_take (&preview, &prompt, &number));

  /* One that took an hour: then steps that are always on have four. */
  gst_sam_preview_rest (&preview, start - 3600 * G_TIME_SPAN_SECOND, 1);
  fail_unless (preview.due >= start + 4 * 3600 * G_TIME_SPAN_SECOND);
  /* Steps that need half the time have 0.4 of it: previews may have the rest. */
  gst_sam_preview_rest (&preview, start - 36 * G_TIME_SPAN_SECOND, 0.5);
  fail_unless (preview.due >= start + 24 * G_TIME_SPAN_SECOND);
  fail_unless (preview.due < start + 30 * G_TIME_SPAN_SECOND);
  gst_sam_preview_rest (&preview, start - 36 * G_TIME_SPAN_SECOND, 0);
  fail_unless (preview.due < start + 5 * G_TIME_SPAN_SECOND);
  gst_sam_preview_rest (&preview, start - 3600 * G_TIME_SPAN_SECOND, 1);
  gst_sam_preview_ask (&preview, &prompt);
  fail_if (gst_sam_preview_take (&preview, &prompt, &number));
  preview.due = 0;
  fail_unless (gst_sam_preview_take (&preview, &prompt, &number));
  /* twelve a second */
  gst_sam_preview_rest (&preview, g_get_monotonic_time (), 1);
  fail_unless (preview.due >= start + G_TIME_SPAN_SECOND * 8 / 100);
}

GST_END_TEST;

/* A tracker that is never idle: a step takes longer than a frame comes. */
GST_START_TEST (test_busy)
{
  GstSamWorker *worker;
  GstElement *element;
  GstStructure *s;
  Rig rig = open_rig (TRUE, 8, TRUE);
  guint i;

  element = rig.h->element;
  g_object_set (element, "max-wait", G_GUINT64_CONSTANT (0), NULL);
  g_signal_emit_by_name (element, "prompt", SQUARE_BOX);
  run_until (&rig, 2);
  scripted_set (SCRIPTED_STEPS, SAM_OK, 20000, 0);
  for (i = 0; i < 3; i++) {
    GstMessage *message = NULL;

    ask (&rig, POINT);
    while (!message) {
      GstBuffer *buf = gst_harness_create_buffer (rig.h, WIDTH * HEIGHT * 3);

      GST_BUFFER_PTS (buf) = rig.frame++ * FRAME_TIME;
      GST_BUFFER_DURATION (buf) = FRAME_TIME;
      gst_buffer_unref (gst_harness_push_and_pull (rig.h, buf));
      message = gst_bus_timed_pop_filtered (rig.bus, 5 * GST_MSECOND,
          GST_MESSAGE_ELEMENT);
      if (message && !gst_message_has_name (message, "samtrack-preview"))
        g_clear_pointer (&message, gst_message_unref);
    }
    s = (GstStructure *) gst_message_get_structure (message);
    fail_unless_equals_uint64 (sam_get_uint64 (s, "number"), i + 1);
    gst_message_unref (message);
  }
  /* It knows how long a step takes, and how often a frame comes. */
  worker = &GST_SAM_TRACK (element)->worker;
  gst_sam_mutex_lock (&worker->lock);
  fail_unless (worker->step >= 5000 && worker->interval > 0);
  gst_sam_mutex_unlock (&worker->lock);
  scripted_set (SCRIPTED_STEPS, SAM_OK, 0, 0);
  close_rig (&rig);
}

GST_END_TEST;

static void
expect_refusal (Rig * rig, const gchar * text, const gchar * words)
{
  gchar *told = NULL;

  fail_unless_equals_uint64 (ask (rig, text), 0);
  fail_unless_equals_int (sam_count_messages (rig->bus, GST_MESSAGE_WARNING,
          &told), 1);
  fail_unless (strstr (told, words), "%s", told);
  g_free (told);
}

static void
expect_failure (Rig * rig, const gchar * text, const gchar * words)
{
  GstStructure *s;

  fail_unless (ask (rig, text) > 0);
  s = pop_answer (rig, FALSE);
  fail_if (gst_structure_has_field (s, "mask"));
  fail_unless (strstr (gst_structure_get_string (s, "message"), words), "%s",
      gst_structure_get_string (s, "message"));
  gst_structure_free (s);
}

GST_START_TEST (test_refused)
{
  Rig rig = open_rig (FALSE, 0, FALSE);

  expect_refusal (&rig, NULL, "");
  expect_refusal (&rig, "point,x=", "");
  expect_refusal (&rig, "remove,id=1", "expected one point or box");
  expect_refusal (&rig, POINT ",id=1", "expected one point or box");
  expect_refusal (&rig, POINT ";" POINT, "expected one point or box");
  expect_refusal (&rig, "mask,location=a.png", "expected one point or box");
  expect_failure (&rig, POINT, "no frame is held");
  g_signal_emit_by_name (rig.h->element, "prompt", SQUARE_BOX);
  expect_failure (&rig, "point,x=64,y=0", "outside of the frame");
  close_rig (&rig);
}

GST_END_TEST;

/* The tracker fails while it answers: the stream ends with one error. */
GST_START_TEST (test_failure)
{
  Rig rig = open_rig (TRUE, 8, TRUE);
  GstMessage *message;

  run_until (&rig, 2);
  scripted_set (SCRIPTED_PREVIEW, SAM_EDEVICE, 0, 0);
  ask (&rig, POINT);
  message = gst_bus_timed_pop_filtered (rig.bus, 60 * GST_SECOND,
      GST_MESSAGE_ERROR);
  fail_unless (message != NULL);
  gst_message_unref (message);
  scripted_set (SCRIPTED_PREVIEW, SAM_OK, 0, 0);
  close_rig (&rig);
}

GST_END_TEST;

static Suite *
preview_suite (void)
{
  Suite *suite = suite_create ("preview");
  TCase *tc = sam_tcase_new_tiny (suite, "general");

  gst_sam_meta_register ();
  tcase_add_test (tc, test_answers);
  tcase_add_test (tc, test_answers_not_live);
  tcase_add_test (tc, test_pause);
  tcase_add_test (tc, test_newest);
  tcase_add_test (tc, test_busy);
  tcase_add_test (tc, test_refused);
  tcase_add_test (tc, test_failure);
  return suite;
}

GST_CHECK_MAIN (preview);

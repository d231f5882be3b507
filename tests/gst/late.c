/* SPDX-License-Identifier: MIT */
/* Late prompts: with the running time of a frame that has passed, the masks are,
 * from the frame on which the object has caught up, those of a prompt that came
 * in time. In the streaming thread and in the worker's; with what a stream does
 * meanwhile. */

#include "samcheck.h"

#include "track/gstsamtrackprivate.h"

#include <gst/video/navigation.h>
#include <string.h>

#define WIDTH 64
#define HEIGHT 48
#define FRAME_TIME (GST_SECOND / 30)
#define HISTORY 8
#define LONG (G_GUINT64_CONSTANT (3600) * GST_SECOND)
#define CAPS "video/x-raw,format=RGB,width=%d,height=%d,framerate=30/1"
#define OTHER_BOX "box,x=0.7,y=0.05,w=0.25,h=0.3,normalized=true"

/* An element, and the number of the next frame. */
typedef struct
{
  GstHarness *h;
  GstBus *bus;
  guint frame;
} Rig;

static GstClockTime
time_of (guint frame)
{
  return frame * FRAME_TIME;
}

static Rig
open_rig (gboolean live, guint history, const gchar * navigation)
{
  GstElement *element = g_object_new (GST_TYPE_SAM_TRACK, "max-objects", 4,
      "history", history, "history-idle", TRUE, "max-wait", LONG, NULL);
  gchar *caps = g_strdup_printf (CAPS, WIDTH, HEIGHT);
  Rig rig = { NULL, };

  gst_util_set_object_arg (G_OBJECT (element), "navigation", navigation);
  gst_object_ref_sink (element);
  rig.h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_harness_set_live (rig.h, live);
  gst_harness_set_src_caps_str (rig.h, caps);
  rig.bus = sam_harness_add_bus (rig.h);
  g_free (caps);
  return rig;
}

static void
close_rig (Rig * rig)
{
  gst_element_set_bus (rig->h->element, NULL);
  gst_object_unref (rig->bus);
  gst_harness_teardown (rig->h);
}

static void
prompt (Rig * rig, const gchar * text)
{
  g_signal_emit_by_name (rig->h->element, "prompt", text);
}

static void
prompt_at (Rig * rig, const gchar * text, guint frame)
{
  gchar *timed = g_strdup_printf ("%s,running-time=%" G_GUINT64_FORMAT, text,
      time_of (frame));

  prompt (rig, timed);
  g_free (timed);
}

/* The square moves by its own width within HISTORY frames, there and back. */
static gdouble
moved_by (guint frame)
{
  const guint n = frame % (2 * HISTORY);

  return (SQUARE_X1 - SQUARE_X0) * (n < HISTORY ? n : 2 * HISTORY - n) /
      HISTORY;
}

static GstBuffer *
run (Rig * rig)
{
  GstCaps *caps = gst_pad_get_current_caps (rig->h->srcpad);
  const guint n = rig->frame++;
  GstVideoInfo info;
  GstBuffer *buf;

  gst_video_info_from_caps (&info, caps);
  gst_caps_unref (caps);
  buf = sam_frame_new (&info, moved_by (n));
  GST_BUFFER_PTS (buf) = time_of (n);
  GST_BUFFER_DURATION (buf) = FRAME_TIME;
  buf = gst_harness_push_and_pull (rig->h, buf);
  /* While nothing is tracked, no frame waits for the worker, and it may miss
   * some of a source that is in a hurry. */
  gst_sam_worker_wait (&((GstSamTrack *) rig->h->element)->worker, LONG);
  return buf;
}

static void
run_until (Rig * rig, guint frame)
{
  while (rig->frame < frame)
    gst_buffer_unref (run (rig));
}

/* Where the square is on a frame. */
static gchar *
square_box (guint frame, const gchar * more)
{
  return g_strdup_printf ("box,x=%.6f,y=0.25,w=0.375,h=0.5,normalized=true%s",
      SQUARE_X0 + moved_by (frame), more);
}

/* Both elements, run on one more frame, have the same objects and label map. */
static void
check_same (Rig * a, Rig * b)
{
  GstBuffer *x = run (a), *y = run (b), *mask_x = NULL, *mask_y = NULL;
  const GstStructure *meta_x = sam_get_meta (x), *meta_y = sam_get_meta (y);
  const guint n = sam_get_num_objects (meta_x);
  GstMapInfo map;
  guint i;

  fail_unless_equals_int (a->frame, b->frame);
  fail_unless (n > 0);
  fail_unless_equals_int (sam_get_num_objects (meta_y), n);
  for (i = 0; i < n; i++) {
    fail_unless_equals_uint64 (sam_get_id (meta_x, i), sam_get_id (meta_y, i));
    fail_unless (sam_get_double (sam_get_object (meta_x, i), "score") ==
        sam_get_double (sam_get_object (meta_y, i), "score"));
  }
  gst_structure_get (meta_x, "mask", GST_TYPE_BUFFER, &mask_x, NULL);
  gst_structure_get (meta_y, "mask", GST_TYPE_BUFFER, &mask_y, NULL);
  gst_buffer_map (mask_x, &map, GST_MAP_READ);
  fail_unless (gst_buffer_memcmp (mask_y, 0, map.data, map.size) == 0,
      "frame %u", a->frame - 1);
  gst_buffer_unmap (mask_x, &map);
  gst_buffer_unref (mask_x);
  gst_buffer_unref (mask_y);
  gst_buffer_unref (x);
  gst_buffer_unref (y);
}

static void
expect_refusal (Rig * rig, const gchar * words)
{
  gchar *text = NULL;

  fail_unless_equals_int (sam_count_messages (rig->bus, GST_MESSAGE_WARNING,
          &text), words ? 1 : 0);
  fail_unless (!words || strstr (text, words), "%s", text);
  g_free (text);
}

/* The times in the messages of prompts that were moved; returns their number. */
static guint
get_moved (Rig * rig, guint64 * asked, guint64 * applied)
{
  GstMessage *message;
  guint n = 0;

  while ((message = gst_bus_pop_filtered (rig->bus, GST_MESSAGE_ELEMENT))) {
    const GstStructure *s = gst_message_get_structure (message);

    if (gst_structure_has_name (s, "samtrack-late-prompt")) {
      *asked = sam_get_uint64 (s, "running-time");
      *applied = sam_get_uint64 (s, "applied-running-time");
      n++;
    }
    gst_message_unref (message);
  }
  return n;
}

/* A prompt for a frame, late by so many; with another object, or as the first
 * of all. */
static void
check_late (guint at, guint late, gboolean live, gboolean others)
{
  Rig a = open_rig (FALSE, 0, "none"), b = open_rig (live, HISTORY, "none");
  gchar *box = square_box (at, "");
  guint64 asked, applied;

  if (others) {
    prompt (&a, OTHER_BOX);
    prompt (&b, OTHER_BOX);
  }
  run_until (&a, at);
  prompt (&a, box);
  run_until (&b, at + late);
  prompt_at (&b, box, at);
  fail_unless (late < 3 || sam_take_behind (run (&b)) > 0);
  /* Without objects the frames before it are encoded only now. */
  run_until (&b, at + late + MAX (1, others ? late : late + (late + 1) / 2) - 1);
  run_until (&a, b.frame);
  while (a.frame < at + 2 * late + 3)
    check_same (&a, &b);
  fail_unless_equals_int (sam_take_behind (run (&b)), 0);
  fail_unless_equals_int (get_moved (&b, &asked, &applied), 0);
  expect_refusal (&b, NULL);
  g_free (box);
  close_rig (&a);
  close_rig (&b);
}

static const guint lateness[] = { 0, 1, 3, HISTORY };

GST_START_TEST (test_late_as_in_time)
{
  check_late (10, lateness[__i__ % 4], FALSE, __i__ / 4);
}

GST_END_TEST;

GST_START_TEST (test_late_as_in_time_live)
{
  check_late (10, lateness[__i__ % 4], TRUE, __i__ / 4);
}

GST_END_TEST;

GST_START_TEST (test_late_with_masks)
{
  check_late (1, 3, __i__, FALSE);
}

GST_END_TEST;

/* Of two objects, one is corrected late; the time lies between two frames. The
 * pixels are those of the frame that it names, which was of another size. */
GST_START_TEST (test_late_correction)
{
  const gboolean live = __i__;
  Rig a = open_rig (FALSE, 0, "none"), b = open_rig (live, HISTORY, "none");
  Rig *rigs[2] = { &a, &b };
  guint i, k;

  for (i = 0; i < 2; i++) {
    gchar *box = square_box (0, ";" OTHER_BOX);

    prompt (rigs[i], box);
    g_free (box);
    for (k = 0; k < 12; k++) {
      if (i == 0 && k == 6)
        prompt (&a, "point,x=0.5,y=0.5,normalized=true,id=1");
      if (k == 9)
        gst_harness_set_src_caps_str (rigs[i]->h, "video/x-raw,format=RGB,"
            "width=128,height=96,framerate=30/1");
      gst_buffer_unref (run (rigs[i]));
    }
  }
  {
    gchar *text = g_strdup_printf ("point,x=32,y=24,id=1,running-time=%"
        G_GUINT64_FORMAT, time_of (6) + FRAME_TIME / 2);

    prompt (&b, text);
    g_free (text);
  }
  for (i = 0; i < 5; i++) {
    gst_buffer_unref (run (&a));
    gst_buffer_unref (run (&b));
  }
  for (i = 0; i < 4; i++)
    check_same (&a, &b);
  close_rig (&a);
  close_rig (&b);
}

GST_END_TEST;

/* All ways in, one element each; the text's is the other tests'. */
GST_START_TEST (test_signals_and_events)
{
  Rig a = open_rig (FALSE, HISTORY, "none");
  Rig b = open_rig (FALSE, HISTORY, "none");
  guint64 id = 0;
  gchar *box = square_box (4, "");

  run_until (&a, 7);
  run_until (&b, 7);
  prompt_at (&a, box, 4);
  if (__i__ == 0) {
    g_signal_emit_by_name (b.h->element, "add-box-at", G_GUINT64_CONSTANT (0),
        SQUARE_X0 + moved_by (4), 0.25, 0.375, 0.5, TRUE, time_of (4), &id);
    fail_unless_equals_uint64 (id, 1);
  } else {
    gst_harness_push_event (b.h,
        gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
            gst_structure_new ("samtrack-prompt", "op", G_TYPE_STRING, "box",
                "x", G_TYPE_DOUBLE, SQUARE_X0 + moved_by (4), "y",
                G_TYPE_DOUBLE, 0.25, "w", G_TYPE_DOUBLE, 0.375, "h",
                G_TYPE_DOUBLE, 0.5, "normalized", G_TYPE_BOOLEAN, TRUE,
                "running-time", G_TYPE_UINT64, time_of (4), NULL)));
  }
  prompt_at (&a, "point,x=0.6,y=0.5,normalized=true,id=1", 5);
  g_signal_emit_by_name (b.h->element, "add-point-at", G_GUINT64_CONSTANT (1),
      0.6, 0.5, TRUE, TRUE, time_of (5), &id);
  fail_unless_equals_uint64 (id, 1);
  g_signal_emit_by_name (b.h->element, "add-mask-at", G_GUINT64_CONSTANT (1),
      NULL, time_of (5), &id);
  fail_unless_equals_uint64 (id, 0);
  expect_refusal (&b, "mask is NULL");
  while (a.frame < 20)
    check_same (&a, &b);
  g_free (box);
  close_rig (&a);
  close_rig (&b);
}

GST_END_TEST;

/* A prompt for a frame that is still to come waits for it, and what is for the
 * same object with it; others go on. */
GST_START_TEST (test_future)
{
  const gboolean live = __i__;
  Rig a = open_rig (FALSE, 0, "none"), b = open_rig (live, HISTORY, "none");
  gchar *box = square_box (10, ""), *far;

  run_until (&b, 2);
  prompt_at (&b, OTHER_BOX, 4);
  prompt (&b, "point,x=0.8,y=0.2,normalized=true,id=1");
  prompt_at (&b, box, 10);
  far = g_strdup_printf ("%s,running-time=%" G_GUINT64_FORMAT, box,
      time_of (2) + 61 * GST_SECOND);
  prompt (&b, far);
  run_until (&b, 4);
  expect_refusal (&b, "expected at most 0:01:00");
  run_until (&a, 4);
  prompt (&a, OTHER_BOX ";point,x=0.8,y=0.2,normalized=true,id=1");
  while (a.frame < 10)
    check_same (&a, &b);
  prompt (&a, box);
  while (a.frame < 16)
    check_same (&a, &b);
  expect_refusal (&b, NULL);
  g_free (box);
  g_free (far);
  close_rig (&a);
  close_rig (&b);
}

GST_END_TEST;

/* What waits is taken back by undo, remove and clear, and refused where its
 * frame cannot come. */
GST_START_TEST (test_future_that_does_not_come)
{
  static const gchar *commands[] = { "undo,id=1", "remove,id=1", "clear" };
  const guint i = __i__ / 2;
  Rig rig = open_rig (__i__ % 2, HISTORY, "none");
  GstBuffer *buf;

  run_until (&rig, 2);
  prompt_at (&rig, OTHER_BOX, 8);
  prompt_at (&rig, SQUARE_POINT, 9);
  if (i < G_N_ELEMENTS (commands)) {
    run_until (&rig, 4);
    prompt (&rig, commands[i]);
    run_until (&rig, 12);
    buf = run (&rig);
    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)),
        i == 2 ? 0 : 1);
    gst_buffer_unref (buf);
    expect_refusal (&rig, NULL);
  } else if (i == 3) {
    GstMessage *message;
    guint n = 0;

    gst_harness_push_event (rig.h, gst_event_new_eos ());
    while ((message = gst_bus_pop_filtered (rig.bus, GST_MESSAGE_WARNING))) {
      const GstStructure *details = NULL;

      gst_message_parse_warning_details (message, &details);
      fail_unless_equals_string (gst_structure_get_string (details, "reason"),
          "time");
      n++;
      gst_message_unref (message);
    }
    fail_unless_equals_int (n, 2);
  } else {
    gst_harness_set_live (rig.h, FALSE);
    gst_element_set_state (rig.h->element, GST_STATE_READY);
    expect_refusal (&rig, NULL);
  }
  close_rig (&rig);
}

GST_END_TEST;

/* Before what is held: applied to the oldest frame, and said so. */
GST_START_TEST (test_too_old)
{
  const guint history = __i__;
  Rig a = open_rig (FALSE, 0, "none"), b = open_rig (FALSE, history, "none");
  const guint oldest = 12 - history;
  gchar *box = square_box (3, "");
  guint64 asked = 0, applied = 0;

  run_until (&a, oldest);
  prompt (&a, box);
  run_until (&b, 12);
  prompt_at (&b, box, 3);
  gst_buffer_unref (run (&b));
  fail_unless_equals_int (get_moved (&b, &asked, &applied), 1);
  fail_unless_equals_uint64 (asked, time_of (3));
  fail_unless_equals_uint64 (applied, time_of (oldest));
  run_until (&b, 20);
  run_until (&a, 20);
  check_same (&a, &b);
  g_free (box);
  close_rig (&a);
  close_rig (&b);
}

GST_END_TEST;

/* While nothing is tracked, frames are kept only if that is wanted. */
GST_START_TEST (test_idle)
{
  static const gchar *modes[] = { "none", "points", "none" };
  const gboolean kept = __i__ > 0;
  Rig rig = open_rig (FALSE, HISTORY, modes[__i__]);
  guint64 asked = 0, applied = 0;

  g_object_set (rig.h->element, "history-idle", __i__ == 2, NULL);
  run_until (&rig, 6);
  prompt_at (&rig, SQUARE_POINT, 3);
  gst_buffer_unref (run (&rig));
  fail_unless_equals_int (get_moved (&rig, &asked, &applied), !kept);
  if (!kept)
    fail_unless_equals_uint64 (applied, time_of (6));
  fail_unless_equals_uint64 (sam_get_stat (rig.h->element, "inferred"), 1);
  close_rig (&rig);
}

GST_END_TEST;

/* Flush, and begin again at running time 0. */
static void
flush (Rig * rig)
{
  GstSegment segment;

  gst_harness_push_event (rig->h, gst_event_new_flush_start ());
  gst_harness_push_event (rig->h, gst_event_new_flush_stop (TRUE));
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (rig->h, gst_event_new_segment (&segment));
  rig->frame = 0;
}

/* Times of the segment before are refused; frames of it cannot be named. */
GST_START_TEST (test_another_segment)
{
  const gboolean live = __i__;
  Rig a = open_rig (FALSE, 0, "none"), b = open_rig (live, HISTORY, "none");
  gchar *box = square_box (0, "");
  guint64 asked = 0, applied = 0, id;

  run_until (&b, 20);
  prompt_at (&b, box, 14);
  flush (&b);
  expect_refusal (&b, "of another segment");
  run_until (&b, 3);
  prompt_at (&b, box, 0);
  g_signal_emit_by_name (b.h->element, "add-point-at", G_GUINT64_CONSTANT (2),
      0.4, 0.5, TRUE, TRUE, time_of (0), &id);
  fail_unless_equals_uint64 (id, 2);    /* the ids count on */
  run_until (&a, 0);
  prompt (&a, "point,x=0.9,y=0.9,normalized=true;remove,id=1");
  prompt (&a, box);
  prompt (&a, "point,x=0.4,y=0.5,normalized=true,id=2");
  run_until (&a, 8);
  run_until (&b, 8);
  check_same (&a, &b);
  fail_unless_equals_int (get_moved (&b, &asked, &applied), 0);
  g_free (box);
  close_rig (&a);
  close_rig (&b);
}

GST_END_TEST;

/* Running time goes on into the next stream: its frames alone can be named. */
GST_START_TEST (test_another_stream)
{
  const gboolean live = __i__;
  Rig a = open_rig (FALSE, 0, "none"), b = open_rig (live, HISTORY, "none");
  gchar *box = square_box (20, ""), *caps = g_strdup_printf (CAPS, WIDTH,
      HEIGHT);
  guint64 asked = 0, applied = 0;
  GstSegment segment;

  prompt (&b, OTHER_BOX);
  run_until (&b, 20);
  gst_harness_push_event (b.h, gst_event_new_stream_start ("next"));
  gst_harness_set_src_caps_str (b.h, caps);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (b.h, gst_event_new_segment (&segment));
  run_until (&b, 22);
  prompt_at (&b, box, 18);
  run_until (&b, 27);
  fail_unless_equals_int (get_moved (&b, &asked, &applied), 1);
  fail_unless_equals_uint64 (asked, time_of (18));
  fail_unless_equals_uint64 (applied, time_of (20));
  run_until (&a, 20);
  prompt (&a, OTHER_BOX ";remove,id=1");        /* ids count on */
  prompt (&a, box);
  run_until (&a, 27);
  check_same (&a, &b);
  g_free (caps);
  g_free (box);
  close_rig (&a);
  close_rig (&b);
}

GST_END_TEST;

/* A click names the frame that the sink shows: the clock's time less the
 * latency; without a clock, the last frame. */
GST_START_TEST (test_navigation)
{
  const guint at = 10, late = __i__;
  const GstClockTime latency = 50 * GST_MSECOND;
  Rig a = open_rig (FALSE, 0, "none");
  Rig b = open_rig (TRUE, HISTORY, "points");
  const gdouble x = SQUARE_X0 + moved_by (at) + 0.1875;
  const gboolean clock = late > 1;
  gchar *point = g_strdup_printf ("point,x=%.6f,y=0.5,normalized=true", x);

  if (clock) {
    gst_harness_use_testclock (b.h);
    gst_harness_push_upstream_event (b.h, gst_event_new_latency (latency));
    gst_harness_set_time (b.h, time_of (at) + FRAME_TIME / 3 + latency);
  }
  run_until (&a, at);
  prompt (&a, point);
  run_until (&b, at + late);
  if (!clock)
    gst_element_set_state (b.h->element, GST_STATE_PAUSED);
  gst_harness_push_upstream_event (b.h,
      gst_navigation_event_new_mouse_button_press (1, x * WIDTH, HEIGHT / 2,
          GST_NAVIGATION_MODIFIER_NONE));
  run_until (&a, at + 2 * late + 3);
  run_until (&b, a.frame);
  check_same (&a, &b);
  g_free (point);
  close_rig (&a);
  close_rig (&b);
}

GST_END_TEST;

/* Prompts of a second thread, with times that lie anywhere. */
typedef struct
{
  GstElement *element;
  gint frame;                   /* atomic: about where the stream is */
  gint stop;                    /* atomic */
  guint32 seed;
} Author;

static gpointer
write_prompts (gpointer data)
{
  Author *author = data;
  GRand *rand = g_rand_new_with_seed (author->seed);

  while (!g_atomic_int_get (&author->stop)) {
    const gint frame = g_atomic_int_get (&author->frame) +
        g_rand_int_range (rand, -12, 4);
    const guint64 time = frame > 0 ? time_of (frame) : 0;
    const guint64 known = g_rand_int_range (rand, 1, 9);
    guint64 id;

    switch (g_rand_int_range (rand, 0, 8)) {
      case 0:
        prompt (&(Rig) {
            .h = &(GstHarness) {
            .element = author->element}
            }, g_rand_boolean (rand) ? "clear" : "undo,id=1;remove,id=2");
        break;
      case 1:
        g_signal_emit_by_name (author->element, "undo", known, &id);
        break;
      case 2:
        g_signal_emit_by_name (author->element, "remove-object", known, &id);
        break;
      case 3:
        g_signal_emit_by_name (author->element, "add-box-at",
            G_GUINT64_CONSTANT (0), 0.2, 0.2, 0.4, 0.4, TRUE, time, &id);
        break;
      default:
        g_signal_emit_by_name (author->element, "add-point-at",
            g_rand_boolean (rand) ? known : 0, g_rand_double (rand),
            g_rand_double (rand), g_rand_boolean (rand), TRUE, time, &id);
        break;
    }
    g_usleep (g_rand_int_range (rand, 100, 2000));
  }
  g_rand_free (rand);
  return NULL;
}

static void
disturb (Rig * rig, GRand * rand)
{
  switch (g_rand_int_range (rand, 0, 24)) {
    case 0:
      flush (rig);
      break;
    case 1:
      gst_harness_set_src_caps_str (rig->h, g_rand_boolean (rand) ?
          "video/x-raw,format=RGB,width=32,height=48,framerate=30/1" :
          "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
      break;
    case 2:
      rig->frame += 40;         /* frames are missing */
      break;
    case 3:
      gst_harness_push_event (rig->h, gst_event_new_eos ());
      flush (rig);
      break;
    case 4:
      gst_harness_push_event (rig->h, gst_event_new_stream_start ("again"));
      gst_harness_set_src_caps_str (rig->h,
          "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
      flush (rig);
      break;
    default:
      break;
  }
}

/* Whatever the stream does at any point of a replay, it goes on. */
GST_START_TEST (test_storm)
{
  const guint32 seed = 20261122 + __i__;
  GRand *rand = g_rand_new_with_seed (seed);
  guint round, n;

  for (round = 0; round < 2; round++) {
    Rig rig = open_rig (__i__ % 2, round ? HISTORY : 1, "none");
    Author author = { rig.h->element, 0, FALSE, seed + round };
    GThread *thread = g_thread_new ("author", write_prompts, &author);

    for (n = 0; n < 100; n++) {
      disturb (&rig, rand);
      gst_buffer_unref (run (&rig));
      g_atomic_int_set (&author.frame, rig.frame);
      gst_bus_set_flushing (rig.bus, TRUE);
      gst_bus_set_flushing (rig.bus, FALSE);
    }
    /* It ends within a replay, with the author still at it. */
    gst_element_set_state (rig.h->element, GST_STATE_READY);
    g_atomic_int_set (&author.stop, TRUE);
    g_thread_join (thread);
    close_rig (&rig);
  }
  g_rand_free (rand);
}

GST_END_TEST;

static Suite *
late_suite (void)
{
  Suite *suite = suite_create ("late");
  TCase *masks = sam_tcase_new (suite, "masks");
  TCase *same = sam_tcase_new_tiny (suite, "same");
  TCase *storm = sam_tcase_new_tiny (suite, "storm");

  gst_sam_meta_register ();
  tcase_add_loop_test (masks, test_late_with_masks, 0, 2);

  tcase_add_loop_test (same, test_late_as_in_time, 0, 8);
  tcase_add_loop_test (same, test_late_as_in_time_live, 0, 8);
  tcase_add_loop_test (same, test_late_correction, 0, 2);
  tcase_add_loop_test (same, test_signals_and_events, 0, 2);
  tcase_add_loop_test (same, test_future, 0, 2);
  tcase_add_loop_test (same, test_future_that_does_not_come, 0, 10);
  tcase_add_loop_test (same, test_too_old, 0, 3);
  tcase_add_loop_test (same, test_idle, 0, 3);
  tcase_add_loop_test (same, test_another_segment, 0, 2);
  tcase_add_loop_test (same, test_another_stream, 0, 2);
  tcase_add_loop_test (same, test_navigation, 1, HISTORY + 1);
  tcase_add_loop_test (storm, test_storm, 0, 4);
  return suite;
}

GST_CHECK_MAIN (late);

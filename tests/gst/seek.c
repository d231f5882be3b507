/* SPDX-License-Identifier: MIT */
/* Where a stream jumps, objects are forgotten and initial-prompt is applied
 * again; where it goes on, they stay. */

#include "samcheck.h"

#include "track/gstsamtimeline.h"

#include <string.h>

#define WIDTH 64
#define HEIGHT 48
#define FRAME (GST_SECOND / 10)

/* Part 1: the decision alone. A segment, and the first frame of it. */
typedef struct
{
  gdouble rate;
  gdouble start, stop, time, base;      /* s; stop < 0: none */
  gdouble pts;
  gboolean done;                /* SEGMENT_DONE before it */
  gboolean jumps;
} Step;

static GstClockTime
seconds (gdouble s)
{
  return s < 0 ? GST_CLOCK_TIME_NONE : (GstClockTime) (s * GST_SECOND + 0.5);
}

static void
note (GstSamTimeline * timeline, GstEvent * event)
{
  gst_sam_timeline_note_event (timeline, event);
  gst_event_unref (event);
}

static void
set_segment (GstSamTimeline * timeline, const Step * step, GstSegment * segment)
{
  gst_segment_init (segment, GST_FORMAT_TIME);
  segment->rate = step->rate;
  segment->start = seconds (step->start);
  segment->stop = seconds (step->stop);
  segment->time = seconds (step->time);
  segment->base = seconds (step->base);
  if (step->done)
    note (timeline, gst_event_new_segment_done (GST_FORMAT_TIME, 0));
  note (timeline, gst_event_new_segment (segment));
}

/* Frames of a segment from 0 on, at 1.0 and 1.1 s. */
static void
begin_timeline (GstSamTimeline * timeline)
{
  const Step first = { 1, 0, 100, 0, 0, 0, FALSE, FALSE };
  GstSegment segment;

  gst_sam_timeline_start (timeline);
  set_segment (timeline, &first, &segment);
  fail_if (gst_sam_timeline_jumps (timeline, &segment, seconds (1)));
  fail_if (gst_sam_timeline_jumps (timeline, &segment, seconds (1.1)));
}

GST_START_TEST (test_segments_after_1100_ms)
{
  static const Step steps[] = {
    /* the same segment again, another end, another base */
    {1, 0, 100, 0, 0, 1.2, FALSE, FALSE},
    {1, 0, 50, 0, 0, 1.2, FALSE, FALSE},
    {1, 0, -1, 0, 30, 1.2, FALSE, FALSE},
    /* another rate from here on, both ways; the sink was behind */
    {2, 1.1, 100, 1.1, 1.1, 1.2, FALSE, FALSE},
    {-1, 0, 1.1, 0, 1.1, 1.1, FALSE, FALSE},
    {2, 0.8, 100, 0.8, 1.2, 0.8, FALSE, FALSE},
    /* the next part of an edit list: other timestamps, the same timeline */
    {1, 40, 100, 1.2, 1.2, 40, FALSE, FALSE},
    /* 10 s without a frame: nothing was skipped */
    {1, 0, 100, 0, 0, 11, FALSE, FALSE},
    {2, 1.1, 100, 1.1, 1.1, 11, FALSE, FALSE},
    /* the next range after the end of this one */
    {1, 1.2, 2, 1.2, 1.2, 1.2, TRUE, FALSE},
    /* seeks without flush: forth, back, back at another rate */
    {1, 5, 100, 5, 1.2, 5, FALSE, TRUE},
    {1, 0, 100, 0, 1.2, 0.1, FALSE, TRUE},
    {2, 0, 100, 0, 1.2, 0, FALSE, TRUE},
    {-1, 0, 9, 0, 1.2, 8.9, FALSE, TRUE},
    /* the timeline jumps, whatever the timestamps do */
    {1, 1.2, 100, 60, 1.2, 1.2, FALSE, TRUE},
    /* a loop, however short */
    {1, 0, 1.2, 0, 1.2, 0, TRUE, TRUE},
    {1, 1, 1.2, 1, 1.2, 1, TRUE, TRUE},
    {1, 5, 6, 5, 1.2, 5, TRUE, TRUE},
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (steps); i++) {
    GstSamTimeline timeline;
    GstSegment segment;
    gboolean jumps;

    begin_timeline (&timeline);
    set_segment (&timeline, &steps[i], &segment);
    jumps = gst_sam_timeline_jumps (&timeline, &segment,
        seconds (steps[i].pts));
    fail_unless (jumps == steps[i].jumps, "step %u: %s", i,
        jumps ? "a jump" : "no jump");
    /* once, not at every frame */
    fail_if (gst_sam_timeline_jumps (&timeline, &segment,
            seconds (steps[i].pts + (steps[i].rate < 0 ? -0.1 : 0.1))));
  }
}

GST_END_TEST;

/* Played backwards: 1.0 comes behind 1.1. */
GST_START_TEST (test_backwards)
{
  const Step reverse = { -1, 0, 2, 0, 0, 0, FALSE, FALSE };
  const Step again = { -1, 0, 2, 0, 2, 0, TRUE, FALSE };
  GstSamTimeline timeline;
  GstSegment segment;
  guint i;

  gst_sam_timeline_start (&timeline);
  set_segment (&timeline, &reverse, &segment);
  for (i = 20; i > 0; i--)
    fail_if (gst_sam_timeline_jumps (&timeline, &segment, i * FRAME));
  set_segment (&timeline, &again, &segment);
  /* What begins at the end lies behind it: no sink shows it. */
  fail_if (gst_sam_timeline_jumps (&timeline, &segment, 20 * FRAME));
  fail_unless (gst_sam_timeline_jumps (&timeline, &segment, 19 * FRAME));
  fail_if (gst_sam_timeline_jumps (&timeline, &segment, 18 * FRAME));
}

GST_END_TEST;

GST_START_TEST (test_what_has_no_time_never_jumps)
{
  const Step back = { 1, 0, 100, 0, 5, 0, FALSE, FALSE };
  GstSamTimeline timeline;
  GstSegment segment, bytes;

  begin_timeline (&timeline);
  gst_segment_init (&bytes, GST_FORMAT_BYTES);
  note (&timeline, gst_event_new_segment (&bytes));
  fail_if (gst_sam_timeline_jumps (&timeline, &bytes, 0));
  set_segment (&timeline, &back, &segment);
  fail_if (gst_sam_timeline_jumps (&timeline, &segment, GST_CLOCK_TIME_NONE));
  /* the first frame that has one is compared */
  fail_unless (gst_sam_timeline_jumps (&timeline, &segment, 0));

  /* a flush, or another stream, begins anew by itself */
  begin_timeline (&timeline);
  note (&timeline, gst_event_new_flush_stop (TRUE));
  set_segment (&timeline, &back, &segment);
  fail_if (gst_sam_timeline_jumps (&timeline, &segment, 0));
  begin_timeline (&timeline);
  note (&timeline, gst_event_new_stream_start ("another"));
  set_segment (&timeline, &back, &segment);
  fail_if (gst_sam_timeline_jumps (&timeline, &segment, 0));
}

GST_END_TEST;

/* Part 2: seeks in pipelines. Every frame that reaches the sink is noted. */
typedef struct
{
  GstClockTime pts;
  guint64 id;                   /* of the only object */
} Seen;

typedef struct
{
  GstElement *pipeline;
  GstBus *bus;
  GMutex lock;
  GCond cond;
  GArray *seen;
} Player;

static void
note_frame (GstElement * sink, GstBuffer * buf, GstPad * pad, Player * player)
{
  const GstStructure *meta = sam_get_meta (buf);
  Seen seen = { GST_BUFFER_PTS (buf), 0 };

  fail_unless_equals_int (sam_get_num_objects (meta), 1);
  seen.id = sam_get_id (meta, 0);
  g_mutex_lock (&player->lock);
  g_array_append_val (player->seen, seen);
  g_cond_signal (&player->cond);
  g_mutex_unlock (&player->lock);
}

static void
player_open (Player * player, const gchar * source)
{
  gchar *text = g_strconcat (source, " ! samtrack initial-prompt=" SQUARE_POINT
      " ! fakesink name=sink signal-handoffs=true", NULL);
  GstElement *sink;

  player->pipeline = gst_parse_launch (text, NULL);
  fail_unless (player->pipeline != NULL, "%s", text);
  player->bus = gst_element_get_bus (player->pipeline);
  player->seen = g_array_new (FALSE, FALSE, sizeof (Seen));
  g_mutex_init (&player->lock);
  g_cond_init (&player->cond);
  sink = gst_bin_get_by_name (GST_BIN (player->pipeline), "sink");
  g_signal_connect (sink, "handoff", G_CALLBACK (note_frame), player);
  gst_object_unref (sink);
  g_free (text);
}

static void
player_close (Player * player)
{
  gst_element_set_state (player->pipeline, GST_STATE_NULL);
  gst_object_unref (player->bus);
  gst_object_unref (player->pipeline);
  g_array_unref (player->seen);
  g_mutex_clear (&player->lock);
  g_cond_clear (&player->cond);
}

static void
wait_for (Player * player, GstMessageType type)
{
  GstMessage *message = gst_bus_timed_pop_filtered (player->bus,
      60 * GST_SECOND, type | GST_MESSAGE_ERROR);

  fail_unless (message && GST_MESSAGE_TYPE (message) == type);
  gst_message_unref (message);
}

/* Play a range to its end; frames are 100 ms long. */
static void
play_segment (Player * player, gdouble rate, GstSeekFlags flags, guint from,
    guint to)
{
  fail_unless (gst_element_seek (player->pipeline, rate, GST_FORMAT_TIME,
          flags | GST_SEEK_FLAG_SEGMENT, GST_SEEK_TYPE_SET, from * FRAME,
          GST_SEEK_TYPE_SET, to * FRAME));
  wait_for (player, GST_MESSAGE_SEGMENT_DONE);
}

/* The frames from @begin on have these times and one id, which is returned. */
static guint64
check_range (Player * player, guint begin, guint n, gint from, gint step)
{
  const Seen *seen = (const Seen *) player->seen->data + begin;
  guint i;

  fail_unless (begin + n <= player->seen->len, "%u frames of %u",
      player->seen->len, begin + n);
  for (i = 0; i < n; i++) {
    fail_unless_equals_uint64 (seen[i].pts, (from + (gint) i * step) * FRAME);
    fail_unless (seen[i].id == seen[0].id, "frame %u is of object %u, not %u",
        i, (guint) seen[i].id, (guint) seen[0].id);
  }
  return seen[0].id;
}

#define SOURCE "videotestsrc pattern=ball ! " \
    "video/x-raw,width=64,height=48,framerate=10/1"

/* Ready to play: the frame of the preroll is not counted. */
static void
player_preroll (Player * player)
{
  gst_element_set_state (player->pipeline, GST_STATE_PAUSED);
  wait_for (player, GST_MESSAGE_ASYNC_DONE);
  fail_unless (gst_element_seek (player->pipeline, 1, GST_FORMAT_TIME,
          GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_SEGMENT, GST_SEEK_TYPE_SET, 0,
          GST_SEEK_TYPE_SET, 5 * FRAME));
  wait_for (player, GST_MESSAGE_ASYNC_DONE);
  g_array_set_size (player->seen, 0);
  gst_element_set_state (player->pipeline, GST_STATE_PLAYING);
  wait_for (player, GST_MESSAGE_SEGMENT_DONE);
}

/* What a program does that shows a clip again and again. */
GST_START_TEST (test_a_loop_of_a_segment)
{
  Player player;
  guint64 id;
  guint i;

  player_open (&player, SOURCE);
  player_preroll (&player);
  for (i = 0; i < 3; i++)
    play_segment (&player, 1, 0, 0, 5);
  id = check_range (&player, 0, 5, 0, 1);
  for (i = 1; i < 4; i++)
    fail_unless_equals_uint64 (check_range (&player, 5 * i, 5, 0, 1), id + i);
  fail_unless_equals_int (player.seen->len, 20);
  player_close (&player);
}

GST_END_TEST;

GST_START_TEST (test_ranges_that_go_on_and_that_do_not)
{
  Player player;
  guint64 id;

  player_open (&player, SOURCE);
  player_preroll (&player);
  id = check_range (&player, 0, 5, 0, 1);
  /* the next range, at twice the rate, and back from there: it goes on */
  play_segment (&player, 1, 0, 5, 10);
  fail_unless_equals_uint64 (check_range (&player, 5, 5, 5, 1), id);
  play_segment (&player, 2, 0, 10, 14);
  fail_unless_equals_uint64 (check_range (&player, 10, 4, 10, 1), id);
  play_segment (&player, -1, 0, 10, 14);
  fail_unless_equals_uint64 (check_range (&player, 14, 4, 13, -1), id);
  /* backwards once more, then far ahead */
  play_segment (&player, -1, 0, 10, 14);
  fail_unless_equals_uint64 (check_range (&player, 18, 4, 13, -1), id + 1);
  play_segment (&player, 1, 0, 50, 53);
  fail_unless_equals_uint64 (check_range (&player, 22, 3, 50, 1), id + 2);
  /* with a flush, it begins anew wherever it goes on */
  play_segment (&player, 1, GST_SEEK_FLAG_FLUSH, 53, 56);
  fail_unless_equals_uint64 (check_range (&player, 25, 3, 53, 1), id + 3);
  player_close (&player);
}

GST_END_TEST;

static void
wait_for_frames (Player * player, guint n)
{
  g_mutex_lock (&player->lock);
  while (player->seen->len < n)
    g_cond_wait (&player->cond, &player->lock);
  g_mutex_unlock (&player->lock);
}

/* In the middle of a stream, wherever that is. */
GST_START_TEST (test_a_seek_without_flush)
{
  Player player;
  const Seen *seen;
  guint i, jumps = 0;

  player_open (&player, SOURCE);
  gst_element_set_state (player.pipeline, GST_STATE_PLAYING);
  wait_for_frames (&player, 3);
  fail_unless (gst_element_seek (player.pipeline, 1, GST_FORMAT_TIME, 0,
          GST_SEEK_TYPE_SET, 100000 * FRAME, GST_SEEK_TYPE_SET,
          100005 * FRAME));
  wait_for (&player, GST_MESSAGE_EOS);
  seen = (const Seen *) player.seen->data;
  for (i = 1; i < player.seen->len; i++) {
    const gboolean jump = seen[i].pts != seen[i - 1].pts + FRAME;

    fail_unless_equals_uint64 (seen[i].id, seen[i - 1].id + jump);
    jumps += jump;
  }
  fail_unless_equals_int (jumps, 1);
  fail_unless_equals_uint64 (seen[i - 1].pts, 100004 * FRAME);
  player_close (&player);
}

GST_END_TEST;

/* As playbin's gapless playback: another stream, whose running time goes on. */
GST_START_TEST (test_one_stream_behind_another)
{
  Player player;
  guint64 id;

  player_open (&player, "videotestsrc num-buffers=4 ! "
      "video/x-raw,width=64,height=48,framerate=10/1 ! c. "
      "videotestsrc num-buffers=5 ! "
      "video/x-raw,width=64,height=48,framerate=10/1 ! c. concat name=c");
  gst_element_set_state (player.pipeline, GST_STATE_PLAYING);
  wait_for (&player, GST_MESSAGE_EOS);
  id = check_range (&player, 0, 4, 0, 1);
  fail_unless_equals_uint64 (check_range (&player, 4, 5, 0, 1), id + 1);
  fail_unless_equals_int (player.seen->len, 9);
  player_close (&player);
}

GST_END_TEST;

static guint
count_objects (GstHarness * h)
{
  GstBuffer *buf = sam_harness_run (h, 0);
  guint n = sam_get_num_objects (sam_get_meta (buf));

  gst_buffer_unref (buf);
  return n;
}

/* Its pixels are those of the stream that begins, not of the one that ends. */
GST_START_TEST (test_initial_prompt_of_a_larger_stream)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=point,x=50,y=40",
      GST_VIDEO_FORMAT_RGB, WIDTH / 2, HEIGHT / 2);
  GstBus *bus = sam_harness_add_bus (h);

  fail_unless_equals_int (count_objects (h), 0);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      1);
  gst_harness_push_event (h, gst_event_new_stream_start ("another"));
  gst_harness_set_src_caps_str (h,
      "video/x-raw,format=RGB,width=64,height=48,framerate=30/1");
  fail_unless_equals_int (count_objects (h), 1);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, NULL),
      0);
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Nothing of the last stream is left on the overlay either. */
GST_START_TEST (test_the_overlay_forgets_too)
{
  GstHarness *h = sam_harness_new ("samtrack initial-prompt=" SQUARE_BOX,
      GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT);
  GstHarness *o = gst_harness_new_with_element (h->element, NULL, NULL);
  GstPad *pad = gst_element_request_pad_simple (h->element, "overlay");
  GstSegment segment;
  GstBuffer *buf;
  GstMapInfo map;
  guint i, n;

  gst_harness_add_element_src_pad (o, pad);
  for (n = 0; n < 2; n++) {
    gst_buffer_unref (sam_harness_run (h, n));
    buf = gst_harness_pull (o);
    fail_unless (gst_buffer_map (buf, &map, GST_MAP_READ));
    fail_unless_equals_int (map.size, WIDTH * HEIGHT);
    for (i = 0; i < map.size && !map.data[i]; i++);
    fail_unless ((i < map.size) == (n == 0), "frame %u", n);
    gst_buffer_unmap (buf, &map);
    gst_buffer_unref (buf);
    g_object_set (h->element, "initial-prompt", NULL, NULL);
    gst_harness_push_event (h, gst_event_new_flush_start ());
    gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
    gst_segment_init (&segment, GST_FORMAT_TIME);
    gst_harness_push_event (h, gst_event_new_segment (&segment));
  }
  gst_object_unref (pad);
  gst_harness_teardown (o);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Part 3: what reset-on asks for. */
static const gchar *const reset_on[] = { "none", "cut", "discont" };

/* The n-th frame: the scene up to 4, another from 5 on; the third one follows a
 * gap. */
static GstBuffer *
new_scene_frame (GstHarness * h, guint n)
{
  GstBuffer *buf = sam_harness_frame (h, n % 3);

  if (n >= 5)
    gst_buffer_memset (buf, 0, 200, gst_buffer_get_size (buf));
  if (n == 3)
    GST_BUFFER_FLAG_SET (buf, GST_BUFFER_FLAG_DISCONT);
  GST_BUFFER_PTS (buf) = n * FRAME;
  return buf;
}

/* On the frame where they should, objects end, and not on others. */
GST_START_TEST (test_reset_on)
{
  static const guint where[] = { G_MAXUINT, 5, 3 };
  gchar *launch = g_strdup_printf ("samtrack initial-prompt=" SQUARE_POINT
      " reset-on=%s", reset_on[__i__]);
  GstHarness *h = sam_harness_new (launch, GST_VIDEO_FORMAT_GRAY8, WIDTH,
      HEIGHT);
  GstBus *bus = sam_harness_add_bus (h);
  GstMessage *message;
  guint n, resets = 0;

  for (n = 0; n < 7; n++) {
    GstBuffer *buf;

    buf = gst_harness_push_and_pull (h, new_scene_frame (h, n));
    fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0),
        n < where[__i__] ? 1 : 2);
    gst_buffer_unref (buf);
  }
  while ((message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT))) {
    const GstStructure *s = gst_message_get_structure (message);

    if (gst_structure_has_name (s, "samtrack-reset")) {
      resets++;
      fail_unless_equals_string (gst_structure_get_string (s, "reason"),
          reset_on[__i__]);
      fail_unless_equals_uint64 (sam_get_uint64 (s, "running-time"),
          where[__i__] * FRAME);
    }
    gst_message_unref (message);
  }
  fail_unless_equals_int (resets, __i__ > 0);
  sam_harness_close (h, bus);
  g_free (launch);
}

GST_END_TEST;

/* Two objects, a flush (a seek), a jump without one: with reset-on=never both
 * stay under their ids, on the masks of the new frames, and initial-prompt is
 * not applied again; a prompt for a time before the seek is refused. */
GST_START_TEST (test_never)
{
  GstHarness *h = sam_harness_new ("samtrack reset-on=never history-idle=true "
      "initial-prompt=" SQUARE_POINT, GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT);
  GstBus *bus = sam_harness_add_bus (h);
  GstSegment segment;
  GstBuffer *buf;
  gchar *text = NULL;
  guint n;

  for (n = 0; n < 8; n++) {
    buf = sam_harness_frame (h, n % 3);
    GST_BUFFER_PTS (buf) = (n < 5 ? n : 100 + n) * FRAME;
    if (n == 1)                 /* the point is not seen after the seek */
      g_signal_emit_by_name (h->element, "prompt", SQUARE_POINT ",id=1");
    if (n == 2 || n == 5) {
      gst_segment_init (&segment, GST_FORMAT_TIME);
      if (n == 2) {
        g_signal_emit_by_name (h->element, "prompt",
            SQUARE_POINT ",running-time=900000000");
        gst_harness_push_event (h, gst_event_new_flush_start ());
        gst_harness_push_event (h, gst_event_new_flush_stop (TRUE));
      }
      gst_harness_push_event (h, gst_event_new_segment (&segment));
    }
    buf = gst_harness_push_and_pull (h, buf);
    fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
    fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 1);
    fail_unless_equals_string (gst_structure_get_string (sam_get_meta (buf),
            "state"), "ok");
    fail_unless_equals_int (gst_structure_has_field (sam_get_meta (buf),
            "prompts"), n == 1);
    gst_buffer_unref (buf);
  }
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, "is of another segment") != NULL, "%s", text);
  g_free (text);
  buf = sam_harness_frame (h, 0);
  gst_harness_push_event (h, gst_event_new_stream_start ("another"));
  gst_harness_push_event (h, gst_event_new_segment (&segment));
  buf = gst_harness_push_and_pull (h, buf);
  fail_unless_equals_uint64 (sam_get_id (sam_get_meta (buf), 0), 3);
  gst_buffer_unref (buf);
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
seek_suite (void)
{
  Suite *s = suite_create ("seek");
  TCase *tc = sam_tcase_new_tiny (s, "decision");

  tcase_add_test (tc, test_segments_after_1100_ms);
  tcase_add_test (tc, test_backwards);
  tcase_add_test (tc, test_what_has_no_time_never_jumps);
  tc = sam_tcase_new_tiny (s, "pipelines");
  tcase_add_test (tc, test_a_loop_of_a_segment);
  tcase_add_test (tc, test_ranges_that_go_on_and_that_do_not);
  tcase_add_test (tc, test_a_seek_without_flush);
  tcase_add_test (tc, test_one_stream_behind_another);
  tcase_add_test (tc, test_initial_prompt_of_a_larger_stream);
  tc = sam_tcase_new (s, "overlay");
  tcase_add_test (tc, test_the_overlay_forgets_too);
  tc = sam_tcase_new_tiny (s, "reset-on");
  tcase_add_loop_test (tc, test_reset_on, 0, G_N_ELEMENTS (reset_on));
  tcase_add_test (tc, test_never);
  return s;
}

GST_CHECK_MAIN (seek);

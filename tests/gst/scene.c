/* SPDX-License-Identifier: MIT */
/* samscene: the same frame for the same seed and time, and labels that are true.
 * samscore: what it says of masks. */

#include "samcheck.h"

#include <string.h>

#define NUM_THINGS 4

typedef struct
{
  GstBuffer *buffer;
  GstMapInfo pixels, labels;
  GstBuffer *label_buffer;
  const GstStructure *meta;
  gint width, height;
} Shot;

static GstHarness *
play (const gchar * launch, const gchar * caps)
{
  GstHarness *h = gst_harness_new_parse (launch);

  gst_harness_set_sink_caps_str (h, caps);
  gst_harness_play (h);
  return h;
}

static void
shot_begin (Shot * shot, GstBuffer * buffer)
{
  GstCustomMeta *meta;

  fail_unless (buffer != NULL);
  shot->buffer = buffer;
  meta = gst_buffer_get_custom_meta (buffer, "GstSamSceneMeta");
  fail_unless (meta != NULL);
  shot->meta = gst_custom_meta_get_structure (meta);
  shot->width = sam_get_int (shot->meta, "width");
  shot->height = sam_get_int (shot->meta, "height");
  shot->label_buffer =
      gst_value_get_buffer (gst_structure_get_value (shot->meta, "labels"));
  fail_unless (gst_buffer_map (shot->label_buffer, &shot->labels,
          GST_MAP_READ));
  fail_unless (gst_buffer_map (buffer, &shot->pixels, GST_MAP_READ));
  fail_unless_equals_int (shot->labels.size, shot->width * shot->height);
  fail_unless_equals_int (shot->pixels.size, 4 * shot->width * shot->height);
}

static void
shot_end (Shot * shot)
{
  gst_buffer_unmap (shot->label_buffer, &shot->labels);
  gst_buffer_unmap (shot->buffer, &shot->pixels);
  gst_buffer_unref (shot->buffer);
}

static gboolean
shot_equal (const Shot * a, const Shot * b)
{
  return a->pixels.size == b->pixels.size &&
      !memcmp (a->pixels.data, b->pixels.data, a->pixels.size) &&
      !memcmp (a->labels.data, b->labels.data, a->labels.size);
}

static const GstStructure *
get_thing (const Shot * shot, guint i)
{
  const GValue *things = gst_structure_get_value (shot->meta, "things");

  fail_unless_equals_int (gst_value_array_get_size (things), NUM_THINGS);
  return gst_value_get_structure (gst_value_array_get_value (things, i));
}

#define CAPS(w, h, rate) "video/x-raw,width=" #w ",height=" #h ",framerate=" rate

/* At 30 and at 10 frames a second, the third frame of one is the first of the
 * other: to the bit. */
GST_START_TEST (test_a_frame_is_a_function_of_seed_and_time)
{
  GstHarness *h[3] = {
    play ("samscene seed=7 num-buffers=7", CAPS (161, 91, "30/1")),
    play ("samscene seed=7 num-buffers=3", CAPS (161, 91, "10/1")),
    play ("samscene seed=8 num-buffers=3", CAPS (161, 91, "10/1")),
  };
  Shot fast, slow, other;
  guint i, skip;

  for (i = 0; i < 3; i++) {
    for (skip = 0; i > 0 && skip < 2; skip++)
      gst_buffer_unref (gst_harness_pull (h[0]));
    shot_begin (&fast, gst_harness_pull (h[0]));
    shot_begin (&slow, gst_harness_pull (h[1]));
    shot_begin (&other, gst_harness_pull (h[2]));
    fail_unless_equals_uint64 (GST_BUFFER_PTS (fast.buffer),
        GST_BUFFER_PTS (slow.buffer));
    fail_unless (shot_equal (&fast, &slow));
    fail_if (shot_equal (&slow, &other));
    shot_end (&fast);
    shot_end (&slow);
    shot_end (&other);
  }
  for (i = 0; i < 3; i++)
    gst_harness_teardown (h[i]);
}

GST_END_TEST;

/* Whatever came before a seek: the frame is that of its time. */
GST_START_TEST (test_a_seek)
{
  GstHarness *h = play ("samscene seed=7", CAPS (161, 91, "10/1"));
  GstHarness *straight = play ("samscene seed=7 num-buffers=6",
      CAPS (161, 91, "10/1"));
  GstBuffer *buf;
  Shot want, got;
  guint i, held;

  for (i = 0; i < 8; i++)
    gst_buffer_unref (gst_harness_pull (h));
  fail_unless (gst_harness_push_upstream_event (h, gst_event_new_seek (1,
              GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET,
              GST_SECOND / 2, GST_SEEK_TYPE_SET, GST_CLOCK_TIME_NONE)));
  for (i = 0; i < 5; i++)
    gst_buffer_unref (gst_harness_pull (straight));
  shot_begin (&want, gst_harness_pull (straight));
  /* the harness holds later frames, of before the flush */
  buf = gst_harness_pull (h);
  while (GST_BUFFER_PTS (buf) >= 8 * GST_SECOND / 10) {
    gst_buffer_unref (buf);
    buf = gst_harness_pull (h);
  }
  fail_unless_equals_uint64 (GST_BUFFER_PTS (buf), GST_SECOND / 2);
  shot_begin (&got, buf);
  fail_unless (shot_equal (&want, &got));
  shot_end (&want);
  shot_end (&got);
  fail_if (gst_harness_push_upstream_event (h, gst_event_new_seek (-1,
              GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, 0,
              GST_SEEK_TYPE_SET, GST_SECOND)));
  /* refused, and nothing has happened to the stream, whose next frames the
   * harness holds already */
  held = gst_harness_buffers_in_queue (h);
  for (i = 6; i < 6 + held + 4; i++) {
    buf = gst_harness_pull (h);
    fail_unless_equals_uint64 (GST_BUFFER_PTS (buf), i * GST_SECOND / 10);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
  gst_harness_teardown (straight);
}

GST_END_TEST;

/* Which of the flat colours a pixel is closest to. */
static guint
get_nearest (const guint8 * p)
{
  static const gint flat[NUM_THINGS + 1][3] = {
    {0, 0, 0}, {240, 0, 0}, {0, 240, 0}, {0, 0, 240}, {240, 240, 0},
  };
  gint least = G_MAXINT;
  guint i, best = 0;

  for (i = 0; i <= NUM_THINGS; i++) {
    const gint r = p[0] - flat[i][0], g = p[1] - flat[i][1];
    const gint b = p[2] - flat[i][2], d = r * r + g * g + b * b;

    if (d < least) {
      least = d;
      best = i;
    }
  }
  return best;
}

/* Pixels on an edge are mixed, so that a few of them may look like another. */
static void
check_labels (const Shot * shot)
{
  guint area[NUM_THINGS + 1] = { 0 }, wrong = 0, seen = 0;
  gsize i;

  for (i = 0; i < shot->labels.size; i++) {
    const guint label = shot->labels.data[i];

    fail_unless (label <= NUM_THINGS);
    area[label]++;
    seen += label > 0;
    wrong += label != get_nearest (shot->pixels.data + 4 * i);
  }
  fail_unless (wrong <= 0.02 * seen, "%u of %u pixels are wrong", wrong, seen);
  for (i = 0; i < NUM_THINGS; i++) {
    const GstStructure *thing = get_thing (shot, i);
    gboolean visible;

    fail_unless_equals_int (sam_get_uint (thing, "label"), i + 1);
    fail_unless_equals_int (sam_get_uint (thing, "area"), area[i + 1]);
    fail_unless (gst_structure_get_boolean (thing, "visible", &visible));
    fail_unless_equals_int (visible, area[i + 1] > 0);
    fail_unless (sam_get_double (thing, "visibility") <= 1);
    fail_unless_equals_int (sam_get_double (thing, "visibility") > 0, visible);
  }
}

/* Over a minute everything happens: what is hidden, and what leaves. */
GST_START_TEST (test_labels_agree_with_pixels)
{
  GstHarness *h = play ("samscene flat=true num-buffers=120",
      CAPS (320, 180, "2/1"));
  gdouble least[NUM_THINGS] = { 1, 1, 1, 1 }, most[NUM_THINGS] = { 0 };
  Shot shot;
  guint i, n;

  for (n = 0; n < 120; n++) {
    shot_begin (&shot, gst_harness_pull (h));
    check_labels (&shot);
    for (i = 0; i < NUM_THINGS; i++) {
      const gdouble v = sam_get_double (get_thing (&shot, i), "visibility");

      least[i] = MIN (least[i], v);
      most[i] = MAX (most[i], v);
    }
    shot_end (&shot);
  }
  for (i = 0; i < NUM_THINGS; i++)
    fail_unless (most[i] > 0.98, "thing %u is never seen whole", i);
  fail_unless (least[1] < 0.1, "the pillar never hides the walker");
  fail_unless (least[3] == 0, "the plane never leaves");
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_any_size)
{
  static const gchar *caps[] = {
    CAPS (1, 1, "30/1"), CAPS (1, 300, "30/1"), CAPS (300, 1, "30/1"),
    CAPS (3, 5, "1/1000"), CAPS (17, 13, "1000/1"), CAPS (641, 359, "25/2"),
    CAPS (1920, 1080, "30000/1001"),
  };
  Shot shot;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (caps); i++) {
    GstHarness *h = play ("samscene num-buffers=2", caps[i]);

    shot_begin (&shot, gst_harness_pull (h));
    shot_end (&shot);
    shot_begin (&shot, gst_harness_pull (h));
    shot_end (&shot);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* The first message of the types; of elements' messages a score. */
static GstMessage *
run (const gchar * launch, GstMessageType types)
{
  GstElement *pipeline = gst_parse_launch (launch, NULL);
  GstBus *bus = gst_element_get_bus (pipeline);
  GstMessage *message = NULL;

  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  do {
    gst_clear_message (&message);
    message = gst_bus_timed_pop_filtered (bus, 60 * GST_SECOND, types);
    fail_unless (message != NULL);
  } while (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ELEMENT &&
      !gst_message_has_name (message, "samscore"));
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  return message;
}

GST_START_TEST (test_an_absurd_size_is_refused)
{
  GstMessage *message = run ("samscene ! video/x-raw,width=16384,height=16384 "
      "! fakesink", GST_MESSAGE_ERROR);
  GError *error;

  gst_message_parse_error (message, &error, NULL);
  fail_unless (strstr (error->message, "16384 x 16384") != NULL, "'%s'",
      error->message);
  g_error_free (error);
  gst_message_unref (message);
}

GST_END_TEST;

GST_START_TEST (test_live_frames_wait_for_their_time)
{
  GstHarness *h = play ("samscene is-live=true", CAPS (64, 36, "25/1"));
  GstQuery *query = gst_query_new_latency ();
  GstClockTime least, most;
  gboolean live;
  Shot shot;
  guint i;

  for (i = 0; i < 3; i++) {
    fail_unless (gst_harness_crank_single_clock_wait (h));
    shot_begin (&shot, gst_harness_pull (h));
    fail_unless_equals_uint64 (GST_BUFFER_PTS (shot.buffer),
        i * 40 * GST_MSECOND);
    shot_end (&shot);
  }
  fail_unless (gst_pad_peer_query (h->sinkpad, query));
  gst_query_parse_latency (query, &live, &least, &most);
  fail_unless (live);
  fail_unless_equals_uint64 (least, 40 * GST_MSECOND);
  gst_query_unref (query);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Time goes on where it was. */
GST_START_TEST (test_caps_change)
{
  GstHarness *h = play ("samscene is-live=true", CAPS (64, 36, "25/1"));
  GstClockTime last = 0;
  gint width = 64;
  Shot shot;
  guint i;

  fail_unless (gst_harness_crank_single_clock_wait (h));
  gst_buffer_unref (gst_harness_pull (h));
  gst_harness_set_sink_caps_str (h, CAPS (80, 45, "50/1"));
  for (i = 0; i < 10 && width == 64; i++) {
    fail_unless (gst_harness_crank_single_clock_wait (h));
    shot_begin (&shot, gst_harness_pull (h));
    fail_unless (GST_BUFFER_PTS (shot.buffer) > last);
    last = GST_BUFFER_PTS (shot.buffer);
    width = shot.width;
    shot_end (&shot);
  }
  fail_unless_equals_int (width, 80);
  fail_unless_equals_uint64 (last % (40 * GST_MSECOND), 0);
  gst_harness_teardown (h);
}

GST_END_TEST;

GST_START_TEST (test_stop_and_go)
{
  guint i;

  for (i = 0; i < 4; i++)
    gst_message_unref (run ("samscene num-buffers=2 ! "
            "video/x-raw,width=64,height=36 ! samscore ! fakesink",
            GST_MESSAGE_EOS));
}

GST_END_TEST;

/* The ball is large and easy; anything but the ball would have a J near 0. */
GST_START_TEST (test_the_score_of_a_ball)
{
  GstMessage *message = run ("samscene num-buffers=5 ! samtrack "
      "initial-prompt=\"point,x=292,y=268\" ! videoconvert ! samscore "
      "name=score ! fakesink",
      GST_MESSAGE_ERROR | GST_MESSAGE_ELEMENT);
  const GstStructure *s = gst_message_get_structure (message);

  fail_unless_equals_string (gst_structure_get_name (s), "samscore");
  fail_unless_equals_string (gst_structure_get_string (s, "thing"), "ball");
  fail_unless_equals_uint64 (sam_get_uint64 (s, "object"), 1);
  fail_unless_equals_int (sam_get_uint (s, "frames"), 5);
  fail_unless (sam_get_double (s, "mean-j") > GOOD_IOU, "mean J %f",
      sam_get_double (s, "mean-j"));
  gst_message_unref (message);
}

GST_END_TEST;

/* Progress of a clip is told from it. */
GST_START_TEST (test_num_buffers_has_a_duration)
{
  const gchar *caps = "video/x-raw,width=64,height=48,framerate=30/1";
  GstHarness *h = play ("samscene num-buffers=45", caps);
  gint64 duration = 0;

  gst_buffer_unref (gst_harness_pull (h));
  fail_unless (gst_pad_peer_query_duration (h->sinkpad, GST_FORMAT_TIME,
          &duration));
  fail_unless_equals_uint64 (duration, 1500 * GST_MSECOND);
  gst_harness_teardown (h);
  h = play ("samscene", caps);
  gst_buffer_unref (gst_harness_pull (h));
  fail_if (gst_pad_peer_query_duration (h->sinkpad, GST_FORMAT_TIME,
          &duration) && duration != -1);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
scene_suite (void)
{
  Suite *s = suite_create ("scene");
  TCase *tc = sam_tcase_new (s, "scene");

  tcase_add_test (tc, test_a_frame_is_a_function_of_seed_and_time);
  tcase_add_test (tc, test_a_seek);
  tcase_add_test (tc, test_labels_agree_with_pixels);
  tcase_add_test (tc, test_any_size);
  tcase_add_test (tc, test_an_absurd_size_is_refused);
  tcase_add_test (tc, test_live_frames_wait_for_their_time);
  tcase_add_test (tc, test_caps_change);
  tcase_add_test (tc, test_stop_and_go);
  tcase_add_test (tc, test_the_score_of_a_ball);
  tcase_add_test (tc, test_num_buffers_has_a_duration);
  return s;
}

GST_CHECK_MAIN (scene);

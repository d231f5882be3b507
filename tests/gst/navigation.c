/* SPDX-License-Identifier: MIT */
/* Mouse, touch and keys as a video sink sends them: what becomes a prompt. */

#include "samcheck.h"

#include <gst/video/navigation.h>
#include <string.h>

#define WIDTH 64
#define HEIGHT 48

typedef struct
{
  GstHarness *h;
  GstBus *bus;
  guint frame;
} Rig;

static Rig
open_rig (const gchar * mode)
{
  Rig rig = { NULL, };
  /* Without history, prompts are for the next frame; late.c has the rest. */
  gchar *launch = g_strdup_printf ("samtrack max-objects=4 history=0 "
      "navigation=%s", mode);

  rig.h = sam_harness_new (launch, GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT);
  rig.bus = sam_harness_add_bus (rig.h);
  g_free (launch);
  return rig;
}

static void
close_rig (Rig * rig)
{
  fail_unless_equals_int (sam_count_messages (rig->bus, GST_MESSAGE_WARNING,
          NULL), 0);
  gst_element_set_bus (rig->h->element, NULL);
  gst_object_unref (rig->bus);
  gst_harness_teardown (rig->h);
}

/* Whether the element kept the event: else it reached the source. */
static gboolean
send (Rig * rig, GstEvent * event)
{
  const guint before = gst_harness_upstream_events_received (rig->h);
  guint passed;

  gst_harness_push_upstream_event (rig->h, event);
  passed = gst_harness_upstream_events_received (rig->h) - before;
  fail_unless (passed <= 1);
  return !passed;
}

static gboolean
button (Rig * rig, gboolean down, gint number, gdouble x, gdouble y)
{
  return send (rig, down ?
      gst_navigation_event_new_mouse_button_press (number, x, y,
          GST_NAVIGATION_MODIFIER_NONE) :
      gst_navigation_event_new_mouse_button_release (number, x, y,
          GST_NAVIGATION_MODIFIER_NONE));
}

static void
click (Rig * rig, gint number, gdouble x, gdouble y)
{
  button (rig, TRUE, number, x, y);
  button (rig, FALSE, number, x, y);
}

static gboolean
key (Rig * rig, gboolean down, const gchar * name)
{
  return send (rig, down ?
      gst_navigation_event_new_key_press (name, GST_NAVIGATION_MODIFIER_NONE) :
      gst_navigation_event_new_key_release (name,
          GST_NAVIGATION_MODIFIER_NONE));
}

/* Run a frame; how many objects there are, and the id of the last one. */
static guint
run (Rig * rig, guint64 * id)
{
  GstBuffer *buf = sam_harness_run (rig->h, rig->frame++);
  const GstStructure *meta = sam_get_meta (buf);
  const guint n = sam_get_num_objects (meta);

  if (id)
    *id = n ? sam_get_id (meta, n - 1) : 0;
  gst_buffer_unref (buf);
  return n;
}

/* The prompts that wait, as the text form that says the same: masks of both are
 * the same to the bit. */
static void
check_same_as (Rig * rig, const gchar * text)
{
  GstHarness *other = sam_harness_new ("samtrack max-objects=4",
      GST_VIDEO_FORMAT_RGB, WIDTH, HEIGHT);
  GstBuffer *a, *b, *x, *y;
  GstMapInfo map;

  gst_buffer_unref (sam_harness_run (other, 0));
  g_signal_emit_by_name (other->element, "prompt", text);
  a = sam_harness_run (rig->h, rig->frame++);
  b = sam_harness_run (other, 1);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (a)),
      sam_get_num_objects (sam_get_meta (b)));
  gst_structure_get (sam_get_meta (a), "mask", GST_TYPE_BUFFER, &x, NULL);
  gst_structure_get (sam_get_meta (b), "mask", GST_TYPE_BUFFER, &y, NULL);
  gst_buffer_map (x, &map, GST_MAP_READ);
  fail_unless (gst_buffer_memcmp (y, 0, map.data, map.size) == 0, "%s", text);
  gst_buffer_unmap (x, &map);
  gst_buffer_unref (x);
  gst_buffer_unref (y);
  gst_buffer_unref (a);
  gst_buffer_unref (b);
  gst_harness_teardown (other);
}

GST_START_TEST (test_nothing_is_taken_by_default)
{
  Rig rig = open_rig ("none");

  run (&rig, NULL);
  fail_unless (!button (&rig, TRUE, 1, 30, 20));
  fail_unless (!button (&rig, FALSE, 1, 30, 20));
  fail_unless (!key (&rig, TRUE, "c"));
  fail_unless_equals_int (run (&rig, NULL), 0);
  close_rig (&rig);
}

GST_END_TEST;

/* Before the first frame nobody can have seen what he points at. */
GST_START_TEST (test_points_make_an_object)
{
  Rig rig = open_rig ("points");
  guint64 id;

  run (&rig, NULL);
  fail_unless (!send (&rig, gst_navigation_event_new_mouse_move (28, 24,
              GST_NAVIGATION_MODIFIER_NONE)));
  fail_unless (button (&rig, TRUE, 1, 28, 24));
  fail_unless (!button (&rig, FALSE, 1, 28, 24));
  fail_unless (button (&rig, TRUE, 3, 60, 4));
  fail_unless (button (&rig, TRUE, 1, 30, 30));
  check_same_as (&rig, "point,x=28,y=24;"
      "point,x=60,y=4,positive=false,id=1;point,x=30,y=30,id=1");
  /* n: the next click is for another object */
  fail_unless (key (&rig, TRUE, "n"));
  click (&rig, 1, 10, 10);
  fail_unless_equals_int (run (&rig, &id), 2);
  fail_unless_equals_uint64 (id, 2);
  close_rig (&rig);
}

GST_END_TEST;

GST_START_TEST (test_shift_makes_a_click_negative)
{
  Rig rig = open_rig ("points");

  run (&rig, NULL);
  /* there is nothing yet that it could be taken from */
  key (&rig, TRUE, "Shift_L");
  fail_unless (!button (&rig, TRUE, 1, 28, 24));
  key (&rig, TRUE, "Shift_L");  /* as keys repeat */
  key (&rig, FALSE, "Shift_L");
  click (&rig, 1, 28, 24);
  key (&rig, TRUE, "Shift_R");
  click (&rig, 1, 60, 4);
  key (&rig, FALSE, "Shift_R");
  fail_unless (send (&rig, gst_navigation_event_new_mouse_button_press (1, 4, 4,
              GST_NAVIGATION_MODIFIER_SHIFT_MASK)));
  click (&rig, 1, 30, 30);
  check_same_as (&rig, "point,x=28,y=24;"
      "point,x=60,y=4,positive=false,id=1;point,x=4,y=4,positive=false,id=1;"
      "point,x=30,y=30,id=1");
  close_rig (&rig);
}

GST_END_TEST;

GST_START_TEST (test_a_drag_is_a_box)
{
  static const gdouble from[][2] = { {16, 12}, {40, 36}, {40, 12} };
  Rig rig = open_rig ("points-boxes");
  const gdouble *p = from[__i__];

  run (&rig, NULL);
  fail_unless (!button (&rig, TRUE, 1, p[0], p[1]));
  send (&rig, gst_navigation_event_new_mouse_move (20, 20,
          GST_NAVIGATION_MODIFIER_NONE));
  fail_unless (button (&rig, FALSE, 1, 56 - p[0], 48 - p[1]));
  check_same_as (&rig, "box,x=16,y=12,w=24,h=24");
  close_rig (&rig);
}

GST_END_TEST;

/* A hand is never quite still; and a drag may end outside, or in a frame of
 * another size. */
GST_START_TEST (test_drags_that_are_none)
{
  Rig rig = open_rig ("points-boxes");

  run (&rig, NULL);
  button (&rig, TRUE, 1, 28, 24);
  fail_unless (button (&rig, FALSE, 1, 28.4, 24.3));
  check_same_as (&rig, "point,x=28,y=24");
  key (&rig, TRUE, "n");
  button (&rig, TRUE, 1, 48, 24);
  fail_unless (button (&rig, FALSE, 1, 500, 400));
  fail_unless_equals_int (run (&rig, NULL), 2);
  key (&rig, TRUE, "n");
  button (&rig, TRUE, 1, 16, 12);
  gst_harness_set_src_caps_str (rig.h,
      "video/x-raw,format=RGB,width=128,height=96,framerate=30/1");
  run (&rig, NULL);
  fail_unless (button (&rig, FALSE, 1, 80, 72));
  fail_unless_equals_int (run (&rig, NULL), 3);
  /* a release without a press, and one outside of a press of another button */
  fail_unless (!button (&rig, FALSE, 1, 20, 20));
  close_rig (&rig);
}

GST_END_TEST;

GST_START_TEST (test_what_is_under_the_pointer_is_removed)
{
  Rig rig = open_rig ("points");
  const gboolean by_key = __i__;
  guint64 id;

  run (&rig, NULL);
  gst_util_set_object_arg (G_OBJECT (rig.h->element), "initial-prompt", "");
  g_signal_emit_by_name (rig.h->element, "prompt", SQUARE_BOX);
  fail_unless_equals_int (run (&rig, &id), 1);
  /* not where the object is not */
  send (&rig, gst_navigation_event_new_mouse_move (62, 2,
          GST_NAVIGATION_MODIFIER_NONE));
  fail_unless (!(by_key ? key (&rig, TRUE, "Delete") : button (&rig, TRUE, 2,
              62, 2)));
  fail_unless_equals_int (run (&rig, NULL), 1);
  send (&rig, gst_navigation_event_new_mouse_move (28, 24,
          GST_NAVIGATION_MODIFIER_NONE));
  fail_unless (by_key ? key (&rig, TRUE, "Delete") : button (&rig, TRUE, 2, 28,
          24));
  fail_unless_equals_int (run (&rig, NULL), 0);
  close_rig (&rig);
}

GST_END_TEST;

static void
start_anew (Rig * rig)
{
  GstSegment segment;

  gst_element_set_state (rig->h->element, GST_STATE_READY);
  gst_element_set_state (rig->h->element, GST_STATE_PLAYING);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  gst_harness_push_event (rig->h, gst_event_new_stream_start ("again"));
  gst_harness_push_event (rig->h, gst_event_new_segment (&segment));
}

/* Ids begin at 1 again, and the object that has that of the one clicked on
 * before is not what clicks are for. */
GST_START_TEST (test_clicks_after_a_stop_are_for_a_new_object)
{
  Rig rig = open_rig ("points");
  GstBuffer *buf;
  guint64 id;

  run (&rig, NULL);
  click (&rig, 1, 28, 24);
  fail_unless_equals_int (run (&rig, &id), 1);
  fail_unless_equals_uint64 (id, 1);
  start_anew (&rig);
  g_signal_emit_by_name (rig.h->element, "add-point", G_GUINT64_CONSTANT (0),
      0.2, 0.2, TRUE, TRUE, &id);
  fail_unless_equals_uint64 (id, 1);
  buf = sam_harness_run (rig.h, rig.frame++);
  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 1);
  fail_unless (!gst_structure_has_field (sam_get_meta (buf), "current"));
  gst_buffer_unref (buf);
  fail_unless (!key (&rig, TRUE, "u"));
  click (&rig, 1, 28, 24);
  fail_unless_equals_int (run (&rig, &id), 2);
  fail_unless_equals_uint64 (id, 2);
  close_rig (&rig);
}

GST_END_TEST;

GST_START_TEST (test_undo_and_clear)
{
  Rig rig = open_rig ("points");
  guint64 id;

  run (&rig, NULL);
  fail_unless (!key (&rig, TRUE, "u"));
  click (&rig, 1, 28, 24);
  run (&rig, NULL);
  click (&rig, 1, 30, 30);
  fail_unless_equals_int (run (&rig, &id), 1);
  fail_unless (key (&rig, TRUE, "u"));
  fail_unless_equals_int (run (&rig, &id), 1);
  fail_unless (key (&rig, TRUE, "u"));
  fail_unless_equals_int (run (&rig, &id), 0);
  /* its object is gone: the next click starts another one */
  click (&rig, 1, 28, 24);
  fail_unless_equals_int (run (&rig, &id), 1);
  fail_unless_equals_uint64 (id, 2);
  fail_unless (key (&rig, TRUE, "c"));
  fail_unless_equals_int (run (&rig, &id), 0);
  fail_unless (!key (&rig, TRUE, "x"));
  close_rig (&rig);
}

GST_END_TEST;

/* Beside the picture, where a sink has its bars; before the first frame; and
 * numbers that are none. */
GST_START_TEST (test_clicks_that_hit_nothing)
{
  static const gdouble at[][2] = { {-1, 20}, {64, 20}, {30, -0.5}, {30, 48},
  {1e300, 20}, {NAN, 20}, {30, INFINITY}, {-1e300, -1e300}
  };
  Rig rig = open_rig ("points-boxes");
  guint i, k;

  for (k = 0; k < 2; k++) {
    for (i = 0; i < G_N_ELEMENTS (at); i++) {
      fail_unless (!button (&rig, TRUE, 1, at[i][0], at[i][1]));
      fail_unless (!button (&rig, TRUE, 2, at[i][0], at[i][1]));
      fail_unless (!button (&rig, TRUE, 3, at[i][0], at[i][1]));
      button (&rig, FALSE, 1, at[i][0], at[i][1]);
    }
    fail_unless_equals_int (run (&rig, NULL), 0);
  }
  close_rig (&rig);
}

GST_END_TEST;

#if GST_CHECK_VERSION (1, 22, 0)
static gboolean
touch (Rig * rig, gboolean down, guint finger, gdouble x, gdouble y)
{
  return send (rig, down ? gst_navigation_event_new_touch_down (finger, x, y, 1,
          GST_NAVIGATION_MODIFIER_NONE) :
      gst_navigation_event_new_touch_up (finger, x, y,
          GST_NAVIGATION_MODIFIER_NONE));
}

GST_START_TEST (test_a_finger_is_a_mouse)
{
  Rig rig = open_rig ("points-boxes");

  run (&rig, NULL);
  fail_unless (!touch (&rig, TRUE, 0, 16, 12));
  fail_unless (!touch (&rig, TRUE, 1, 60, 40)); /* a second one is not */
  send (&rig, gst_navigation_event_new_touch_motion (0, 30, 30, 1,
          GST_NAVIGATION_MODIFIER_NONE));
  fail_unless (!touch (&rig, FALSE, 1, 62, 41));
  fail_unless (touch (&rig, FALSE, 0, 40, 36));
  check_same_as (&rig, "box,x=16,y=12,w=24,h=24");
  /* what is cancelled was none */
  touch (&rig, TRUE, 0, 16, 12);
  send (&rig, gst_navigation_event_new_touch_cancel
      (GST_NAVIGATION_MODIFIER_NONE));
  fail_unless (!touch (&rig, FALSE, 0, 40, 36));
  fail_unless_equals_int (run (&rig, NULL), 1);
  gst_util_set_object_arg (G_OBJECT (rig.h->element), "navigation", "points");
  key (&rig, TRUE, "n");
  fail_unless (touch (&rig, TRUE, 3, 10, 10));
  touch (&rig, FALSE, 3, 10, 10);
  fail_unless_equals_int (run (&rig, NULL), 2);
  close_rig (&rig);
}

GST_END_TEST;
#endif

/* More objects than there is room for: refused with a warning, as any prompt. */
GST_START_TEST (test_more_clicks_than_objects)
{
  Rig rig = open_rig ("points");
  guint i;

  run (&rig, NULL);
  for (i = 0; i < 6; i++) {
    key (&rig, TRUE, "n");
    fail_unless (button (&rig, TRUE, 1, 10 + 5 * i, 20) == (i < 4));
    button (&rig, FALSE, 1, 10 + 5 * i, 20);
  }
  fail_unless_equals_int (run (&rig, NULL), 4);
  fail_unless_equals_int (sam_count_messages (rig.bus, GST_MESSAGE_WARNING,
          NULL), 2);
  close_rig (&rig);
}

GST_END_TEST;

static gpointer
click_wildly (gpointer data)
{
  static const gchar *keys[] = { "n", "u", "c", "Delete", "Shift_L", "q" };
  Rig *rig = data;
  GRand *rand = g_rand_new_with_seed (5);
  guint i;

  for (i = 0; i < 1000; i++) {
    GstEvent *event;
    gdouble x = g_rand_double_range (rand, -9, WIDTH + 9);
    gdouble y = g_rand_double_range (rand, -9, HEIGHT + 9);
    const gint what = g_rand_int_range (rand, 0, 4);
    const gchar *name = keys[g_rand_int_range (rand, 0, G_N_ELEMENTS (keys))];

    if (what == 0)
      event = gst_navigation_event_new_key_press (name, 0);
    else if (what == 1)
      event = gst_navigation_event_new_key_release (name, 0);
    else if (what == 2)
      event = gst_navigation_event_new_mouse_button_press (g_rand_int_range
          (rand, -1, 9), x, y, 0);
    else
      event = gst_navigation_event_new_mouse_button_release (1, x, y, 0);
    gst_harness_push_upstream_event (rig->h, event);
    g_usleep (100);
  }
  g_rand_free (rand);
  return NULL;
}

/* Eight threads send whatever comes while frames pass: none is lost, and a
 * click is served afterwards. */
GST_START_TEST (test_wild_clicks_from_eight_threads)
{
  Rig rig = open_rig ("points-boxes");
  GThread *thread[8];
  guint64 id;
  guint i;

  gst_element_set_bus (rig.h->element, NULL);   /* for refusals */
  run (&rig, NULL);
  for (i = 0; i < G_N_ELEMENTS (thread); i++)
    thread[i] = g_thread_new ("clicker", click_wildly, &rig);
  for (i = 0; i < 60; i++)
    run (&rig, NULL);
  for (i = 0; i < G_N_ELEMENTS (thread); i++)
    g_thread_join (thread[i]);
  while (gst_harness_try_pull (rig.h));
  key (&rig, FALSE, "Shift_L");
  fail_unless (key (&rig, TRUE, "c"));
  run (&rig, NULL);
  click (&rig, 1, 28, 24);
  fail_unless_equals_int (run (&rig, &id), 1);
  close_rig (&rig);
}

GST_END_TEST;

static Suite *
navigation_suite (void)
{
  Suite *s = suite_create ("navigation");
  TCase *tc = sam_tcase_new_tiny (s, "hands");

  tcase_add_test (tc, test_nothing_is_taken_by_default);
  tcase_add_test (tc, test_points_make_an_object);
  tcase_add_test (tc, test_shift_makes_a_click_negative);
  tcase_add_loop_test (tc, test_a_drag_is_a_box, 0, 3);
  tcase_add_test (tc, test_drags_that_are_none);
  tcase_add_test (tc, test_clicks_after_a_stop_are_for_a_new_object);
  tcase_add_test (tc, test_undo_and_clear);
  tcase_add_test (tc, test_clicks_that_hit_nothing);
#if GST_CHECK_VERSION (1, 22, 0)
  tcase_add_test (tc, test_a_finger_is_a_mouse);
#endif
  tcase_add_test (tc, test_more_clicks_than_objects);
  tcase_add_test (tc, test_wild_clicks_from_eight_threads);
  tc = sam_tcase_new (s, "masks");
  tcase_add_loop_test (tc, test_what_is_under_the_pointer_is_removed, 0, 2);
  return s;
}

GST_CHECK_MAIN (navigation);

/* SPDX-License-Identifier: MIT */
/* samoverlay mode=composition: what it attaches is what it would have drawn,
 * and where nobody draws what is attached it draws. */

#include "things.h"

#include <string.h>

#define FEATURE "meta:GstVideoOverlayComposition"

/* One that lies apart from those of things.h, of which the first one here
 * touches it. */
static const Thing apart[] = {
  {1, 1, "tracked", NULL, 8, 16, 16, 16},
  {2, 2, "tracked", NULL, 60, 24, 20, 30},
};

static const Thing near[] = {
  {1, 1, "tracked", NULL, 8, 16, 30, 16},
  {2, 2, "tracked", NULL, 38, 20, 20, 30},
};

/* At multiples of 4 px. */
static const Thing wide[] = {
  {1, 1, "tracked", NULL, 8, 16, 24, 20},
  {2, 2, "lost", NULL, 0, 0, 0, 0},
  {3, 3, "tracked", "dog", 60, 36, 36, 28},
};

static const Thing at_the_edge[] = { {3, 3, "tracked", "cat", 80, 0, 16, 20} };

static GstHarness *
open_sink (const gchar * launch, gboolean draws)
{
  GstHarness *h = open_rgba (launch);

  if (draws)
    gst_harness_add_propose_allocation_meta (h,
        GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, NULL);
  return h;
}

static gboolean
is_offered (GstHarness * h)
{
  GstCaps *caps = gst_pad_get_current_caps (h->sinkpad);
  const gboolean is = gst_caps_features_contains (gst_caps_get_features (caps,
          0), FEATURE);

  gst_caps_unref (caps);
  return is;
}

static GstVideoOverlayComposition *
get_composition (GstBuffer * buf)
{
  GstVideoOverlayCompositionMeta *meta =
      gst_buffer_get_video_overlay_composition_meta (buf);

  return meta ? meta->overlay : NULL;
}

static guint
count_rectangles (GstBuffer * buf)
{
  GstVideoOverlayComposition *composition = get_composition (buf);

  return composition ? gst_video_overlay_composition_n_rectangles (composition)
      : 0;
}

static guint
get_seqnum (GstBuffer * buf, guint i)
{
  return gst_video_overlay_rectangle_get_seqnum
      (gst_video_overlay_composition_get_rectangle (get_composition (buf), i));
}

/* Draw what is attached, as a sink does. */
static void
draw_attached (GstBuffer * buf)
{
  GstVideoFrame frame;
  GstVideoInfo info;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, W, H);
  fail_unless (gst_video_frame_map (&frame, &info, buf, GST_MAP_READWRITE));
  fail_unless (gst_video_overlay_composition_blend (get_composition (buf),
          &frame));
  gst_video_frame_unmap (&frame);
}

static gboolean
is_untouched (GstBuffer * buf)
{
  GstBuffer *plain = new_rgba ();
  GstMapInfo map;
  gboolean is;

  gst_buffer_map (plain, &map, GST_MAP_READ);
  is = !gst_buffer_memcmp (buf, 0, map.data, map.size);
  gst_buffer_unmap (plain, &map);
  gst_buffer_unref (plain);
  return is;
}

static void
check_same_picture (GstBuffer * a, GstBuffer * b, const gchar * what)
{
  GstMapInfo p, q;
  gsize i;

  gst_buffer_map (a, &p, GST_MAP_READ);
  gst_buffer_map (b, &q, GST_MAP_READ);
  /* GStreamer's blending and ours round differently */
  for (i = 0; i < p.size; i++)
    fail_unless (ABS (p.data[i] - q.data[i]) <= 2, "%s: byte %u of (%u, %u) is "
        "%d, not %d", what, (guint) i % 4, (guint) i / 4 % W, (guint) i / 4 / W,
        p.data[i], q.data[i]);
  gst_buffer_unmap (a, &p);
  gst_buffer_unmap (b, &q);
}

static const struct
{
  const gchar *style;
  const Thing *things;
  guint n;
  guint rectangles;             /* 0: as many as there may be */
  gint cell;                    /* px of a cell of the label map; 0: 1 */
} scenes[] = {
  {"draw-ids=false draw-scores=false", apart, 2, 2, 0},
  {"draw-ids=false draw-scores=false opacity=1 line-width=5", near, 2, 1, 0},
  {"draw-ids=false draw-scores=false draw-outlines=false", at_the_edge, 1, 1, 0},
  {"draw-boxes=true opacity=0.3", apart, 2, 0, 0},
  {"", two, 2, 0, 0},
  {"draw-masks=false", at_the_edge, 1, 0, 0},
  {"selected-ids=2 draw-ids=false draw-scores=false", near, 2, 1, 0},
  {"draw-ids=false draw-labels=false draw-scores=false", wide, 3, 2, 4},
  {"draw-boxes=true line-width=1", wide, 3, 0, 4},
};

/* Have the label map a cell for so many pixels. */
static void
make_coarse (GstStructure * s, gint cell)
{
  const gint width = W / cell, height = H / cell;
  GstBuffer *fine, *coarse = gst_buffer_new_allocate (NULL, width * height,
      NULL);
  GstMapInfo from, to;
  gint x, y;

  gst_structure_get (s, "mask", GST_TYPE_BUFFER, &fine, NULL);
  gst_buffer_map (fine, &from, GST_MAP_READ);
  gst_buffer_map (coarse, &to, GST_MAP_WRITE);
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++)
      to.data[y * width + x] = from.data[cell * (y * W + x)];
  }
  gst_buffer_unmap (coarse, &to);
  gst_buffer_unmap (fine, &from);
  gst_structure_set (s, "mask", GST_TYPE_BUFFER, coarse, "mask-width",
      G_TYPE_INT, width, "mask-height", G_TYPE_INT, height, NULL);
  gst_buffer_unref (coarse);
  gst_buffer_unref (fine);
}

static GstBuffer *
push_scene (GstHarness * h, guint i)
{
  GstBuffer *buf = new_rgba ();
  GstStructure *s = add_things (buf, "ok", scenes[i].things, scenes[i].n);

  if (scenes[i].cell)
    make_coarse (s, scenes[i].cell);
  return gst_harness_push_and_pull (h, buf);
}

/* The rectangles lie inside of the frame, and none on another. */
static void
check_rectangles (GstBuffer * buf)
{
  guint8 seen[W * H] = { 0, };
  guint i, w, h;
  gint x, y, r, c;

  for (i = 0; i < count_rectangles (buf); i++) {
    gst_video_overlay_rectangle_get_render_rectangle
        (gst_video_overlay_composition_get_rectangle (get_composition (buf), i),
        &x, &y, &w, &h);
    fail_unless (x >= 0 && y >= 0 && x + w <= W && y + h <= H, "%u", i);
    for (r = y; r < y + (gint) h; r++) {
      for (c = x; c < x + (gint) w; c++)
        fail_if (seen[r * W + c]++, "(%d, %d) is in two rectangles", c, r);
    }
  }
}

GST_START_TEST (test_the_sink_draws_what_would_have_been_drawn)
{
  gchar *attached = g_strdup_printf ("samoverlay mode=composition %s",
      scenes[__i__].style);
  gchar *drawn = g_strdup_printf ("samoverlay %s", scenes[__i__].style);
  GstHarness *a = open_sink (attached, TRUE), *b = open_sink (drawn, TRUE);
  GstBuffer *by_sink = push_scene (a, __i__), *here = push_scene (b, __i__);

  fail_unless (is_offered (a) && !is_offered (b));
  fail_unless (is_untouched (by_sink) && !is_untouched (here));
  fail_unless (count_rectangles (by_sink) > 0 && !count_rectangles (here));
  if (scenes[__i__].rectangles) {
    fail_unless_equals_int (count_rectangles (by_sink),
        scenes[__i__].rectangles);
  }
  check_rectangles (by_sink);
  draw_attached (by_sink);
  check_same_picture (by_sink, here, scenes[__i__].style);
  gst_buffer_unref (by_sink);
  gst_buffer_unref (here);
  gst_harness_teardown (a);
  gst_harness_teardown (b);
  g_free (drawn);
  g_free (attached);
}

GST_END_TEST;

/* Of two trackers, each in colours of its own. */
GST_START_TEST (test_of_several_trackers)
{
  GstHarness *a = open_sink ("samoverlay mode=composition", TRUE);
  GstHarness *b = open_sink ("samoverlay", TRUE);
  GstHarness *side[] = { a, b };
  GstBuffer *out[2];
  guint i;

  for (i = 0; i < 2; i++) {
    GstBuffer *buf = new_rgba ();

    add_things (buf, "ok", apart, 1);
    add_things (buf, "ok", apart + 1, 1);
    out[i] = gst_harness_push_and_pull (side[i], buf);
  }
  draw_attached (out[0]);
  check_same_picture (out[0], out[1], "two trackers");
  for (i = 0; i < 2; i++) {
    gst_buffer_unref (out[i]);
    gst_harness_teardown (side[i]);
  }
}

GST_END_TEST;

/* The same label map again: the same rectangles, which a sink has already.
 * Another one in which a single thing moves: the other's is the same. */
GST_START_TEST (test_what_does_not_change_is_not_drawn_again)
{
  GstHarness *h = open_sink ("samoverlay mode=composition draw-ids=false "
      "draw-scores=false", TRUE);
  Thing moved[] = { apart[0], apart[1] };
  GstBuffer *begin, *again, *other;
  GstStructure *s;
  guint i;

  begin = push (h, 0, "ok", apart, 2);
  again = new_rgba ();
  s = add_things (again, "ok", apart, 2);
  gst_structure_set_value (s, "mask", gst_structure_get_value (sam_get_meta
          (begin), "mask"));
  again = gst_harness_push_and_pull (h, again);
  moved[1].y += 4;
  other = push (h, 80, "ok", moved, 2);
  fail_unless_equals_int (count_rectangles (begin), 2);
  fail_unless_equals_int (count_rectangles (again), 2);
  fail_unless_equals_int (count_rectangles (other), 2);
  for (i = 0; i < 2; i++)
    fail_unless_equals_int (get_seqnum (begin, i), get_seqnum (again, i));
  fail_unless_equals_int (get_seqnum (begin, 0), get_seqnum (other, 0));
  fail_if (get_seqnum (begin, 1) == get_seqnum (other, 1));
  gst_buffer_unref (begin);
  gst_buffer_unref (again);
  gst_buffer_unref (other);
  /* another style with the same label map is drawn anew */
  again = push (h, 120, "ok", apart, 2);
  g_object_set (h->element, "opacity", 0.9, NULL);
  other = new_rgba ();
  s = add_things (other, "ok", apart, 2);
  gst_structure_set_value (s, "mask", gst_structure_get_value (sam_get_meta
          (again), "mask"));
  other = gst_harness_push_and_pull (h, other);
  fail_if (get_seqnum (again, 0) == get_seqnum (other, 0));
  gst_buffer_unref (again);
  gst_buffer_unref (other);
  gst_harness_teardown (h);
}

GST_END_TEST;

static GstMemory *
get_memory (GstBuffer * buf)
{
  GstVideoOverlayRectangle *rectangle =
      gst_video_overlay_composition_get_rectangle (get_composition (buf), 0);

  return gst_buffer_peek_memory
      (gst_video_overlay_rectangle_get_pixels_unscaled_raw (rectangle,
          GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE), 0);
}

/* Pixels that somebody holds are not drawn on; those that nobody holds are. */
GST_START_TEST (test_memory_is_used_again)
{
  GstHarness *h = open_sink ("samoverlay mode=composition draw-ids=false "
      "draw-scores=false", TRUE);
  GstBuffer *held = push (h, 0, "ok", apart, 1), *buf;
  GstMemory *memory = get_memory (held);
  GstMapInfo map;
  Thing moved = apart[0];
  gboolean again = FALSE;
  gpointer was;
  gsize size;
  guint i;

  gst_memory_map (memory, &map, GST_MAP_READ);
  was = g_memdup2 (map.data, size = map.size);
  gst_memory_unmap (memory, &map);
  for (i = 1; i < 5; i++) {
    moved.x += 2;
    buf = push (h, 40 * i, "ok", &moved, 1);
    fail_if (get_memory (buf) == memory);
    gst_buffer_unref (buf);
  }
  gst_memory_map (memory, &map, GST_MAP_READ);
  fail_unless (map.size == size && !memcmp (map.data, was, size));
  gst_memory_unmap (memory, &map);
  gst_buffer_unref (held);
  for (; i < 10; i++) {
    moved.x += 2;
    buf = push (h, 40 * i, "ok", &moved, 1);
    again |= get_memory (buf) == memory;
    gst_buffer_unref (buf);
  }
  fail_unless (again);
  g_free (was);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Who takes all caps and draws nothing, and who takes none with a composition:
 * the frame is drawn on, as with mode=blend, and its caps are plain. */
GST_START_TEST (test_where_nobody_draws_it_does)
{
  GstHarness *h = open_sink ("samoverlay mode=composition", FALSE);
  GstHarness *b = open_sink ("samoverlay", FALSE);
  GstBuffer *here, *blend;
  guint i;

  if (__i__)
    gst_harness_set_sink_caps_str (h, "video/x-raw,format=RGBA,width=96,"
        "height=64,framerate=30/1");
  for (i = 0; i < 3; i++) {
    here = push (h, 40 * i, "ok", two, 2);
    blend = push (b, 40 * i, "ok", two, 2);
    fail_if (is_offered (h) || count_rectangles (here) > 0);
    check_same_picture (here, blend, "drawn here");
    gst_buffer_unref (here);
    gst_buffer_unref (blend);
  }
  gst_harness_teardown (b);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A sink that begins to draw says so with an event. */
GST_START_TEST (test_a_sink_that_begins_to_draw)
{
  GstHarness *h = open_sink ("samoverlay mode=composition", FALSE);
  GstBuffer *buf = push (h, 0, "ok", two, 2);

  fail_if (is_offered (h) || is_untouched (buf));
  gst_buffer_unref (buf);
  gst_harness_add_propose_allocation_meta (h,
      GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, NULL);
  buf = push (h, 40, "ok", two, 2);
  fail_if (is_offered (h) || is_untouched (buf));
  gst_buffer_unref (buf);
  gst_harness_push_upstream_event (h, gst_event_new_reconfigure ());
  buf = push (h, 80, "ok", two, 2);
  fail_unless (is_offered (h) && is_untouched (buf));
  fail_unless (count_rectangles (buf) > 0);
  gst_buffer_unref (buf);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Metas that lie: rectangles lie inside of the frame all the same, and can be
 * drawn. */
GST_START_TEST (test_hostile_metas)
{
  GstHarness *h = open_sink ("samoverlay mode=composition draw-boxes=true",
      TRUE);
  guint i;

  for (i = 0; i < 11; i++) {
    const Thing t = { 1, i == 0 ? 0 : i == 1 ? 300 : 1, "tracked", NULL,
      8, 16, 16, 16
    };
    GstBuffer *buf = new_rgba ();
    GstStructure *s = add_things (buf, i == 9 ? "none" : "ok", &t, 1);

    tell_lie (s, i);
    if (i == 10) {
      GstBuffer *small = gst_buffer_new_allocate (NULL, W * H - 1, NULL);

      gst_structure_set (s, "mask", GST_TYPE_BUFFER, small, NULL);
      gst_buffer_unref (small);
    }
    buf = gst_harness_push_and_pull (h, buf);
    check_rectangles (buf);
    if (get_composition (buf))
      draw_attached (buf);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

static GstVideoOverlayComposition *
new_composition (void)
{
  GstBuffer *pixels = gst_buffer_new_allocate (NULL, 4 * 8 * 8, NULL);
  GstVideoOverlayRectangle *rectangle;
  GstVideoOverlayComposition *all;

  gst_buffer_memset (pixels, 0, 200, -1);
  gst_buffer_add_video_meta (pixels, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, 8, 8);
  rectangle = gst_video_overlay_rectangle_new_raw (pixels, 2, 2, 8, 8, 0);
  all = gst_video_overlay_composition_new (rectangle);
  gst_video_overlay_rectangle_unref (rectangle);
  gst_buffer_unref (pixels);
  return all;
}

/* What an element upstream has attached comes first, and is not changed for
 * others that hold it. Of elements that draw, and of samtrack, it passes. */
GST_START_TEST (test_others_compositions_are_kept)
{
  static const gchar *launches[] = { "samoverlay mode=composition",
    "samoverlay mode=blend", "samoverlay mode=solid", "samtrack"
  };
  GstVideoOverlayComposition *theirs = new_composition ();
  GstHarness *h = open_sink (launches[__i__], TRUE);
  GstBuffer *buf = new_rgba ();

  gst_harness_set_src_caps_str (h, "video/x-raw(memory:SystemMemory, " FEATURE
      "),format=RGBA,width=96,height=64,framerate=30/1");
  add_things (buf, "ok", two, 2);
  gst_buffer_add_video_overlay_composition_meta (buf, theirs);
  buf = gst_harness_push_and_pull (h, buf);
  fail_unless (is_offered (h), "%s", launches[__i__]);
  fail_unless_equals_int (gst_video_overlay_composition_n_rectangles (theirs),
      1);
  fail_unless (gst_video_overlay_composition_get_rectangle (theirs, 0) ==
      gst_video_overlay_composition_get_rectangle (get_composition (buf), 0));
  fail_unless ((count_rectangles (buf) > 1) == (__i__ == 0));
  gst_buffer_unref (buf);
  gst_video_overlay_composition_unref (theirs);
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
composition_suite (void)
{
  Suite *s = suite_create ("composition");
  TCase *tc = sam_tcase_new (s, "composition");

  tcase_add_loop_test (tc, test_the_sink_draws_what_would_have_been_drawn, 0,
      G_N_ELEMENTS (scenes));
  tcase_add_test (tc, test_of_several_trackers);
  tcase_add_test (tc, test_what_does_not_change_is_not_drawn_again);
  tcase_add_test (tc, test_memory_is_used_again);
  tcase_add_loop_test (tc, test_where_nobody_draws_it_does, 0, 2);
  tcase_add_test (tc, test_a_sink_that_begins_to_draw);
  tcase_add_test (tc, test_hostile_metas);
  tcase_add_loop_test (tc, test_others_compositions_are_kept, 0, 4);
  return s;
}

GST_CHECK_MAIN (composition);

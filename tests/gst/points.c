/* SPDX-License-Identifier: MIT */
/* What samoverlay draws of prompts and of lost objects, from metas written by
 * hand. The element is inside. */

#include "gate.h"

#include "overlay/gstsamoverlay.h"

#include <math.h>
#include <string.h>

#define WIDTH 640
#define HEIGHT 360
#define GRAY 100

/* The colours of the first two slots. */
#define RED 0xff3b30
#define BLUE 0x00c7ff

static GstHarness *
new_overlay (gint width, gint height)
{
  GstElement *element;
  GstVideoInfo info;
  GstHarness *h;

  gst_sam_meta_register ();
  element = g_object_new (GST_TYPE_SAM_OVERLAY, NULL);
  gst_object_ref_sink (element);
  h = gst_harness_new_with_element (element, "sink", "src");
  gst_object_unref (element);
  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_RGBA, width, height);
  gst_harness_set_src_caps (h, gst_video_info_to_caps (&info));
  return h;
}

static GstBuffer *
new_gray (gint width, gint height)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, 4 * width * height, NULL);
  GstMapInfo map;
  gsize i;

  fail_unless (gst_buffer_map (buf, &map, GST_MAP_WRITE));
  for (i = 0; i < map.size; i++)
    map.data[i] = i % 4 < 3 ? GRAY : 255;
  gst_buffer_unmap (buf, &map);
  return buf;
}

static void
append (GstStructure * s, const gchar * field, GstStructure * entry)
{
  const GValue *old = gst_structure_get_value (s, field);
  GValue array = G_VALUE_INIT, value = G_VALUE_INIT;

  g_value_init (&array, GST_TYPE_ARRAY);
  if (old)
    g_value_copy (old, &array);
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, entry);
  gst_value_array_append_and_take_value (&array, &value);
  gst_structure_take_value (s, field, &array);
}

static GstStructure *
add_meta (GstBuffer * buf, gint width, gint height)
{
  GstStructure *s = gst_custom_meta_get_structure (gst_buffer_add_custom_meta
      (buf, "GstSamTrackMeta"));

  gst_structure_set (s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, width,
      "height", G_TYPE_INT, height, "state", G_TYPE_STRING, "ok", NULL);
  return s;
}

static void
add_object (GstStructure * s, guint64 id, guint slot, const gchar * state,
    gint x, gint y, gint w, gint h)
{
  append (s, "objects", gst_structure_new ("object",
          "id", G_TYPE_UINT64, id, "slot", G_TYPE_UINT, slot,
          "state", G_TYPE_STRING, state, "score", G_TYPE_DOUBLE, 5.0,
          "iou", G_TYPE_DOUBLE, 0.5, "x", G_TYPE_INT, x, "y", G_TYPE_INT, y,
          "w", G_TYPE_INT, w, "h", G_TYPE_INT, h,
          "area", G_TYPE_UINT, (guint) (w * h), NULL));
}

static void
add_point (GstStructure * s, guint64 id, gdouble x, gdouble y,
    gboolean positive, gboolean waiting, guint64 age)
{
  append (s, "prompts", gst_structure_new ("prompt",
          "id", G_TYPE_UINT64, id, "kind", G_TYPE_STRING, "point",
          "x", G_TYPE_DOUBLE, x, "y", G_TYPE_DOUBLE, y,
          "positive", G_TYPE_BOOLEAN, positive,
          "waiting", G_TYPE_BOOLEAN, waiting, "age", G_TYPE_UINT64, age, NULL));
}

static void
add_box (GstStructure * s, guint64 id, gdouble x, gdouble y, gdouble w,
    gdouble h, gboolean waiting, guint64 age)
{
  append (s, "prompts", gst_structure_new ("prompt",
          "id", G_TYPE_UINT64, id, "kind", G_TYPE_STRING, "box",
          "x", G_TYPE_DOUBLE, x, "y", G_TYPE_DOUBLE, y,
          "w", G_TYPE_DOUBLE, w, "h", G_TYPE_DOUBLE, h,
          "waiting", G_TYPE_BOOLEAN, waiting, "age", G_TYPE_UINT64, age, NULL));
}

/* A frame and its pixels; the harness draws on it. */
typedef struct
{
  GstHarness *h;
  GstBuffer *buf;
  GstStructure *meta;
  GstMapInfo map;
  gint width, height;
} Picture;

static void
begin (Picture * p, gint width, gint height)
{
  p->h = new_overlay (width, height);
  p->width = width;
  p->height = height;
  p->buf = new_gray (width, height);
  p->meta = add_meta (p->buf, width, height);
}

static void
finish (Picture * p)
{
  p->buf = gst_harness_push_and_pull (p->h, p->buf);
  fail_unless (gst_buffer_map (p->buf, &p->map, GST_MAP_READ));
}

static void
end (Picture * p)
{
  gst_buffer_unmap (p->buf, &p->map);
  gst_buffer_unref (p->buf);
  gst_harness_teardown (p->h);
}

static guint32
get_rgb (const Picture * p, gint x, gint y)
{
  const guint8 *at = p->map.data + 4 * (y * p->width + x);

  return at[0] << 16 | at[1] << 8 | at[2];
}

static gboolean
is_plain (const Picture * p, gint x, gint y)
{
  return get_rgb (p, x, y) == (GRAY << 16 | GRAY << 8 | GRAY);
}

static void
check_rgb (const Picture * p, gint x, gint y, guint32 rgb)
{
  fail_unless (get_rgb (p, x, y) == rgb, "(%d, %d) is %06x, not %06x", x, y,
      get_rgb (p, x, y), rgb);
}

/* Pixels that were drawn on within a rectangle. */
static guint
count_drawn (const Picture * p, gint x0, gint y0, gint w, gint h)
{
  guint n = 0;
  gint x, y;

  for (y = MAX (y0, 0); y < MIN (y0 + h, p->height); y++) {
    for (x = MAX (x0, 0); x < MIN (x0 + w, p->width); x++)
      n += !is_plain (p, x, y);
  }
  return n;
}

static guint
count_all (const Picture * p)
{
  return count_drawn (p, 0, 0, p->width, p->height);
}

/* What each kind looks like, at both sizes: its middle, its ring, its rim, and
 * that nothing else is drawn. */
GST_START_TEST (test_each_kind_of_point)
{
  const gint size = __i__ ? 3 : 1;      /* of 640 x 360 */
  const gint far = 10 * size, ring = 5 * size;
  Picture p;
  gint i;

  begin (&p, WIDTH * size, HEIGHT * size);
  add_object (p.meta, 7, 1, "tracked", 0, 0, 0, 0);
  add_point (p.meta, 7, 0.25, 0.25, TRUE, FALSE, 0);
  add_point (p.meta, 7, 0.75, 0.25, FALSE, FALSE, 0);
  add_point (p.meta, 7, 0.25, 0.75, TRUE, TRUE, 0);
  add_point (p.meta, 7, 0.75, 0.75, FALSE, TRUE, 0);
  add_point (p.meta, 8, 0.5, 0.5, TRUE, TRUE, 0);       /* not tracked yet */
  finish (&p);
  for (i = -1; i <= 1; i += 2) {
    check_rgb (&p, 160 * size + i * ring, 90 * size, 0xffffff);
    check_rgb (&p, 480 * size + i * ring, 90 * size, RED);
    check_rgb (&p, 160 * size, 270 * size + i * ring, RED);
    check_rgb (&p, 480 * size, 270 * size + i * ring, RED);
    check_rgb (&p, 320 * size, 180 * size + i * ring, 0xffffff);
    /* above and below the minus */
    check_rgb (&p, 480 * size, 90 * size + i * 2 * size, 0x000000);
    fail_unless (is_plain (&p, 480 * size, 270 * size + i * 2 * size));
  }
  check_rgb (&p, 160 * size, 90 * size, RED);
  check_rgb (&p, 480 * size, 90 * size, 0xffffff);
  fail_unless (is_plain (&p, 160 * size, 270 * size));
  check_rgb (&p, 480 * size, 270 * size, RED);
  fail_unless (is_plain (&p, 320 * size, 180 * size));
  fail_unless_equals_int (count_all (&p),
      count_drawn (&p, 160 * size - far, 90 * size - far, 2 * far, 2 * far) +
      count_drawn (&p, 480 * size - far, 90 * size - far, 2 * far, 2 * far) +
      count_drawn (&p, 160 * size - far, 270 * size - far, 2 * far, 2 * far) +
      count_drawn (&p, 480 * size - far, 270 * size - far, 2 * far, 2 * far) +
      count_drawn (&p, 320 * size - far, 180 * size - far, 2 * far, 2 * far));
  end (&p);
}

GST_END_TEST;

static guint
draw_point (gboolean waiting, guint64 age)
{
  Picture p;
  guint n;

  begin (&p, WIDTH, HEIGHT);
  add_point (p.meta, 1, 0.5, 0.5, TRUE, waiting, age);
  finish (&p);
  n = count_all (&p);
  end (&p);
  return n;
}

/* A point stays as it is for 0.7 s, shrinks, and is gone after one; not while
 * it waits. */
GST_START_TEST (test_points_go)
{
  const guint whole = draw_point (FALSE, 0);
  guint last = whole, n, ms;

  fail_unless (whole > 100 && whole < 300, "%u px", whole);
  fail_unless_equals_int (draw_point (FALSE, 700 * GST_MSECOND), whole);
  for (ms = 760; ms < 960; ms += 60) {
    n = draw_point (FALSE, ms * GST_MSECOND);
    fail_unless (n < last, "%u px at %u ms, %u before", n, ms, last);
    last = n;
  }
  fail_unless_equals_int (draw_point (FALSE, GST_SECOND), 0);
  fail_unless_equals_int (draw_point (FALSE, G_MAXUINT64), 0);
  fail_unless_equals_int (draw_point (FALSE, GST_CLOCK_TIME_NONE), 0);
  n = draw_point (TRUE, 0);
  fail_unless (n > 80);
  fail_unless_equals_int (draw_point (TRUE, G_MAXUINT64), n);
}

GST_END_TEST;

/* A thin line of the object's colour; while it waits, dashes of two. */
GST_START_TEST (test_boxes)
{
  gint x, light = 0, dark = 0;
  Picture p;

  begin (&p, WIDTH, HEIGHT);
  add_object (p.meta, 3, 2, "tracked", 0, 0, 0, 0);
  add_box (p.meta, 3, 0.25, 0.25, 0.25, 0.5, FALSE, 0);
  add_box (p.meta, 4, 0.625, 0.25, 0.25, 0.5, TRUE, 0);
  finish (&p);
  for (x = 160; x < 320; x++) {
    check_rgb (&p, x, 90, BLUE);
    check_rgb (&p, x, 269, BLUE);
    fail_unless (x == 160 || x == 319 || is_plain (&p, x, 91));
    light += get_rgb (&p, x + 240, 90) == 0xffffff;
    dark += get_rgb (&p, x + 240, 269) < 0x303030;
  }
  /* the pixels of the corners are those of the upright lines */
  fail_unless_equals_int (light, 81);
  fail_unless_equals_int (dark, 79);
  fail_unless_equals_int (count_all (&p), 2 * (2 * 160 + 2 * 180 - 4));
  end (&p);
}

GST_END_TEST;

/* Corners around one object's box, with swapped colours on its label. */
GST_START_TEST (test_the_current_object)
{
  Picture p, plain;
  guint n;

  begin (&plain, WIDTH, HEIGHT);
  add_object (plain.meta, 5, 1, "tracked", 200, 100, 100, 80);
  gst_structure_set (plain.meta, "current", G_TYPE_UINT64,
      G_GUINT64_CONSTANT (6), NULL);    /* there is none */
  finish (&plain);
  begin (&p, WIDTH, HEIGHT);
  add_object (p.meta, 5, 1, "tracked", 200, 100, 100, 80);
  gst_structure_set (p.meta, "current", G_TYPE_UINT64,
      G_GUINT64_CONSTANT (5), NULL);
  finish (&p);
  /* the ground of the label: 0.8 of red, of white */
  check_rgb (&plain, 201, 79, 0xe0433a);
  check_rgb (&p, 201, 79, 0xe0e0e0);
  n = count_all (&p) - count_all (&plain);
  fail_unless (n > 4 * 20 && n < 4 * 120, "%u px of corners", n);
  fail_unless (count_drawn (&p, 190, 175, 20, 15) > 20);
  fail_unless (count_drawn (&p, 290, 175, 20, 15) > 20);
  fail_unless_equals_int (count_drawn (&p, 230, 110, 40, 60), 0);
  fail_unless_equals_int (count_drawn (&p, 230, 175, 40, 15), 0);
  end (&p);
  end (&plain);
}

GST_END_TEST;

GST_START_TEST (test_eight_objects)
{
  Picture p;
  guint i;

  begin (&p, WIDTH, HEIGHT);
  for (i = 0; i < 8; i++) {
    add_object (p.meta, 100 + i, i + 1, "tracked", 0, 0, 0, 0);
    add_point (p.meta, 100 + i, (i + 0.5) / 8, 0.5, TRUE, FALSE, 0);
  }
  finish (&p);
  for (i = 0; i < 8; i++) {
    static const guint32 colours[] = { RED, BLUE, 0xffd60a, 0xbf5af2, 0x30d158,
      0xff9500, 0x0a5cff, 0xff2d92
    };

    check_rgb (&p, (i + 0.5) * WIDTH / 8, HEIGHT / 2, colours[i]);
  }
  end (&p);
}

GST_END_TEST;

/* At the edges, on frames of any size, in all there is room for: nothing is
 * drawn outside of the frame, which the sanitizer watches. */
GST_START_TEST (test_many_points_on_frames_of_all_sizes)
{
  static const gint sizes[][2] = { {1, 1}, {2, 2}, {17, 13}, {64, 48},
  {WIDTH, HEIGHT}, {1920, 1080}, {100, 3000}
  };
  GRand *rand = g_rand_new_with_seed (7 + __i__);
  Picture p;
  guint i;

  begin (&p, sizes[__i__][0], sizes[__i__][1]);
  for (i = 0; i < 300; i++) {
    const gdouble x = i % 3 ? g_rand_double (rand) : i % 2;
    const gdouble y = i % 4 ? g_rand_double (rand) : i % 8 > 3;

    if (i % 5)
      add_point (p.meta, i, x, y, i % 7, i % 2, 0);
    else
      add_box (p.meta, i, x, y, g_rand_double (rand), g_rand_double (rand),
          i % 2, 0);
  }
  finish (&p);
  fail_unless (count_all (&p) > 0);
  end (&p);
  g_rand_free (rand);
}

GST_END_TEST;

/* If there are too many of them, the latest are drawn. */
GST_START_TEST (test_the_latest_points_are_drawn)
{
  Picture p;
  guint i;

  begin (&p, 3840, 2160);
  for (i = 0; i < 256; i++)
    add_point (p.meta, 1, (i % 16 + 0.5) / 16, (i / 16 + 0.5) / 16, TRUE, FALSE,
        0);
  finish (&p);
  check_rgb (&p, 15.5 * 240, 15.5 * 135, 0xffffff);
  check_rgb (&p, 10.5 * 240, 15.5 * 135, 0xffffff);
  fail_unless (is_plain (&p, 120, 67));
  end (&p);
}

GST_END_TEST;

/* Metas of before, and those that lie: nothing is drawn. */
GST_START_TEST (test_hostile_metas)
{
  static const gchar *prompts[] = {
    "prompt", "prompt, kind=point", "prompt, kind=point, id=(guint64)1",
    "prompt, kind=point, id=(guint64)1, x=(double)0.5, y=(string)a",
    "prompt, kind=point, id=(string)1, x=(double)0.5, y=(double)0.5",
    "prompt, kind=7, id=(guint64)1, x=(double)0.5, y=(double)0.5",
    "prompt, kind=mask, id=(guint64)1, x=(double)0.5, y=(double)0.5",
    "prompt, kind=point, id=(guint64)1, x=(double)1e300, y=(double)0.5",
    "prompt, kind=point, id=(guint64)1, x=(double)0.5, y=(double)-0.01",
    "prompt, kind=box, id=(guint64)1, x=(double)0.5, y=(double)0.5, "
        "w=(double)-1, h=(double)1",
  };
  const gdouble odd[] = { NAN, INFINITY, -INFINITY, -1, 1e9, G_MAXDOUBLE };
  Picture p;
  guint i;

  begin (&p, WIDTH, HEIGHT);
  for (i = 0; i < G_N_ELEMENTS (prompts); i++) {
    GstStructure *s = gst_structure_from_string (prompts[i], NULL);

    fail_unless (s != NULL, "%s", prompts[i]);
    append (p.meta, "prompts", s);
  }
  for (i = 0; i < G_N_ELEMENTS (odd); i++) {
    add_point (p.meta, 1, odd[i], 0.5, TRUE, TRUE, 0);
    add_point (p.meta, 1, 0.5, odd[i], TRUE, TRUE, 0);
    add_box (p.meta, 1, odd[i], 0.5, 0.1, 0.1, TRUE, 0);
    if (!(odd[i] > 0)) {
      add_box (p.meta, 1, 0.1, 0.1, odd[i], 0.1, TRUE, 0);
      add_box (p.meta, 1, 0.1, 0.1, 0.1, odd[i], TRUE, 0);
    }
  }
  gst_structure_set (p.meta, "current", G_TYPE_STRING, "1", NULL);
  finish (&p);
  fail_unless_equals_int (count_all (&p), 0);
  end (&p);

  /* a field that is no array; a box that goes too far ends at the edge */
  begin (&p, WIDTH, HEIGHT);
  gst_structure_set (p.meta, "prompts", G_TYPE_INT, 3, NULL);
  finish (&p);
  fail_unless_equals_int (count_all (&p), 0);
  end (&p);
  begin (&p, WIDTH, HEIGHT);
  add_box (p.meta, 1, 0.5, 0.5, 1e300, INFINITY, FALSE, 0);
  finish (&p);
  fail_unless_equals_int (count_all (&p), 2 * (WIDTH / 2 + HEIGHT / 2) - 4);
  end (&p);
}

GST_END_TEST;

GST_START_TEST (test_it_can_be_switched_off)
{
  Picture p;

  begin (&p, WIDTH, HEIGHT);
  g_object_set (p.h->element, "draw-points", FALSE, NULL);
  add_point (p.meta, 1, 0.5, 0.5, TRUE, FALSE, 0);
  add_box (p.meta, 2, 0.1, 0.1, 0.5, 0.5, TRUE, 0);
  finish (&p);
  fail_unless_equals_int (count_all (&p), 0);
  end (&p);
}

GST_END_TEST;

/* @white: whether a line counts the rest of them. */
static guint
draw_lost (guint lost, const gchar * state, gboolean ids, gboolean white)
{
  guint i, n, found = 0;
  Picture p;
  gint x, y;

  begin (&p, WIDTH, HEIGHT);
  g_object_set (p.h->element, "draw-ids", ids, NULL);
  for (i = 0; i < lost; i++)
    add_object (p.meta, i + 1, i + 1, state, 0, 0, 0, 0);
  finish (&p);
  n = count_all (&p);
  /* in the lower left corner */
  fail_unless_equals_int (count_drawn (&p, 0, HEIGHT / 2, WIDTH / 4,
          HEIGHT / 2), n);
  for (y = 0; y < HEIGHT; y++) {
    for (x = 0; x < WIDTH; x++)
      found += get_rgb (&p, x, y) == 0xffffff;
  }
  fail_unless_equals_int (found > 0, white);
  end (&p);
  return n;
}

/* So many lines: letters of a font differ in width, and a pixel between two
 * colours may look like the ground. */
static gboolean
are_lines (guint pixels, guint lines, guint one)
{
  return ABS ((gint) (pixels - lines * one)) <= (gint) (lines * one / 20);
}

GST_START_TEST (test_lost_objects_are_listed)
{
  const guint one = draw_lost (1, "lost", TRUE, FALSE);

  fail_unless (one > 300, "%u px", one);
  fail_unless (are_lines (draw_lost (3, "lost", TRUE, FALSE), 3, one));
  /* six lines fit into half of the frame: the last one counts the rest */
  fail_unless (are_lines (draw_lost (6, "lost", TRUE, FALSE), 6, one));
  fail_unless (are_lines (draw_lost (8, "lost", TRUE, TRUE), 6, one));
  fail_unless (draw_lost (200, "lost", TRUE, TRUE) > 6 * one);
  fail_unless_equals_int (draw_lost (3, "occluded", TRUE, FALSE), 0);
  fail_unless_equals_int (draw_lost (3, "lost", FALSE, FALSE), 0);
}

GST_END_TEST;

static Suite *
points_suite (void)
{
  Suite *s = suite_create ("points");
  TCase *tc = sam_tcase_new (s, "drawn");

  tcase_add_loop_test (tc, test_each_kind_of_point, 0, 2);
  tcase_add_test (tc, test_points_go);
  tcase_add_test (tc, test_boxes);
  tcase_add_test (tc, test_the_current_object);
  tcase_add_test (tc, test_eight_objects);
  tcase_add_loop_test (tc, test_many_points_on_frames_of_all_sizes, 0, 7);
  tcase_add_test (tc, test_the_latest_points_are_drawn);
  tcase_add_test (tc, test_hostile_metas);
  tcase_add_test (tc, test_it_can_be_switched_off);
  tcase_add_test (tc, test_lost_objects_are_listed);
  return s;
}

GST_CHECK_MAIN (points);

/* SPDX-License-Identifier: MIT */
/* The text and the bar of time that samoverlay draws: where they are, that what
 * is drawn is what is clicked, and what is left to elements upstream. */

#include "samcheck.h"

#include <gst/video/navigation.h>
#include <math.h>
#include <string.h>

#define WIDTH 640
#define HEIGHT 360
#define DURATION (100 * GST_SECOND)
#define GROUND 100

static GstClockTime duration;

static gboolean
answer (GstPad * pad, GstObject * parent, GstQuery * query)
{
  if (GST_QUERY_TYPE (query) != GST_QUERY_DURATION ||
      !GST_CLOCK_TIME_IS_VALID (duration))
    return gst_pad_query_default (pad, parent, query);
  gst_query_set_duration (query, GST_FORMAT_TIME, duration);
  return TRUE;
}

/* Upstream of the element a stream has that duration; NONE: it does not
 * know. */
static GstHarness *
begin (const gchar * launch, GstVideoFormat format, gint width, gint height,
    GstClockTime all)
{
  GstHarness *h = sam_harness_new (launch, format, width, height);

  duration = all;
  gst_pad_set_query_function (h->srcpad, answer);
  return h;
}

/* A gray frame at that time, as it comes out. */
static GstBuffer *
show (GstHarness * h, gsize size, GstClockTime time)
{
  GstBuffer *buf = gst_buffer_new_allocate (NULL, size, NULL);

  gst_buffer_memset (buf, 0, GROUND, size);
  GST_BUFFER_PTS (buf) = time;
  return gst_harness_push_and_pull (h, buf);
}

/* The same of 640x360 in gray. */
static void
show_gray (GstHarness * h, GstClockTime time, guint8 pixels[WIDTH * HEIGHT])
{
  GstBuffer *buf = show (h, WIDTH * HEIGHT, time);

  gst_buffer_extract (buf, 0, pixels, WIDTH * HEIGHT);
  gst_buffer_unref (buf);
}

/* The rows that were drawn on. */
static void
find_rows (const guint8 * pixels, gint * top, gint * bottom)
{
  gint x, y;

  *top = HEIGHT;
  *bottom = -1;
  for (y = 0; y < HEIGHT; y++) {
    for (x = 0; x < WIDTH && pixels[y * WIDTH + x] == GROUND; x++);
    if (x < WIDTH && *bottom < 0)
      *top = y;
    *bottom = x < WIDTH ? y : *bottom;
  }
}

/* The middle of the knob: the only white in the bar's middle third beside the
 * line, four px above its middle. */
static gdouble
find_knob (const guint8 * pixels, gint * row)
{
  gint top, bottom, x, n = 0;
  gdouble sum = 0;

  find_rows (pixels, &top, &bottom);
  *row = (top + bottom + 1) / 2;
  for (x = WIDTH / 5; x < 4 * WIDTH / 5; x++) {
    const gint shade = pixels[(*row - 4) * WIDTH + x];

    if (shade > 150) {
      sum += x + 0.5;
      n++;
    }
  }
  fail_unless (n >= 3 && n <= 12, "the knob is %d px wide", n);
  return sum / n;
}

static GstEvent *
new_button (gboolean press, gint button, gdouble x, gdouble y)
{
  return gst_event_new_navigation (gst_structure_new
      ("application/x-gst-navigation", "event", G_TYPE_STRING,
          press ? "mouse-button-press" : "mouse-button-release",
          "button", G_TYPE_INT, button, "pointer_x", G_TYPE_DOUBLE, x,
          "pointer_y", G_TYPE_DOUBLE, y, NULL));
}

static GstEvent *
new_move (gdouble x, gdouble y)
{
  return gst_event_new_navigation (gst_structure_new
      ("application/x-gst-navigation", "event", G_TYPE_STRING, "mouse-move",
          "pointer_x", G_TYPE_DOUBLE, x, "pointer_y", G_TYPE_DOUBLE, y, NULL));
}

/* Whether the event went on to elements upstream. */
static gboolean
passes (GstHarness * h, GstEvent * event)
{
  GstEvent *got;
  gboolean passed = FALSE;

  while ((got = gst_harness_try_pull_upstream_event (h)))
    gst_event_unref (got);
  gst_harness_push_upstream_event (h, event);
  while ((got = gst_harness_try_pull_upstream_event (h))) {
    passed |= GST_EVENT_TYPE (got) == GST_EVENT_NAVIGATION;
    gst_event_unref (got);
  }
  return passed;
}

/* What the element has told of a click on the bar. */
static GstClockTime
take_click (GstBus * bus, const gchar * event)
{
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ELEMENT);
  const GstStructure *s;
  GstClockTime position;

  fail_unless (message != NULL, "no message of a %s", event);
  s = gst_message_get_structure (message);
  fail_unless (gst_structure_has_name (s, "samoverlay-time-bar"));
  fail_unless_equals_string (gst_structure_get_string (s, "event"), event);
  position = sam_get_uint64 (s, "position");
  gst_message_unref (message);
  return position;
}

/* At 30, 50 and 70 s of 100 the knob is where a click gives that time, to one
 * px of the track, which is more than 400 px long; nothing else of the frame
 * changes. */
GST_START_TEST (test_what_is_drawn_is_clicked)
{
  GstHarness *h = begin ("samoverlay time-bar=1", GST_VIDEO_FORMAT_GRAY8, WIDTH,
      HEIGHT, DURATION);
  GstBus *bus = sam_harness_add_bus (h);
  static guint8 pixels[WIDTH * HEIGHT];
  gint row, top, bottom, i;
  gdouble x;

  for (i = 30; i <= 70; i += 20) {
    GstClockTime told;

    show_gray (h, i * GST_SECOND, pixels);
    find_rows (pixels, &top, &bottom);
    fail_unless (top > HEIGHT * 8 / 10 && bottom < HEIGHT - 3,
        "rows %d to %d", top, bottom);
    x = find_knob (pixels, &row);
    fail_if (passes (h, new_button (TRUE, 1, x, row)));
    told = take_click (bus, "press");
    fail_unless (ABS (GST_CLOCK_DIFF (told, i * GST_SECOND)) < DURATION / 400,
        "%d s: drawn at %.1f px, where a click gives %.3f s", i, x,
        told / 1e9);
    fail_if (passes (h, new_move (0, 0)));
    fail_unless_equals_uint64 (take_click (bus, "move"), 0);
    fail_if (passes (h, new_button (FALSE, 1, 2 * WIDTH, 0)));
    fail_unless_equals_uint64 (take_click (bus, "release"), DURATION);
    fail_unless (passes (h, new_move (x, row)));
  }
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* What is not for the bar goes on: other buttons, other places, releases of
 * presses elsewhere; all of it where there is no bar or no duration. */
GST_START_TEST (test_what_goes_upstream)
{
  static const gchar *launch[] = { "samoverlay time-bar=1",
    "samoverlay time-bar=1", "samoverlay", "samoverlay text=bar"
  };
  const GstClockTime all = __i__ == 1 ? GST_CLOCK_TIME_NONE : DURATION;
  GstHarness *h = begin (launch[__i__], GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT,
      all);
  GstBus *bus = sam_harness_add_bus (h);
  static guint8 pixels[WIDTH * HEIGHT];
  const gdouble x = WIDTH / 2, y = HEIGHT - 20;

  fail_unless (passes (h, new_button (TRUE, 1, x, y)), "before a frame");
  show_gray (h, 0, pixels);
  fail_unless (passes (h, new_button (TRUE, 3, x, y)));
  fail_unless (passes (h, new_button (TRUE, 1, x, HEIGHT / 2)));
  fail_unless (passes (h, new_button (FALSE, 1, x, y)));
  fail_unless (passes (h, new_button (TRUE, 1, NAN, y)));
  fail_unless_equals_int (passes (h, new_button (TRUE, 1, x, y)), __i__ != 0);
  g_object_set (h->element, "time-bar", 0.0, NULL);
  show_gray (h, GST_SECOND, pixels);
  fail_unless (passes (h, new_button (TRUE, 1, x, y)), "after the bar");
  sam_harness_close (h, bus);
}

GST_END_TEST;

/* Half as opaque, its ground is half as dark; it is there with and without a
 * duration, and its edges are smooth. */
GST_START_TEST (test_opacity)
{
  static const gdouble opacity[] = { 1, 0.5, 0.25 };
  GstHarness *h = begin ("samoverlay", GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT,
      DURATION);
  static guint8 pixels[WIDTH * HEIGHT];
  gint row, top, bottom, dark[3], shades = 0, i;
  gboolean seen[256] = { FALSE, };

  for (i = 0; i < 3; i++) {
    g_object_set (h->element, "time-bar", opacity[i], NULL);
    show_gray (h, 50 * GST_SECOND, pixels);
    find_rows (pixels, &top, &bottom);
    row = top + 2;
    dark[i] = GROUND - pixels[row * WIDTH + WIDTH / 2];
  }
  /* of rounding in 255ths */
  fail_unless (dark[0] > 40 && ABS (dark[0] - 2 * dark[1]) <= 3 &&
      ABS (dark[0] - 4 * dark[2]) <= 5, "%d, %d, %d", dark[0], dark[1],
      dark[2]);
  for (i = 0; i < WIDTH * HEIGHT; i++) {
    shades += !seen[pixels[i]];
    seen[pixels[i]] = TRUE;
  }
  fail_unless (shades > 8, "%d shades", shades);
  duration = GST_CLOCK_TIME_NONE;
  show_gray (h, 51 * GST_SECOND, pixels);
  for (i = WIDTH / 2; i < WIDTH; i++)
    fail_unless_equals_int (pixels[(HEIGHT - 20) * WIDTH + i], GROUND);
  fail_unless (pixels[(HEIGHT - 20) * WIDTH + 15] != GROUND);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* A mark is between the knob and the end, and moves with its time. */
GST_START_TEST (test_mark)
{
  GstHarness *h = begin ("samoverlay time-bar=1", GST_VIDEO_FORMAT_GRAY8, WIDTH,
      HEIGHT, DURATION);
  static guint8 without[WIDTH * HEIGHT], with[WIDTH * HEIGHT];
  gint i, n;
  gdouble middle[2];

  show_gray (h, 30 * GST_SECOND, without);
  for (i = 0; i < 2; i++) {
    gdouble sum = 0;
    gint at;

    g_object_set (h->element, "time-mark", (50 + 20 * i) * GST_SECOND, NULL);
    show_gray (h, 30 * GST_SECOND, with);
    for (n = at = 0; at < WIDTH * HEIGHT; at++) {
      if (with[at] != without[at]) {
        sum += at % WIDTH;
        n++;
      }
    }
    fail_unless (n > 8 && n < 100, "%d px", n);
    middle[i] = sum / n;
  }
  fail_unless (middle[1] - middle[0] > WIDTH / 10 &&
      middle[1] - middle[0] < WIDTH / 5, "%.1f, %.1f", middle[0], middle[1]);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* Texts of any kind are in the upper left, on at most three quarters of the
 * frame, and an empty one is none. */
GST_START_TEST (test_texts)
{
  static const gchar *texts[] = { "one", "one\ntwo", "собака",
    "\xd7\x9b\xd7\x9c\xd7\x91", "key\tmeaning", "a\x01\xff\xfe b", NULL
  };
  GstHarness *h = begin ("samoverlay", GST_VIDEO_FORMAT_GRAY8, WIDTH, HEIGHT,
      DURATION);
  static guint8 pixels[2][WIDTH * HEIGHT];
  gchar *long_text = g_strnfill (10000, 'W');
  gint top, bottom, height = 0;
  guint i;

  for (i = 0; i <= G_N_ELEMENTS (texts); i++) {
    const gchar *text = i < G_N_ELEMENTS (texts) ? texts[i] : long_text;

    g_object_set (h->element, "text", text, NULL);
    show_gray (h, i * GST_SECOND, pixels[i % 2]);
    find_rows (pixels[i % 2], &top, &bottom);
    if (!text) {
      fail_unless_equals_int (bottom, -1);
      continue;
    }
    fail_unless (top < HEIGHT / 20 && bottom > top && bottom < HEIGHT * 0.8,
        "'%.20s': rows %d to %d", text, top, bottom);
    fail_unless (!i || memcmp (pixels[0], pixels[1], sizeof pixels[0]),
        "'%.20s' looks like the one before", text);
    fail_unless (i != 1 || bottom - top > 3 * height / 2, "%d after %d px",
        bottom - top, height);
    height = bottom - top;
  }
  g_object_set (h->element, "text", "", NULL);
  show_gray (h, 60 * GST_SECOND, pixels[0]);
  find_rows (pixels[0], &top, &bottom);
  fail_unless_equals_int (bottom, -1);
  g_free (long_text);
  gst_harness_teardown (h);
}

GST_END_TEST;

/* On frames of any format and size, with and without room. */
GST_START_TEST (test_formats_and_sizes)
{
  static const GstVideoFormat formats[] = { GST_VIDEO_FORMAT_NV12,
    GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_P010_10LE,
    GST_VIDEO_FORMAT_Y444
  };
  static const gint sizes[][2] = { {1, 1}, {2, 1}, {17, 9}, {64, 16}, {33, 200},
    {160, 96}, {1080, 1920}
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (sizes); i++) {
    const gint w = sizes[i][0], height = sizes[i][1];
    GstHarness *h = begin ("samoverlay time-bar=1 text=\"paused\"",
        formats[__i__], w, height, DURATION);
    GstVideoInfo info;
    GstBuffer *buf;
    GstMapInfo map;
    gsize k, changed = 0;

    gst_video_info_set_format (&info, formats[__i__], w, height);
    buf = show (h, GST_VIDEO_INFO_SIZE (&info), GST_SECOND);
    gst_buffer_map (buf, &map, GST_MAP_READ);
    for (k = 0; k < map.size; k++)
      changed += map.data[k] != GROUND;
    fail_unless (w < 64 || changed > map.size / 50, "%d x %d: %u bytes", w,
        height, (guint) changed);
    gst_buffer_unmap (buf, &map);
    gst_buffer_unref (buf);
    gst_harness_teardown (h);
  }
}

GST_END_TEST;

/* An answer of samtrack to a preview, on a frame of @width x @height: a box. */
static GstStructure *
new_preview (gint width, gint height, gint x, gint y, gint w, gint h)
{
  GstCaps *caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING,
      "GRAY8", "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, NULL);
  GstBuffer *buf = gst_buffer_new_allocate (NULL, width * height, NULL);
  GstStructure *s;
  GstSample *mask;
  gint row;

  gst_buffer_memset (buf, 0, 0, width * height);
  for (row = y; row < y + h; row++)
    gst_buffer_memset (buf, row * width + x, 1, w);
  mask = gst_sample_new (buf, caps, NULL, NULL);
  s = gst_structure_new ("samtrack-preview", "number", G_TYPE_UINT64,
      G_GUINT64_CONSTANT (1), "width", G_TYPE_INT, width, "height", G_TYPE_INT,
      height, "x", G_TYPE_INT, x, "y", G_TYPE_INT, y, "w", G_TYPE_INT, w,
      "h", G_TYPE_INT, h, "mask", GST_TYPE_SAMPLE, mask, NULL);
  gst_sample_unref (mask);
  gst_buffer_unref (buf);
  gst_caps_unref (caps);
  return s;
}

/* White along the edges of the box, paler inside, nothing elsewhere; also where
 * the answer is of a frame of another size. */
GST_START_TEST (test_preview)
{
  static const gint x = 160, y = 90, w = 240, h = 120;
  GstHarness *harness = begin ("samoverlay", GST_VIDEO_FORMAT_GRAY8, WIDTH,
      HEIGHT, GST_CLOCK_TIME_NONE);
  guint8 *pixels = g_malloc (WIDTH * HEIGHT);
  GstStructure *s;
  gint divide, column, row;

  for (divide = 1; divide <= 2; divide++) {
    s = new_preview (WIDTH / divide, HEIGHT / divide, x / divide, y / divide,
        w / divide, h / divide);
    g_object_set (harness->element, "preview", s, NULL);
    gst_structure_free (s);
    show_gray (harness, 0, pixels);
    for (row = 0; row < HEIGHT; row++) {
      for (column = 0; column < WIDTH; column++) {
        const gint in = MIN (MIN (column - x, x + w - 1 - column),
            MIN (row - y, y + h - 1 - row));
        const guint8 found = pixels[row * WIDTH + column];

        /* lines are 2 px wide with a contour of 2; corners are round */
        fail_unless (in > -7 || found == GROUND, "%d,%d is %u", column, row,
            found);
        fail_unless (in < 7 || (found > GROUND && found < 150), "%d,%d is %u",
            column, row, found);
      }
    }
    for (column = x + 20; column < x + w - 20; column++)
      fail_unless (MAX (pixels[(y - 1) * WIDTH + column],
              pixels[y * WIDTH + column]) > 200);
  }
  s = gst_structure_new_empty ("samtrack-preview"); /* without a mask */
  for (divide = 0; divide < 2; divide++) {
    g_object_set (harness->element, "preview", divide ? NULL : s, NULL);
    show_gray (harness, 0, pixels);
    for (column = 0; column < WIDTH * HEIGHT; column++)
      fail_unless (pixels[column] == GROUND);
  }
  gst_structure_free (s);
  g_free (pixels);
  gst_harness_teardown (harness);
}

GST_END_TEST;

static Suite *
caption_suite (void)
{
  Suite *s = suite_create ("caption");
  TCase *tc = sam_tcase_new (s, "captions");

  tcase_add_test (tc, test_what_is_drawn_is_clicked);
  tcase_add_loop_test (tc, test_what_goes_upstream, 0, 4);
  tcase_add_test (tc, test_opacity);
  tcase_add_test (tc, test_mark);
  tcase_add_test (tc, test_texts);
  tcase_add_test (tc, test_preview);
  tcase_add_loop_test (tc, test_formats_and_sizes, 0, 8);
  return s;
}

GST_CHECK_MAIN (caption);

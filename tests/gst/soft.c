/* SPDX-License-Identifier: MIT */
/* Soft masks against the logits that the scripted tracker has: 4 inside of a
 * box, -4 around it. */

#include "samcheck.h"

#include <math.h>

enum
{
  SIDE = 16,                    /* of the model's mask, px */
};

typedef struct
{
  gdouble x0, y0, x1, y1;       /* of the frame, 0 to 1 */
} Box;

static const Box boxes[] = { {0.25, 0.25, 0.75, 0.5}, {0.5, 0.375, 1, 1} };

#define BOXES "initial-prompt=\"box,normalized=true,x=0.25,y=0.25,w=0.5," \
    "h=0.25;box,normalized=true,x=0.5,y=0.375,w=0.5,h=0.625\""

static gdouble
get_logit (const Box * box, gint y, gint x)
{
  const gdouble at_x = (x + 0.5) / SIDE, at_y = (y + 0.5) / SIDE;

  return at_x > box->x0 && at_x < box->x1 && at_y > box->y0 && at_y < box->y1 ?
      4 : -4;
}

/* Bilinear, corners not aligned. */
static gdouble
stretch (const Box * box, gint y, gint x, gint width, gint height)
{
  const gdouble v = MAX ((y + 0.5) * SIDE / height - 0.5, 0);
  const gdouble h = MAX ((x + 0.5) * SIDE / width - 0.5, 0);
  const gint top = v, left = h;
  const gint bottom = MIN (top + 1, SIDE - 1), right = MIN (left + 1, SIDE - 1);

  return (1 - v + top) * ((1 - h + left) * get_logit (box, top, left) +
      (h - left) * get_logit (box, top, right)) +
      (v - top) * ((1 - h + left) * get_logit (box, bottom, left) +
      (h - left) * get_logit (box, bottom, right));
}

static void
check_planes (const GstStructure * meta)
{
  const gint width = sam_get_int (meta, "mask-width");
  const gint height = sam_get_int (meta, "mask-height");
  const GValue *value = gst_structure_get_value (meta, "probability");
  const guint8 *plane;
  GstMapInfo map;
  gint i, x, y;

  fail_unless (value != NULL, "no soft masks");
  fail_unless (gst_buffer_map (gst_value_get_buffer (value), &map,
          GST_MAP_READ));
  fail_unless_equals_int (map.size, 2 * width * height);
  for (i = 0, plane = map.data; i < 2; i++)
    for (y = 0; y < height; y++)
      for (x = 0; x < width; x++, plane++) {
        const gdouble logit = stretch (&boxes[i], y, x, width, height);

        fail_unless (fabs (*plane - 255 / (1 + exp (-logit))) <= 1,
            "object %d, %d %d of %d x %d: %d for a logit of %f", i, x, y, width,
            height, *plane, logit);
        fail_unless (fabs (logit) < 1e-5 || (*plane >= 128) == (logit > 0));
      }
  gst_buffer_unmap (gst_value_get_buffer (value), &map);
}

/* Wide, odd, of one pixel, and of the model's size; stale ones, too. */
GST_START_TEST (test_planes)
{
  static const struct
  {
    const gchar *launch;
    gint width, height;
  } run[] = {
    {"samtrack mask-type=probability " BOXES, 96, 64},
    {"samtrack mask-type=probability " BOXES, 333, 7},
    {"samtrack mask-type=probability " BOXES, 9, 61},
    {"samtrack mask-type=probability interval=5 mask-size=model " BOXES, 80,
        60},
  };
  GstHarness *h = sam_harness_new (run[__i__].launch, GST_VIDEO_FORMAT_GRAY8,
      run[__i__].width, run[__i__].height);
  GstBuffer *buf = sam_harness_run (h, 0);

  fail_unless_equals_int (sam_get_num_objects (sam_get_meta (buf)), 2);
  check_planes (sam_get_meta (buf));
  gst_buffer_unref (buf);
  if (__i__ == 3) {
    buf = sam_harness_run (h, 1);
    fail_unless_equals_string (gst_structure_get_string (sam_get_meta (buf),
            "state"), "stale");
    check_planes (sam_get_meta (buf));
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

/* They are there where they were asked for, from the next masks on. */
GST_START_TEST (test_type_changes)
{
  GstHarness *h = sam_harness_new ("samtrack " BOXES, GST_VIDEO_FORMAT_GRAY8,
      64, 48);
  guint n;

  for (n = 0; n < 6; n++) {
    GstBuffer *buf;

    gst_util_set_object_arg (G_OBJECT (h->element), "mask-type",
        n % 4 < 2 ? "labels" : "probability");
    buf = sam_harness_run (h, n);
    fail_unless_equals_int (gst_structure_has_field (sam_get_meta (buf),
            "probability"), n % 4 >= 2);
    gst_buffer_unref (buf);
  }
  gst_harness_teardown (h);
}

GST_END_TEST;

static Suite *
soft_suite (void)
{
  Suite *s = suite_create ("soft");
  TCase *tc = sam_tcase_new_tiny (s, "soft");

  tcase_add_loop_test (tc, test_planes, 0, 4);
  tcase_add_test (tc, test_type_changes);
  return s;
}

GST_CHECK_MAIN (soft);

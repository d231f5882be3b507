/* SPDX-License-Identifier: MIT */
/* What an effect covers, and the means of its cells, against loops over single
 * pixels. */

#include "samcheck.h"

#include "overlay/gstsamcells.h"
#include "overlay/gstsamcoverage.h"

#include <math.h>
#include <string.h>

#define SEED 11
#define ROUNDS 150

/* Boxes and single pixels of two labels. */
static void
draw_map (GRand * rand, guint8 * map, gint width, gint height)
{
  gint i, x, y;

  memset (map, 0, width * height);
  for (i = 0; i < 4; i++) {
    const gint x0 = g_rand_int_range (rand, 0, width);
    const gint y0 = g_rand_int_range (rand, 0, height);
    const gint w = g_rand_int_range (rand, 1, width + 1);
    const gint h = g_rand_int_range (rand, 1, height / 2 + 2);

    for (y = y0; y < MIN (y0 + h, height); y++) {
      for (x = x0; x < MIN (x0 + w, width); x++)
        map[y * width + x] = i % 2 ? 0 : 1 + i;
    }
    map[y0 * width + x0] = 1;
  }
}

/* Whether a label may be what pixel (x, y) shows: of a cell that the pixel lies
 * over, or of one that bilinear weights reach. */
static gboolean
may_show (const GstSamLabelMap * l, guint slot, gint width, gint height,
    gint x, gint y)
{
  const gdouble left = (gdouble) x * l->width / width;
  const gdouble right = (gdouble) (x + 1) * l->width / width;
  const gdouble top = (gdouble) y * l->height / height;
  const gdouble bottom = (gdouble) (y + 1) * l->height / height;
  const gdouble cx = (left + right) / 2, cy = (top + bottom) / 2;
  gint i, k;

  for (k = 0; k < l->height; k++) {
    if (!((k < bottom && k + 1 > top) || fabs (k + 0.5 - cy) < 1))
      continue;
    for (i = 0; i < l->width; i++) {
      if (((i < right && i + 1 > left) || fabs (i + 0.5 - cx) < 1) &&
          l->data[k * l->width + i] == slot)
        return TRUE;
    }
  }
  return FALSE;
}

static void
check_label (GRand * rand, GstSamCoverage * c, gint width, gint height,
    gboolean is_coarse, gint margin)
{
  GstSamLabelMap l = { NULL, width, height };
  const GstSamRect whole = { 0, 0, width, height };
  guint8 *map, *shows = g_malloc0 (width * height);
  gint x, y, i, k;

  if (is_coarse) {
    l.width = g_rand_int_range (rand, 1, width + 8);
    l.height = g_rand_int_range (rand, 1, height + 8);
  }
  l.data = map = g_malloc (l.width * l.height);
  draw_map (rand, map, l.width, l.height);
  fail_unless (gst_sam_coverage_prepare (c, width, height, l.width));
  gst_sam_coverage_begin (c);
  gst_sam_coverage_add_label (c, &l, 1, whole, margin);
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++)
      shows[y * width + x] = may_show (&l, 1, width, height, x, y);
  }
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++) {
      gboolean any = FALSE;

      for (k = MAX (y - margin, 0); k <= MIN (y + margin, height - 1); k++) {
        for (i = MAX (x - margin, 0); i <= MIN (x + margin, width - 1); i++)
          any |= shows[k * width + i];
      }
      /* more than has to be covered is no fault of a stretched map */
      if (any || !is_coarse)
        fail_unless (c->map[y * width + x] == (any ? 255 : 0),
            "%d x %d, labels %d x %d, margin %d: (%d, %d) is %d", width,
            height, l.width, l.height, margin, x, y, c->map[y * width + x]);
    }
  }
  g_free (map);
  g_free (shows);
}

GST_START_TEST (test_labels_are_covered_with_their_margin)
{
  GRand *rand = g_rand_new_with_seed (SEED + __i__);
  GstSamCoverage c = { 0, };
  gint i;

  for (i = 0; i < ROUNDS; i++)
    check_label (rand, &c, g_rand_int_range (rand, 1, 70),
        g_rand_int_range (rand, 1, 40), __i__, i % 3 ? i % 13 : 0);
  gst_sam_coverage_clear (&c);
  g_rand_free (rand);
}

GST_END_TEST;

/* No pixel is left behind by a frame, whatever its area was. */
GST_START_TEST (test_area_holds_all)
{
  GRand *rand = g_rand_new_with_seed (SEED);
  GstSamCoverage c = { 0, };
  gint i, k, x, y;

  fail_unless (gst_sam_coverage_prepare (&c, 61, 43, 61));
  for (i = 0; i < ROUNDS; i++) {
    gst_sam_coverage_begin (&c);
    for (k = 0; k < 61 * 43; k++)
      fail_unless_equals_int (c.map[k], 0);
    for (k = 0; k < 3; k++) {
      const GstSamRect r = { g_rand_int_range (rand, -30, 70),
        g_rand_int_range (rand, -30, 50), g_rand_int_range (rand, 0, 40),
        g_rand_int_range (rand, 0, 40)
      };

      gst_sam_coverage_add_rect (&c, r);
    }
    gst_sam_coverage_align (&c, 1 << i % 3, 1 << i / 3 % 3);
    for (y = 0; y < 43; y++) {
      for (x = 0; x < 61; x++) {
        const gint left = x & ~((1 << i % 3) - 1);
        const gint top = y & ~((1 << i / 3 % 3) - 1);
        const gboolean inside = x >= c.area.x && x < c.area.x + c.area.w &&
            y >= c.area.y && y < c.area.y + c.area.h;

        fail_unless (inside || !c.map[y * 61 + x]);
        /* a block is one */
        fail_unless (c.map[y * 61 + x] == c.map[top * 61 + left]);
      }
    }
  }
  gst_sam_coverage_clear (&c);
  g_rand_free (rand);
}

GST_END_TEST;

typedef struct
{
  const guint8 *data;
  gint stride;
} Plane;

static const guint8 *
get_row (gpointer data, gint y)
{
  const Plane *p = data;

  return p->data + y * p->stride;
}

static gint
get_mean (const GstSamCells * c, const Plane * p, gint column, gint line,
    gint k)
{
  gint x, y, sum = 0, n = 0;

  for (y = line * c->height; y < MIN ((line + 1) * c->height, c->rows); y++) {
    for (x = column * c->width; x < MIN ((column + 1) * c->width, c->units);
        x++) {
      sum += p->data[y * p->stride + x * c->n + k];
      n++;
    }
  }
  return (sum + n / 2) / n;
}

/* In double precision, between the centres of cells. */
static gdouble
get_smooth (const GstSamCells * c, const Plane * p, gint x, gint y, gint k)
{
  const gint columns = (c->units + c->width - 1) / c->width;
  const gint lines = (c->rows + c->height - 1) / c->height;
  /* the centre of a cell of an odd width is half a unit to the left */
  const gdouble fx = (x + 0.5 - c->width / 2) / c->width;
  const gdouble fy = (y + 0.5) / c->height - 0.5;
  const gint i = floor (fx), j = floor (fy);
  gdouble value = 0;
  gint a, b;

  for (b = 0; b < 2; b++) {
    for (a = 0; a < 2; a++)
      value += (a ? fx - i : 1 - fx + i) * (b ? fy - j : 1 - fy + j) *
          get_mean (c, p, CLAMP (i + a, 0, columns - 1), CLAMP (j + b, 0,
              lines - 1), k);
  }
  return value;
}

static void
check_cells (GRand * rand, GstSamCells * c, gint n)
{
  guint8 *data, *out, *mask;
  Plane p;
  gint begin, end, x, y, k;

  c->n = n;
  c->units = g_rand_int_range (rand, 1, 90);
  c->rows = g_rand_int_range (rand, 1, 60);
  c->width = g_rand_int_range (rand, 8, 33);
  c->height = g_rand_int_range (rand, 8, 33);
  p.stride = c->units * n;
  p.data = data = g_malloc (p.stride * c->rows);
  for (k = 0; k < p.stride * c->rows; k++)
    data[k] = g_rand_int (rand) >> (k / 7 % 5);
  out = g_malloc (p.stride);
  mask = g_malloc (c->units);
  memset (mask, 255, c->units);
  begin = g_rand_int_range (rand, 0, c->units);
  end = g_rand_int_range (rand, begin + 1, c->units + 1);
  y = g_rand_int_range (rand, 0, c->rows);
  gst_sam_cells_measure (c, begin, end, y, y + 1, get_row, &p);
  gst_sam_cells_write_flat (c, y, mask, begin, end, out);
  for (x = begin; x < end; x++) {
    for (k = 0; k < n; k++)
      fail_unless_equals_int (out[x * n + k], get_mean (c, &p, x / c->width,
              y / c->height, k));
  }
  gst_sam_cells_write_smooth (c, y, mask, begin, end, out);
  for (x = begin; x < end; x++) {
    for (k = 0; k < n; k++) {
      const gdouble want = get_smooth (c, &p, x, y, k);

      /* rounded down, after weights of 8 bits */
      fail_unless (out[x * n + k] - want < 1 && want - out[x * n + k] < 2.5,
          "%d is %f", out[x * n + k], want);
    }
  }
  g_free (data);
  g_free (out);
  g_free (mask);
}

GST_START_TEST (test_cells)
{
  static const gint units[] = { 1, 2, 3, 4 };
  GRand *rand = g_rand_new_with_seed (SEED + __i__);
  GstSamCells c = { 0, };
  gint i;

  fail_unless (gst_sam_cells_prepare (&c, 90, 60));
  for (i = 0; i < ROUNDS; i++)
    check_cells (rand, &c, units[__i__]);
  gst_sam_cells_clear (&c);
  g_rand_free (rand);
}

GST_END_TEST;

static Suite *
coverage_suite (void)
{
  Suite *s = suite_create ("coverage");
  TCase *tc = sam_tcase_new (s, "pixels");

  tcase_add_loop_test (tc, test_labels_are_covered_with_their_margin, 0, 2);
  tcase_add_test (tc, test_area_holds_all);
  tcase_add_loop_test (tc, test_cells, 0, 4);
  return s;
}

GST_CHECK_MAIN (coverage);

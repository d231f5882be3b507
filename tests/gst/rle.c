/* SPDX-License-Identifier: MIT */
/* Run lengths: the characters that pycocotools writes, random maps decoded by
 * COCO's rule, and maps that are stretched, against the definition. */

#include "record/gstsamrle.h"
#include "record/gstsamstretch.h"

#include "samcheck.h"

#include <string.h>

#define SEED 20260

typedef gboolean (*Shape) (gint x, gint y, gint w, gint h);

static gboolean
is_full (gint x, gint y, gint w, gint h)
{
  return TRUE;
}

static gboolean
is_empty (gint x, gint y, gint w, gint h)
{
  return FALSE;
}

static gboolean
is_disc (gint x, gint y, gint w, gint h)
{
  return (2 * x - w) * (2 * x - w) + (2 * y - h) * (2 * y - h) < 900;
}

static gboolean
is_odd (gint x, gint y, gint w, gint h)
{
  return (x + y) & 1;
}

static gboolean
is_corner (gint x, gint y, gint w, gint h)
{
  return x == w - 1 && y == h - 1;
}

static gchar *
encode (const guint8 * labels, gint w, gint h, guint8 label,
    GstSamRegion * region)
{
  GString *counts = g_string_new ("what was there before");
  guint8 *scratch = g_malloc (gst_sam_rle_get_scratch (h));
  GstSamRegion regions[256];

  gst_sam_rle_find (labels, w, h, regions);
  *region = regions[label];
  gst_sam_rle_write (counts, labels, w, h, label, region, scratch);
  g_free (scratch);
  return g_string_free (counts, FALSE);
}

/* counts, area and box from pycocotools 2.0.7: mask.encode, area, toBbox. */
GST_START_TEST (test_the_characters_are_those_of_pycocotools)
{
  static const struct
  {
    Shape shape;
    gint w, h;
    const gchar *counts;
    GstSamRegion region;
  } known[] = {
    {is_full, 7, 5, "0S1", {0, 0, 7, 5, 35}},
    {is_empty, 7, 5, "S1", {0, 0, 0, 0, 0}},
    {is_disc, 53, 37, "[>8j06L2M4M2N2O0O2N2O000O2O00000000000001N10001N2N101N2N"
          "3L3N4J[<", {12, 4, 30, 30, 716}},
    {is_odd, 8, 9, "1110000000000000000000000000000000000000000000000000000000"
          "00000000000000", {0, 0, 8, 9, 36}},
    {is_corner, 900, 600, "oZ_`01", {899, 599, 1, 1, 1}},
  };
  GstSamRegion region;
  guint8 *labels;
  gchar *counts;
  gint x, y;
  guint i;

  for (i = 0; i < G_N_ELEMENTS (known); i++) {
    labels = g_malloc0 (known[i].w * known[i].h);
    for (y = 0; y < known[i].h; y++) {
      for (x = 0; x < known[i].w; x++)
        labels[y * known[i].w + x] =
            known[i].shape (x, y, known[i].w, known[i].h) ? 200 : 3;
    }
    counts = encode (labels, known[i].w, known[i].h, 200, &region);
    fail_unless_equals_string (counts, known[i].counts);
    fail_unless (!memcmp (&region, &known[i].region, sizeof region),
        "shape %u: box %d,%d %d x %d, area %u", i, region.x, region.y,
        region.w, region.h, region.area);
    g_free (counts);
    g_free (labels);
  }
}

GST_END_TEST;

/* COCO's rule, backwards: the runs of @counts must fill a map of that size. */
static guint8 *
decode (const gchar * counts, gint w, gint h)
{
  guint8 *mask = g_malloc (w * h);
  GArray *runs = g_array_new (FALSE, FALSE, sizeof (gint64));
  gint64 at = 0, i;
  gint x, y;

  while (*counts) {
    gint64 run = 0;
    guint shift = 0;
    gint c;

    do {
      c = *counts++ - 48;
      fail_unless (c >= 0 && c < 64);
      run |= (gint64) (c & 31) << shift;
      shift += 5;
    } while (c & 32);
    if (c & 16)
      run |= -((gint64) 1 << shift);
    if (runs->len > 2)
      run += g_array_index (runs, gint64, runs->len - 2);
    fail_unless (run >= 0);
    fail_unless (run > 0 || !runs->len, "an empty run that is not the first");
    g_array_append_val (runs, run);
  }
  for (i = 0; i < runs->len; i++) {
    gint64 n = g_array_index (runs, gint64, i);

    fail_unless (at + n <= (gint64) w * h);
    for (; n > 0; n--, at++) {
      x = at / h;
      y = at % h;
      mask[y * w + x] = i & 1;
    }
  }
  fail_unless (at == (gint64) w * h, "the runs do not fill the map");
  g_array_unref (runs);
  return mask;
}

/* Labels in blocks, so that there are runs of all lengths. */
static guint8 *
make_map (GRand * rand, gint w, gint h)
{
  const gint block = g_rand_int_range (rand, 1, 12);
  const gint num = g_rand_int_range (rand, 1, 5);
  guint8 *labels = g_malloc (w * h);
  guint8 of_block[70][70];
  gint x, y;

  for (y = 0; y < 70; y++) {
    for (x = 0; x < 70; x++)
      of_block[y][x] = g_rand_int_range (rand, 0, num) * 63;
  }
  for (y = 0; y < h; y++) {
    for (x = 0; x < w; x++)
      labels[y * w + x] = of_block[y / block][x / block];
  }
  return labels;
}

static void
check_label (const guint8 * labels, gint w, gint h, guint8 label)
{
  GstSamRegion region;
  gchar *counts = encode (labels, w, h, label, &region);
  guint8 *mask = decode (counts, w, h), *painted = g_malloc (w * h + 9 * h);
  gint x, y, x0 = w, y0 = h, x1 = 0, y1 = 0;
  guint area = 0, wrong = 0;

  memset (painted, 7, w * h + 9 * h);
  fail_unless (gst_sam_rle_paint (counts, painted, w + 9, w, h, 1));
  for (y = 0; y < h; y++) {
    for (x = 0; x < w + 9; x++)
      wrong += painted[y * (w + 9) + x] != (x < w && mask[y * w + x] ? 1 : 7);
  }
  g_free (painted);

  for (y = 0; y < h; y++) {
    for (x = 0; x < w; x++) {
      const gboolean in = labels[y * w + x] == label;

      wrong += mask[y * w + x] != in;
      if (!in)
        continue;
      area++;
      x0 = MIN (x0, x);
      y0 = MIN (y0, y);
      x1 = MAX (x1, x + 1);
      y1 = MAX (y1, y + 1);
    }
  }
  fail_unless_equals_int (wrong, 0);
  fail_unless_equals_int (region.area, area);
  fail_unless (!area || (region.x == x0 && region.y == y0 &&
          region.w == x1 - x0 && region.h == y1 - y0));
  g_free (mask);
  g_free (counts);
}

GST_START_TEST (test_random_maps_come_back)
{
  GRand *rand = g_rand_new_with_seed (SEED);
  guint round, label;

  g_print ("seed %d\n", SEED);
  for (round = 0; round < 400; round++) {
    const gint w = g_rand_int_range (rand, 1, 70);
    const gint h = g_rand_int_range (rand, 1, 70);
    guint8 *labels = make_map (rand, w, h);

    for (label = 0; label < 256; label += 63)
      check_label (labels, w, h, label);
    g_free (labels);
  }
  g_rand_free (rand);
}

GST_END_TEST;

/* Runs that are too short, too long, negative, cut off, or no runs at all. */
GST_START_TEST (test_wrong_runs_are_refused)
{
  static const gchar *const wrong[] = { "", "3", "d0", "S11", "0T1", "0S",
    "01M", "N", "0S1 ", "\xff", "oooooooooooo0" };
  guint8 map[35];
  guint i;

  fail_unless (gst_sam_rle_paint ("0S1", map, 7, 7, 5, 1));
  for (i = 0; i < G_N_ELEMENTS (wrong); i++)
    fail_unless (!gst_sam_rle_paint (wrong[i], map, 7, 7, 5, 1),
        "'%s' is taken for a mask of 7 x 5 pixels", wrong[i]);
}

GST_END_TEST;

/* The definition: the middle of the pixel in the cells' coordinates, clipped to
 * their middles; the bilinear weight of each label there. The code rounds both
 * distances down to 256ths, so two labels that weigh almost the same may change
 * places: each weight is off by 2 / 256 at most. Labels are multiples of 63. */
static void
check_pixel (const guint8 * from, gint fw, gint fh, gint w, gint h, gint x,
    gint y, guint8 label)
{
  gdouble cx = CLAMP ((x + 0.5) * fw / w - 0.5, 0, fw - 1);
  gdouble cy = CLAMP ((y + 0.5) * fh / h - 0.5, 0, fh - 1);
  const gint left = cx, top = cy;
  gdouble weight[5] = { 0, }, most = 0;
  gint i;

  cx -= left;
  cy -= top;
  for (i = 0; i < 4; i++) {
    const gint column = MIN (left + (i & 1), fw - 1);
    const gint row = MIN (top + (i >> 1), fh - 1);

    weight[from[row * fw + column] / 63] += (i & 1 ? cx : 1 - cx) *
        (i >> 1 ? cy : 1 - cy);
  }
  for (i = 0; i < 5; i++)
    most = MAX (most, weight[i]);
  if (label % 63 == 0 && weight[label / 63] >= most - 4 / 256.)
    return;
  fail ("%d x %d to %d x %d: label %u at %d,%d has weight %f of %f", fw, fh, w,
      h, label, x, y, weight[label / 63], most);
}

GST_START_TEST (test_stretched_maps_take_the_heaviest_label)
{
  GRand *rand = g_rand_new_with_seed (SEED);
  sam_painter *painter = NULL;
  gchar *why = NULL;
  guint round;
  gint x, y;

  g_print ("seed %d\n", SEED);
  fail_unless (gst_sam_stretch_open (&painter));
  for (round = 0; round < 200; round++) {
    const gint fw = g_rand_int_range (rand, 1, 70);
    const gint fh = g_rand_int_range (rand, 1, 70);
    const gint w = round % 4 ? g_rand_int_range (rand, 1, 200) : fw;
    const gint h = round % 4 ? g_rand_int_range (rand, 1, 200) : fh;
    guint8 *from = make_map (rand, fw, fh), *to = g_malloc (w * h);
    const struct sam_labels labels = { from, fw, fh, fw, 0 };

    fail_unless (gst_sam_stretch (painter, &labels, to, w, h, &why),
        "%s", why);
    for (y = 0; y < h; y++) {
      for (x = 0; x < w; x++)
        check_pixel (from, fw, fh, w, h, x, y, to[y * w + x]);
    }
    fail_unless (w != fw || h != fh || !memcmp (from, to, w * h));
    g_free (from);
    g_free (to);
  }
  sam_painter_close (&painter);
  g_rand_free (rand);
}

GST_END_TEST;

static Suite *
rle_suite (void)
{
  Suite *suite = suite_create ("rle");
  TCase *tc = tcase_create ("rle");

  suite_add_tcase (suite, tc);
  tcase_set_timeout (tc, 120);
  tcase_add_test (tc, test_the_characters_are_those_of_pycocotools);
  tcase_add_test (tc, test_random_maps_come_back);
  tcase_add_test (tc, test_wrong_runs_are_refused);
  tcase_add_test (tc, test_stretched_maps_take_the_heaviest_label);
  return suite;
}

GST_CHECK_MAIN (rle);

/* SPDX-License-Identifier: MIT */
/* Zones without an element: the pixels that they have, and texts that are
 * refused. */

#include "zones/gstsamzonemap.h"

#include "samcheck.h"

#include <math.h>
#include <string.h>

static gdouble
random_coordinate (GRand * rand, gint size)
{
  return g_rand_double_range (rand, -0.3 * size, 1.3 * size);
}

/* Whether a point is in a polygon: edges above it are counted, where the
 * element counts those left of it. */
static gboolean
is_inside (const GstSamZone * zone, gdouble x, gdouble y)
{
  gboolean in = FALSE;
  guint i;

  for (i = 0; i < zone->num_points; i++) {
    const gdouble *a = zone->point[i];
    const gdouble *b = zone->point[(i + 1) % zone->num_points];

    if (MIN (a[0], b[0]) <= x && x < MAX (a[0], b[0]) &&
        a[1] + (x - a[0]) * (b[1] - a[1]) / (b[0] - a[0]) < y)
      in = !in;
  }
  return in;
}

/* Right for one who looks from the first point to the second: the angle to the
 * point is less than half a turn clockwise. */
static gboolean
is_right (const GstSamZone * zone, gdouble x, gdouble y)
{
  const gdouble *a = zone->point[0], *b = zone->point[1];
  gdouble turn = atan2 (y - a[1], x - a[0]) - atan2 (b[1] - a[1], b[0] - a[0]);

  turn = fmod (turn + 4 * G_PI, 2 * G_PI);
  return turn > 0 && turn < G_PI;
}

static void
add_random_zone (GstSamZoneList * list, GRand * rand, gint width, gint height)
{
  GstSamZone *zone = &list->zone[list->num];
  guint i;

  zone->is_line = list->num % 4 == 3;
  zone->name = g_strdup_printf ("%u", list->num++);
  zone->num_points = zone->is_line ? 2 : g_rand_int_range (rand, 3, 12);
  zone->point = g_malloc (zone->num_points * sizeof *zone->point);
  for (i = 0; i < zone->num_points; i++) {
    zone->point[i][0] = random_coordinate (rand, width);
    zone->point[i][1] = random_coordinate (rand, height);
  }
}

/* Random polygons, most of which cross themselves, on maps of blocks, runs and
 * noise whose rows begin and end within words. */
GST_START_TEST (test_pixels_are_those_of_brute_force)
{
  static const gint widths[] = { 1, 7, 63, 64, 65, 130 };
  const gint width = widths[__i__], height = 40;
  GRand *rand = g_rand_new_with_seed (__i__ + 1);
  GstSamZoneList *list = gst_sam_zone_list_new ();
  GstSamZoneMap *map = g_new0 (GstSamZoneMap, 1);
  guint8 *labels = g_malloc (width * height);
  guint z, label, area = 0, x2 = 0;
  gint x, y;

  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++)
      labels[y * width + x] = y < 20 ? (x / 11 + y / 7) % 5 :
          y < 30 ? 255 * (x < 60) : g_rand_int_range (rand, 0, 4);
  }
  for (z = 0; z < 16; z++)
    add_random_zone (list, rand, width, height);
  fail_unless (gst_sam_zone_map_draw (map, list, width, height, width, height));
  gst_sam_zone_map_count (map, labels);
  for (z = 0; z < list->num; z++) {
    guint found[256] = { 0, };

    for (y = 0; y < height; y++) {
      for (x = 0; x < width; x++)
        found[labels[y * width + x]] += list->zone[z].is_line ?
            is_right (&list->zone[z], x + 0.5, y + 0.5) :
            is_inside (&list->zone[z], x + 0.5, y + 0.5);
    }
    for (label = 1; label < 256; label++)
      fail_unless (map->inside[z][label] == found[label],
          "zone %u, label %u: %u pixels, expected %u", z, label,
          map->inside[z][label], found[label]);
  }
  for (y = 0; y < height; y++) {
    for (x = 0; x < width; x++) {
      area += labels[y * width + x] == 1;
      x2 += labels[y * width + x] == 1 ? 2 * x + 1 : 0;
    }
  }
  fail_unless_equals_int (map->sum[1].area, area);
  fail_unless_equals_uint64 (map->sum[1].x2, x2);
  gst_sam_zone_map_clear (map);
  g_free (map);
  g_free (labels);
  gst_sam_zone_list_free (list);
  g_rand_free (rand);
}

GST_END_TEST;

static const struct
{
  const gchar *zones, *text;
} refusals[] = {
  {"circle,name=a", "must be a zone or a line"},
  {"zone,points=0:0 9:0 9:9", "needs a name and points"},
  {"zone,name=a", "needs a name and points"},
  {"zone,name=,points=0:0 9:0 9:9", "1 to 63 bytes"},
  {"zone,name=a,points=0:0 9:0", "has 2 points, expected are 3 or more"},
  {"line,name=a,points=0:0", "has 1 point, expected are 2, which differ"},
  {"zone,name=a,points=0:0", "has 1 point, expected are 3 or more"},
  {"line,name=a,points=3:3 3:3", "expected are 2, which differ"},
  {"line,name=a,points=0:0 9:0 9:9", "has 3 points, expected are 2"},
  {"line,name=a,points=0:0 9:0,dwell=3", "not a key of it"},
  {"zone,name=a,points=nan:0 9:0 9:9", "1 to 256 points"},
  {"zone,name=a,points=inf:0 9:0 9:9", "1 to 256 points"},
  {"zone,name=a,points=1e7:0 9:0 9:9", "1 to 256 points"},
  {"zone,name=a,points=0 9:0 9:9", "1 to 256 points"},
  {"zone,name=a,points=0:0:0 9:9", "1 to 256 points"},
  {"zone,name=a,points=0:0 1:0 0.5:0.5", "normalized=true if they run"},
  {"zone,name=a,points=0:0 9:0 9:9,normalized=perhaps", "true or false"},
  {"zone,name=a,points=0:0 9:0 9:9,threshold=0", "more than 0 and at most 1"},
  {"zone,name=a,points=0:0 9:0 9:9,threshold=nan", "more than 0"},
  {"zone,name=a,points=0:0 9:0 9:9,dwell=-1", "a number of seconds"},
  {"zone,name=a,points=0:0 9:0 9:9,labels=a||b", "1 to 64 labels"},
  {"zone,name=a,name=b", "'name' is given twice"},
  {"zone,name=a,points", "expected key=value"},
  {"zone,name=\"a", "is not closed"},
  {"zone,name=a\xff,points=0:0 9:0 9:9", "in UTF-8"},
  {"line,name=a,points=0:0 9:0;zone,name=a,points=0:0 9:0 9:9",
      "its name is that of zone 1"},
};

static void
expect_bad (const gchar * zones, const gchar * text)
{
  GstSamZoneList *list = gst_sam_zone_list_new ();
  gchar *why = gst_sam_zone_list_parse (list, zones);

  fail_unless (why && strstr (why, text), "%s: '%s'", zones, why);
  fail_unless (g_str_has_prefix (why, "The zone '") && g_str_has_suffix (why,
          ".") && strlen (why) < 1000);
  fail_unless (g_utf8_validate (why, -1, NULL));
  g_free (why);
  gst_sam_zone_list_free (list);
}

GST_START_TEST (test_bad_zones_are_refused)
{
  GString *text = g_string_new ("zone,points=0:0 9:0 9:9,name=");
  guint i;

  for (i = 0; i < G_N_ELEMENTS (refusals); i++)
    expect_bad (refusals[i].zones, refusals[i].text);
  for (i = 0; i < 10000; i++)
    g_string_append (text, "\u00e4");
  expect_bad (text->str, "1 to 63 bytes");
  g_string_assign (text, "zone,name=a,points=");
  for (i = 0; i < 257; i++)
    g_string_append_printf (text, "%u:%u ", i, i % 9);
  expect_bad (text->str, "1 to 256 points");
  g_string_truncate (text, 0);
  for (i = 0; i < 65; i++)
    g_string_append_printf (text, "zone,name=%u,points=0:0 9:0 9:9;", i);
  expect_bad (text->str, "one more than 64");
  g_string_free (text, TRUE);
}

GST_END_TEST;

/* Spaces, quotes and types as prompts have them; what is not given. */
GST_START_TEST (test_texts_that_are_good)
{
  static const gchar *text = " ; zone , name = \"a, \\\"b\\\"; \u8eca\" , "
      "points = -1e6:0  9:0\t9:1e1 , labels = a| b c ,dwell=(double)2.5;;"
      "line,name=l,points=0:0.5 1:0.5,normalized=true;";
  GstSamZoneList *list = gst_sam_zone_list_new ();
  const GstSamZone *zone = list->zone;

  fail_unless (gst_sam_zone_list_parse (list, text) == NULL);
  fail_unless (gst_sam_zone_list_parse (list, "") == NULL);
  fail_unless_equals_int (list->num, 2);
  fail_unless_equals_string (zone->name, "a, \"b\"; \u8eca");
  fail_unless_equals_int (zone->num_points, 3);
  fail_unless (zone->point[0][0] == -1e6 && zone->point[2][1] == 10);
  fail_unless_equals_int (g_strv_length (zone->labels), 2);
  fail_unless_equals_string (zone->labels[1], "b c");
  fail_unless (zone->dwell == 2.5 && zone->threshold == -1);
  fail_unless (!zone->normalized && !zone->is_line);
  fail_unless (zone[1].normalized && zone[1].is_line && !zone[1].labels);
  gst_sam_zone_list_free (list);
}

GST_END_TEST;

static Suite *
zonemap_suite (void)
{
  Suite *s = suite_create ("zonemap");
  TCase *tc = sam_tcase_new (s, "zonemap");

  tcase_add_loop_test (tc, test_pixels_are_those_of_brute_force, 0, 6);
  tcase_add_test (tc, test_bad_zones_are_refused);
  tcase_add_test (tc, test_texts_that_are_good);
  return s;
}

GST_CHECK_MAIN (zonemap);

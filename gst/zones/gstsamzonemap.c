/* SPDX-License-Identifier: MIT */
/* Zones as bit maps, and the pixels of label maps in them. A label map is read
 * run by run: a run costs each zone a few words, whatever its shape is. */

#include "gstsamzonemap.h"

#include <math.h>
#include <string.h>

#define ALL (~G_GUINT64_CONSTANT (0))

static gint
get_words (gint width)
{
  return (width + 63) / 64;
}

void
gst_sam_zone_map_clear (GstSamZoneMap * map)
{
  guint i;

  for (i = 0; i < GST_SAM_MAX_ZONES; i++)
    g_free (map->zone[i].bits);
  memset (map, 0, sizeof *map);
}

/* ---- Drawing */

/* The points of a zone in pixels of the label map. */
static void
scale_points (const GstSamZoneMap * map, const GstSamZone * zone,
    gdouble (*to)[2])
{
  const gdouble sx = map->width / (zone->normalized ? 1. : map->frame_width);
  const gdouble sy = map->height / (zone->normalized ? 1. : map->frame_height);
  guint i;

  for (i = 0; i < zone->num_points; i++) {
    to[i][0] = zone->point[i][0] * sx;
    to[i][1] = zone->point[i][1] * sy;
  }
}

/* The first pixel whose centre is at @x or beyond it. */
static gint
get_first (gdouble x, gint size)
{
  return CLAMP (ceil (x - 0.5), 0, size);
}

/* Turn over all pixels of a row from @x on. */
static void
toggle_from (guint64 * row, gint x, gint width)
{
  const gint words = get_words (width);
  gint i = x / 64;

  if (x >= width)
    return;
  row[i] ^= ALL << x % 64;
  for (i++; i < words; i++)
    row[i] ^= ALL;
}

/* Bits behind the last pixel of a row are 0, so that none is counted. */
static void
trim (guint64 * row, gint width)
{
  if (width % 64)
    row[width / 64] &= ~(ALL << width % 64);
}

/* Each edge turns over what is right of it: what is turned an odd number of
 * times is inside. */
static void
draw_polygon (GstSamZoneBits * to, gdouble (*p)[2], guint num, gint width)
{
  const gint words = get_words (width);
  gint y;
  guint i, k;

  for (y = 0; y < to->rows; y++) {
    const gdouble centre = to->first_row + y + 0.5;

    for (i = 0, k = num - 1; i < num; k = i++) {
      if ((p[i][1] > centre) == (p[k][1] > centre))
        continue;
      toggle_from (to->bits + (gsize) y * words, get_first (p[i][0] +
              (centre - p[i][1]) / (p[k][1] - p[i][1]) * (p[k][0] - p[i][0]),
              width), width);
    }
    trim (to->bits + (gsize) y * words, width);
  }
}

static void
draw_line (GstSamZoneBits * to, gdouble (*p)[2], gint width)
{
  const gint words = get_words (width);
  const gdouble dx = p[1][0] - p[0][0], dy = p[1][1] - p[0][1];
  gint x, y;

  for (y = 0; y < to->rows; y++) {
    guint64 *row = to->bits + (gsize) y * words;

    for (x = 0; x < width; x++) {
      if (dx * (y + 0.5 - p[0][1]) > dy * (x + 0.5 - p[0][0]))
        row[x / 64] |= G_GUINT64_CONSTANT (1) << x % 64;
    }
  }
}

static gboolean
draw (GstSamZoneMap * map, const GstSamZone * zone, GstSamZoneBits * to)
{
  gdouble p[GST_SAM_MAX_ZONE_POINTS][2];
  gdouble top = G_MAXDOUBLE, bottom = -G_MAXDOUBLE;
  guint i;

  scale_points (map, zone, p);
  for (i = 0; i < zone->num_points; i++) {
    top = MIN (top, p[i][1]);
    bottom = MAX (bottom, p[i][1]);
  }
  to->first_row = zone->is_line ? 0 : get_first (top, map->height);
  to->rows = (zone->is_line ? map->height : get_first (bottom, map->height)) -
      to->first_row;
  if (to->rows <= 0)
    return TRUE;
  to->bits = g_try_malloc0_n ((gsize) to->rows * get_words (map->width),
      sizeof *to->bits);
  if (!to->bits)
    return FALSE;
  if (zone->is_line)
    draw_line (to, p, map->width);
  else
    draw_polygon (to, p, zone->num_points, map->width);
  return TRUE;
}

/* A zone without pixels costs nothing more. */
static void
drop_if_empty (GstSamZoneBits * zone, gint width)
{
  const gsize words = (gsize) MAX (zone->rows, 0) * get_words (width);
  gsize i;

  for (i = 0; zone->bits && i < words && !zone->bits[i]; i++);
  if (!zone->bits || i == words)
    g_clear_pointer (&zone->bits, g_free);
}

gboolean
gst_sam_zone_map_draw (GstSamZoneMap * map, const GstSamZoneList * list,
    gint width, gint height, gint frame_width, gint frame_height)
{
  guint i;

  gst_sam_zone_map_clear (map);
  map->width = width;
  map->height = height;
  map->frame_width = frame_width;
  map->frame_height = frame_height;
  for (i = 0; i < list->num; i++) {
    if (!draw (map, &list->zone[i], &map->zone[i])) {
      gst_sam_zone_map_clear (map);
      return FALSE;
    }
    drop_if_empty (&map->zone[i], width);
  }
  map->num = list->num;
  return TRUE;
}

/* ---- Counting */

static guint
count_bits (guint64 v)
{
  v -= v >> 1 & G_GUINT64_CONSTANT (0x5555555555555555);
  v = (v & G_GUINT64_CONSTANT (0x3333333333333333)) +
      (v >> 2 & G_GUINT64_CONSTANT (0x3333333333333333));
  v = (v + (v >> 4)) & G_GUINT64_CONSTANT (0x0f0f0f0f0f0f0f0f);
  return v * G_GUINT64_CONSTANT (0x0101010101010101) >> 56;
}

/* The bits of a row from @x0 to @x1, which is more. */
static guint
count_run (const guint64 * row, gint x0, gint x1)
{
  const gint first = x0 / 64, last = (x1 - 1) / 64;
  const guint64 head = ALL << x0 % 64, tail = ALL >> (63 - (x1 - 1) % 64);
  guint num;
  gint i;

  if (first == last)
    return count_bits (row[first] & head & tail);
  num = count_bits (row[first] & head) + count_bits (row[last] & tail);
  for (i = first + 1; i < last; i++)
    num += count_bits (row[i]);
  return num;
}

static void
add_run (GstSamZoneMap * map, guint8 label, gint y, gint x0, gint x1)
{
  const gint words = get_words (map->width);
  GstSamZoneSum *sum = &map->sum[label];
  guint i;

  sum->area += x1 - x0;
  sum->x2 += (guint64) (x1 - x0) * (x0 + x1);
  sum->y2 += (guint64) (x1 - x0) * (2 * y + 1);
  for (i = 0; i < map->num; i++) {
    const GstSamZoneBits *zone = &map->zone[i];
    const gint row = y - zone->first_row;

    if (zone->bits && row >= 0 && row < zone->rows)
      map->inside[i][label] += count_run (zone->bits + (gsize) row * words, x0,
          x1);
  }
}

/* Where eight pixels from @at on have one label, by the repeated @label. */
static gboolean
is_all (const guint8 * at, guint64 label)
{
  guint64 eight;

  memcpy (&eight, at, sizeof eight);
  return eight == label;
}

static void
count_row (GstSamZoneMap * map, const guint8 * row, gint y)
{
  const gint width = map->width;
  gint x = 0, x0;

  while (x < width) {
    const guint64 label = row[x] * G_GUINT64_CONSTANT (0x0101010101010101);

    x0 = x;
    while (x + 8 <= width && is_all (row + x, label))
      x += 8;
    while (x < width && row[x] == row[x0])
      x++;
    if (row[x0])
      add_run (map, row[x0], y, x0, x);
  }
}

void
gst_sam_zone_map_count (GstSamZoneMap * map, const guint8 * labels)
{
  gint y;

  memset (map->sum, 0, sizeof map->sum);
  memset (map->inside, 0, map->num * sizeof map->inside[0]);
  for (y = 0; y < map->height; y++)
    count_row (map, labels + (gsize) y * map->width, y);
}

/* SPDX-License-Identifier: MIT */
/* Label maps as run lengths, in the form of the COCO data set. */

#include "gstsamrle.h"

#include <string.h>

/* Columns that are copied out together: a row of them is a part of a cache
 * line, and they are then read one after the other. */
#define COLUMNS 16

/* Number of bytes from @at on that equal the first one. */
static gint
count_same (const guint8 * at, gint n)
{
  const guint64 eight = at[0] * G_GUINT64_CONSTANT (0x0101010101010101);
  gint i = 1;
  guint64 word;

  for (; i + 8 <= n; i += 8) {
    memcpy (&word, at + i, 8);
    if (word != eight)
      break;
  }
  while (i < n && at[i] == at[0])
    i++;
  return i;
}

/* While searching, w and h are the right and the lower edge. */
static void
include (GstSamRegion * region, gint x, gint y, gint n)
{
  if (!region->area) {
    region->x = x;
    region->y = y;
  }
  region->x = MIN (region->x, x);
  region->w = MAX (region->w, x + n);
  region->h = y + 1;
  region->area += n;
}

void
gst_sam_rle_find (const guint8 * labels, gint width, gint height,
    GstSamRegion region[256])
{
  gint x, y, n, i;

  memset (region, 0, 256 * sizeof *region);
  for (y = 0; y < height; y++, labels += width) {
    for (x = 0; x < width; x += n) {
      n = count_same (labels + x, width - x);
      include (&region[labels[x]], x, y, n);
    }
  }
  for (i = 0; i < 256; i++) {
    region[i].w -= region[i].x;
    region[i].h -= region[i].y;
  }
}

gsize
gst_sam_rle_get_scratch (gint height)
{
  return (gsize) height * COLUMNS;
}

/* A list of runs that is being written. */
typedef struct
{
  GString *counts;
  gint64 run;                   /* length of the current run */
  gint64 before[2];             /* of the last two that were written */
  guint n;                      /* number of those written */
  gboolean inside;              /* the current run is the label's */
} Runs;

/* Groups of five bits, the lowest first, as a character each: 32 says that more
 * follow, and the last group's fifth bit is the sign. From the fourth run on
 * the difference to the run before the last one is written. */
static void
end_run (Runs * r)
{
  gint64 x = r->n > 2 ? r->run - r->before[r->n % 2] : r->run;
  gboolean more;

  do {
    gchar c = x & 31;

    x >>= 5;
    more = c & 16 ? x != -1 : x != 0;
    g_string_append_c (r->counts, (more ? c | 32 : c) + 48);
  } while (more);
  r->before[r->n % 2] = r->run;
  r->n++;
  r->run = 0;
  r->inside = !r->inside;
}

static void
add_run (Runs * r, gboolean inside, gint64 n)
{
  if (inside != r->inside && n > 0)
    end_run (r);
  r->run += n;
}

/* A column's pixels, 1 where they have the label, within the region. */
static void
add_column (Runs * r, const guint8 * column, gint height,
    const GstSamRegion * region)
{
  gint y, n;

  add_run (r, FALSE, region->y);
  for (y = 0; y < region->h; y += n) {
    n = count_same (column + y, region->h - y);
    add_run (r, column[y], n);
  }
  add_run (r, FALSE, height - region->y - region->h);
}

/* Copy up to COLUMNS columns of the region; each one's pixels lie together. */
static void
copy_columns (const guint8 * labels, gint width, guint8 label, gint x,
    gint columns, const GstSamRegion * region, guint8 * to)
{
  const guint8 *from = labels + (gsize) region->y * width + x;
  gint y, i;

  for (y = 0; y < region->h; y++, from += width) {
    for (i = 0; i < columns; i++)
      to[(gsize) i * region->h + y] = from[i] == label;
  }
}

void
gst_sam_rle_write (GString * counts, const guint8 * labels, gint width,
    gint height, guint8 label, const GstSamRegion * region, guint8 * scratch)
{
  Runs r = {.counts = counts };
  const gint end = region->x + region->w;
  gint x, i;

  g_string_truncate (counts, 0);
  add_run (&r, FALSE, (gint64) region->x * height);
  for (x = region->x; x < end; x += COLUMNS) {
    const gint columns = MIN (COLUMNS, end - x);

    copy_columns (labels, width, label, x, columns, region, scratch);
    for (i = 0; i < columns; i++)
      add_column (&r, scratch + (gsize) i * region->h, height, region);
  }
  add_run (&r, FALSE, (gint64) (width - end) * height);
  end_run (&r);
}

/* A group of characters; FALSE if there is none. */
static gboolean
read_number (const gchar ** counts, gint64 * value)
{
  guint shift = 0;
  gint c;

  *value = 0;
  do {
    c = **counts - 48;
    if (!**counts || c < 0 || c > 63 || shift > 35)
      return FALSE;
    (*counts)++;
    *value |= (gint64) (c & 31) << shift;
    shift += 5;
  } while (c & 32);
  if (c & 16)
    *value -= (gint64) 1 << shift;
  return TRUE;
}

gboolean
gst_sam_rle_paint (const gchar * counts, guint8 * labels, gsize stride,
    gint width, gint height, guint8 label)
{
  const gint64 all = (gint64) width * height;
  gint64 before[2] = { 0 }, at = 0, run, i;
  guint n;

  for (n = 0; *counts; n++) {
    if (!read_number (&counts, &run))
      return FALSE;
    run += n > 2 ? before[n % 2] : 0;
    if (run < 0 || run > all - at)
      return FALSE;
    for (i = at; n % 2 && i < at + run; i++)
      labels[(i % height) * stride + i / height] = label;
    before[n % 2] = run;
    at += run;
  }
  return at == all;
}

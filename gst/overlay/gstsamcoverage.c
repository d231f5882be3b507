/* SPDX-License-Identifier: MIT */
/* Where an effect is: label maps are stretched over the frame and grown. Rows
 * are worked on as a whole, in loops that compilers turn into vectors. */

#include "gstsamcoverage.h"

#include <string.h>

/* Room before and behind a scratch row. */
#define ROOM 64

gboolean
gst_sam_coverage_prepare (GstSamCoverage * self, gint width, gint height,
    gint labels_width)
{
  const gsize bytes = (gsize) width * height;
  const gsize row = 3 * (gsize) MAX (width, labels_width) + 2 * ROOM;
  gint i;

  if (self->map && self->width == width && self->height == height &&
      row <= self->row_bytes)
    return TRUE;
  gst_sam_coverage_clear (self);
  self->map = g_try_malloc0 (bytes);
  self->mask = g_try_malloc (bytes);
  self->grown = g_try_malloc (bytes);
  for (i = 0; i < 4; i++)
    self->row[i] = g_try_malloc (row);
  if (!self->map || !self->mask || !self->grown || !self->row[0] ||
      !self->row[1] || !self->row[2] || !self->row[3]) {
    gst_sam_coverage_clear (self);
    return FALSE;
  }
  self->width = width;
  self->height = height;
  self->row_bytes = row;
  return TRUE;
}

void
gst_sam_coverage_clear (GstSamCoverage * self)
{
  gint i;

  g_free (self->map);
  g_free (self->mask);
  g_free (self->grown);
  for (i = 0; i < 4; i++)
    g_free (self->row[i]);
  memset (self, 0, sizeof *self);
}

static guint8 *
get_row (const GstSamCoverage * self, guint8 * plane, gint y)
{
  return plane + (gsize) y * self->width;
}

void
gst_sam_coverage_begin (GstSamCoverage * self)
{
  const GstSamRect *a = &self->area;
  gint y;

  for (y = a->y; y < a->y + a->h; y++)
    memset (get_row (self, self->map, y) + a->x, 0, a->w);
  memset (&self->area, 0, sizeof self->area);
}

/* In 64 bits: a margin may be of any size. */
static GstSamRect
clip (const GstSamCoverage * self, GstSamRect rect, gint64 margin_x,
    gint64 margin_y)
{
  const gint64 x0 = CLAMP (rect.x - margin_x, 0, self->width);
  const gint64 y0 = CLAMP (rect.y - margin_y, 0, self->height);
  const gint64 x1 = CLAMP ((gint64) rect.x + rect.w + margin_x, x0,
      self->width);
  const gint64 y1 = CLAMP ((gint64) rect.y + rect.h + margin_y, y0,
      self->height);
  GstSamRect out = { x0, y0, x1 - x0, y1 - y0 };

  if (!out.w || !out.h)
    memset (&out, 0, sizeof out);
  return out;
}

static void
include (GstSamCoverage * self, GstSamRect r)
{
  if (r.w)
    gst_sam_rect_include (&self->area, r);
}

void
gst_sam_coverage_add_rect (GstSamCoverage * self, GstSamRect rect)
{
  const GstSamRect r = clip (self, rect, 0, 0);
  gint y;

  include (self, r);
  for (y = r.y; y < r.y + r.h; y++)
    memset (get_row (self, self->map, y) + r.x, 255, r.w);
}

/* to[i] = 255 where label[i] is @slot, else 0; with @add it stays 255. */
static void
compare (guint8 * to, const guint8 * label, gint n, guint8 slot, gboolean add)
{
  gint i;

  if (add) {
    for (i = 0; i < n; i++)
      to[i] |= label[i] == slot ? 255 : 0;
  } else {
    for (i = 0; i < n; i++)
      to[i] = label[i] == slot ? 255 : 0;
  }
}

/* The cells that pixel @i of @n may take its label from: those that it lies
 * over, and those whose centres are the nearest on either side of its own. */
static void
find_cells (gint i, gint n, gint cells, gint * first, gint * last)
{
  const gint64 twice = (2 * (gint64) i + 1) * cells - n;        /* of 2 n */
  const gint near = twice < 0 ? 0 : twice / (2 * n);
  const gint over = (gint64) i * cells / n;
  const gint end = ((gint64) (i + 1) * cells + n - 1) / n - 1;

  *first = MIN (near, over);
  *last = MIN (MAX (near + 1, end), cells - 1);
}

/* Row @y of the label's pixels in @r, 0 or 255, to @to, which begins at r.x. */
static void
stretch_row (GstSamCoverage * self, const GstSamLabelMap * l, guint slot,
    GstSamRect r, gint y, guint8 * to)
{
  guint8 *cells = self->row[0] + ROOM;
  gint first, last, left, right, x, i;

  if (l->width == self->width && l->height == self->height) {
    compare (to, l->data + (gsize) y * l->width + r.x, r.w, slot, FALSE);
    return;
  }
  find_cells (y, self->height, l->height, &first, &last);
  for (i = first; i <= last; i++)
    compare (cells, l->data + (gsize) i * l->width, l->width, slot, i > first);
  for (x = 0; x < r.w; x++) {
    guint8 any = 0;

    find_cells (r.x + x, self->width, l->width, &left, &right);
    for (i = left; i <= right; i++)
      any |= cells[i];
    to[x] = any;
  }
}

/* to[i] |= from[i] */
static void
merge (guint8 * to, const guint8 * from, gint n)
{
  gint i;

  for (i = 0; i < n; i++)
    to[i] |= from[i];
}

/* Each of @n bytes becomes the largest of the 2 * @margin + 1 around it: the
 * reach doubles with every pass. Values are 0 or 255. */
static void
grow_row (GstSamCoverage * self, guint8 * data, gint n, gint margin)
{
  const gint reach = MIN (margin, n), all = n + 2 * reach;
  guint8 *a = self->row[1], *b = self->row[2];
  gint have = 1, i;

  if (reach < 1)
    return;
  memset (a, 0, reach);
  memcpy (a + reach, data, n);
  memset (a + reach + n, 0, reach);
  while (have < 2 * reach + 1) {
    const gint step = MIN (have, 2 * reach + 1 - have);
    guint8 *swap = a;

    for (i = 0; i < all - step; i++)
      b[i] = a[i] | a[i + step];
    memcpy (b + all - step, a + all - step, step);
    a = b;
    b = swap;
    have += step;
  }
  memcpy (data, a, n);
}

/* The same for the columns of plane `mask`, whole rows at once. */
static void
grow_columns (GstSamCoverage * self, GstSamRect r, gint margin)
{
  const gint reach = MIN (margin, r.h);
  guint8 *from = self->mask, *to = self->grown, *swap;
  gint have = 1, y;

  /* first those below, then those above */
  while (have < reach + 1) {
    const gint step = MIN (have, reach + 1 - have);

    for (y = r.y; y < r.y + r.h; y++) {
      memcpy (get_row (self, to, y) + r.x, get_row (self, from, y) + r.x, r.w);
      if (y + step < r.y + r.h)
        merge (get_row (self, to, y) + r.x,
            get_row (self, from, y + step) + r.x, r.w);
    }
    swap = from;
    from = to;
    to = swap;
    have += step;
  }
  for (have = 1; have < reach + 1;) {
    const gint step = MIN (have, reach + 1 - have);

    for (y = r.y; y < r.y + r.h; y++) {
      memcpy (get_row (self, to, y) + r.x, get_row (self, from, y) + r.x, r.w);
      if (y - step >= r.y)
        merge (get_row (self, to, y) + r.x,
            get_row (self, from, y - step) + r.x, r.w);
    }
    swap = from;
    from = to;
    to = swap;
    have += step;
  }
  if (from != self->mask) {
    self->grown = self->mask;
    self->mask = from;
  }
}

/* A cell of the map, in px of the frame, and one more. */
static gint
get_cell (gint frame, gint cells)
{
  return frame / cells + 2;
}

void
gst_sam_coverage_add_label (GstSamCoverage * self, const GstSamLabelMap * l,
    guint slot, GstSamRect box, gint margin)
{
  const gint reach = CLAMP (margin, 0, MAX (self->width, self->height));
  const GstSamRect r = clip (self, box,
      (gint64) reach + get_cell (self->width, l->width),
      (gint64) reach + get_cell (self->height, l->height));
  gint y;

  include (self, r);
  if (!reach) {
    for (y = r.y; y < r.y + r.h; y++) {
      guint8 *row = get_row (self, self->mask, y) + r.x;

      stretch_row (self, l, slot, r, y, row);
      merge (get_row (self, self->map, y) + r.x, row, r.w);
    }
    return;
  }
  for (y = r.y; y < r.y + r.h; y++) {
    guint8 *row = get_row (self, self->mask, y) + r.x;

    stretch_row (self, l, slot, r, y, row);
    grow_row (self, row, r.w, reach);
  }
  grow_columns (self, r, reach);
  for (y = r.y; y < r.y + r.h; y++)
    merge (get_row (self, self->map, y) + r.x,
        get_row (self, self->mask, y) + r.x, r.w);
}

/* Between the two cells whose centres are next to pixel @i: returns the first,
 * and sets the weight of the second, of 256. */
static gint
find_weight (gint i, gint n, gint cells, gint * weight)
{
  const gint64 twice = (2 * (gint64) i + 1) * cells - n;        /* of 2 n */
  const gint64 at = MAX (twice, 0) * 128 / n;

  if (at / 256 >= cells - 1) {
    *weight = 0;
    return cells - 1;
  }
  *weight = at % 256;
  return at / 256;
}

static void
mix_rows (guint8 * to, const guint8 * a, const guint8 * b, gint n, guint weight)
{
  const guint rest = 256 - weight;
  gint i;

  for (i = 0; i < n; i++)
    to[i] = (a[i] * rest + b[i] * weight) >> 8;
}

/* A row of a coarse map: bilinear, and steeper by as much as it is stretched,
 * so that edges are as sharp as the frame's pixels. */
static void
interpolate_row (GstSamCoverage * self, const GstSamLabelMap * l, guint slot,
    GstSamRect r, gint y, guint8 * to)
{
  const gint steep = CLAMP (self->width / l->width, 1, 16);
  guint8 *a = self->row[0] + ROOM, *b = self->row[1] + ROOM;
  gint weight, i, x;

  i = find_weight (y, self->height, l->height, &weight);
  compare (a, l->data + (gsize) i * l->width, l->width, slot, FALSE);
  compare (b, l->data + (gsize) MIN (i + 1, l->height - 1) * l->width,
      l->width, slot, FALSE);
  mix_rows (a, a, b, l->width, weight);
  a[l->width] = 0;
  for (x = 0; x < r.w; x++) {
    gint value;

    i = find_weight (r.x + x, self->width, l->width, &weight);
    value = (a[i] * (256 - weight) + a[i + 1] * weight) >> 8;
    to[x] = CLAMP ((value - 128) * steep + 128, 0, 255);
  }
}

/* The mean of three pixels of three rows. */
static void
soften_row (GstSamCoverage * self, GstSamRect r, gint y, guint8 * to)
{
  const guint8 *rows[3] = {
    get_row (self, self->mask, MAX (y - 1, r.y)) + r.x,
    get_row (self, self->mask, y) + r.x,
    get_row (self, self->mask, MIN (y + 1, r.y + r.h - 1)) + r.x
  };
  guint8 *sum = self->row[1] + ROOM;
  gint x;

  for (x = 0; x < r.w; x++)
    sum[x] = (rows[0][x] & 1) + (rows[1][x] & 1) + (rows[2][x] & 1);
  sum[-1] = sum[0];
  sum[r.w] = sum[r.w - 1];
  for (x = 0; x < r.w; x++)
    to[x] = ((guint16) (sum[x - 1] + sum[x] + sum[x + 1]) * 255) / 9;
}

static void
keep_larger (guint8 * to, const guint8 * from, gint n)
{
  gint i;

  for (i = 0; i < n; i++)
    to[i] = MAX (to[i], from[i]);
}

void
gst_sam_coverage_add_soft (GstSamCoverage * self, const GstSamLabelMap * l,
    guint slot, GstSamRect box)
{
  const gboolean is_whole = l->width == self->width &&
      l->height == self->height;
  const GstSamRect r = clip (self, box, get_cell (self->width, l->width),
      get_cell (self->height, l->height));
  guint8 *soft = self->row[3] + ROOM;
  gint y;

  include (self, r);
  for (y = r.y; y < r.y + r.h && is_whole; y++)
    stretch_row (self, l, slot, r, y, get_row (self, self->mask, y) + r.x);
  for (y = r.y; y < r.y + r.h; y++) {
    if (is_whole)
      soften_row (self, r, y, soft);
    else
      interpolate_row (self, l, slot, r, y, soft);
    keep_larger (get_row (self, self->map, y) + r.x, soft, r.w);
  }
}

void
gst_sam_coverage_invert (GstSamCoverage * self)
{
  const gsize bytes = (gsize) self->width * self->height;
  gsize i;

  for (i = 0; i < bytes; i++)
    self->map[i] = 255 - self->map[i];
  self->area.x = self->area.y = 0;
  self->area.w = self->width;
  self->area.h = self->height;
}

/* Blocks of one row: the largest of @columns bytes. */
static void
align_row (guint8 * row, gint first, gint end, gint width, gint columns)
{
  gint x, i;

  if (columns == 2) {
    for (x = first; x + 1 < MIN (end, width); x += 2)
      row[x] = row[x + 1] = row[x] | row[x + 1];
    return;
  }
  for (x = first; x < end; x += columns) {
    const gint n = MIN (columns, width - x);
    guint8 any = 0;

    for (i = 0; i < n; i++)
      any |= row[x + i];
    memset (row + x, any, n);
  }
}

void
gst_sam_coverage_align (GstSamCoverage * self, gint columns, gint rows)
{
  GstSamRect *a = &self->area;
  const gint right = a->x + a->w, bottom = a->y + a->h;
  gint x, y, i, end;

  if (!a->w || (columns == 1 && rows == 1))
    return;
  x = a->x & ~(columns - 1);
  y = a->y & ~(rows - 1);
  a->w = MIN ((right + columns - 1) & ~(columns - 1), self->width) - x;
  a->h = MIN ((bottom + rows - 1) & ~(rows - 1), self->height) - y;
  a->x = x;
  a->y = y;
  for (; y < a->y + a->h; y += rows) {
    guint8 *row = get_row (self, self->map, y);

    end = MIN (y + rows, self->height);
    for (i = y + 1; i < end; i++)
      merge (row + x, get_row (self, self->map, i) + x, a->w);
    if (columns > 1)
      align_row (row, x, x + a->w, self->width, columns);
    for (i = y + 1; i < end; i++)
      memcpy (get_row (self, self->map, i) + x, row + x, a->w);
  }
}

/* SPDX-License-Identifier: MIT */
/* Means of cells. Columns are summed first, over whole rows of bytes, so that
 * vectors do nearly all of the work whatever a unit is made of. */

#include "gstsamcells.h"

#include <string.h>

gboolean
gst_sam_cells_prepare (GstSamCells * self, gint width, gint height)
{
  /* subsampled planes have as many cells */
  const gsize columns = width / GST_SAM_MIN_CELL + 3;
  const gsize lines = height / GST_SAM_MIN_CELL + 3;

  gst_sam_cells_clear (self);
  self->mean = g_try_malloc (columns * lines * GST_SAM_MAX_UNIT);
  self->line = g_try_new (guint16, columns * GST_SAM_MAX_UNIT);
  self->sum = g_try_new (guint16, ((gsize) width + 3) * GST_SAM_MAX_UNIT);
  if (self->mean && self->line && self->sum)
    return TRUE;
  gst_sam_cells_clear (self);
  return FALSE;
}

void
gst_sam_cells_clear (GstSamCells * self)
{
  g_clear_pointer (&self->mean, g_free);
  g_clear_pointer (&self->line, g_free);
  g_clear_pointer (&self->sum, g_free);
}

static void
add_row (guint16 * sum, const guint8 * row, gint bytes)
{
  gint i;

  for (i = 0; i < bytes; i++)
    sum[i] += row[i];
}

/* A line of cells from the sums of their columns. */
static void
take_means (GstSamCells * self, gint line, gint rows)
{
  guint8 *mean = self->mean + (gsize) line * self->columns * self->n;
  gint c, k, i;

  for (c = 0; c < self->columns; c++) {
    const gint first = c * self->width;
    const gint units = MIN (self->width,
        self->units - (self->x + c) * self->width);

    for (k = 0; k < self->n; k++) {
      const guint16 *sum = self->sum + first * self->n + k;
      guint32 all = 0;

      for (i = 0; i < units; i++)
        all += sum[i * self->n];
      *mean++ = (all + units * rows / 2) / (units * rows);
    }
  }
}

void
gst_sam_cells_measure (GstSamCells * self, gint first_unit, gint end_unit,
    gint first_row, gint end_row, GstSamRowFunc * get_row, gpointer data)
{
  const gint all_columns = (self->units + self->width - 1) / self->width;
  const gint all_lines = (self->rows + self->height - 1) / self->height;
  gint line, y, first, bytes;

  self->x = MAX (first_unit / self->width - 1, 0);
  self->y = MAX (first_row / self->height - 1, 0);
  self->columns = MIN ((end_unit - 1) / self->width + 2, all_columns) - self->x;
  self->lines = MIN ((end_row - 1) / self->height + 2, all_lines) - self->y;
  first = self->x * self->width * self->n;
  bytes = MIN ((self->x + self->columns) * self->width, self->units) *
      self->n - first;
  for (line = 0; line < self->lines; line++) {
    const gint top = (self->y + line) * self->height;
    const gint rows = MIN (self->height, self->rows - top);

    memset (self->sum, 0, bytes * sizeof *self->sum);
    for (y = top; y < top + rows; y++)
      add_row (self->sum, get_row (data, y) + first, bytes);
    take_means (self, line, rows);
  }
}

void
gst_sam_cells_write_flat (const GstSamCells * self, gint y,
    const guint8 * mask, gint first, gint end, guint8 * out)
{
  const guint8 *mean = self->mean + (gsize) (y / self->height - self->y) *
      self->columns * self->n;
  const gint n = self->n;
  gint a, b, i;

  for (a = first; a < end; a = b) {
    const gint column = a / self->width;
    const guint8 *m = mean + (column - self->x) * n;

    b = MIN ((column + 1) * self->width, end);
    if (!gst_sam_cells_is_any (mask + a, b - a))
      continue;
    if (n == 1)
      memset (out + a, *m, b - a);
    for (i = a; i < b && n > 1; i++)
      memcpy (out + i * n, m, n);
  }
}

/* Between two lines of cells: 8 bits and 8 of a fraction. */
static void
mix_lines (const GstSamCells * self, gint y)
{
  const gint twice = 2 * y + 1 - self->height;  /* of 2 * height */
  const gint above = twice < 0 ? -1 : twice / (2 * self->height);
  const guint weight = (twice - above * 2 * self->height) * 128 / self->height;
  const gint bytes = self->columns * self->n;
  const guint8 *a = self->mean + (gsize) CLAMP (above - self->y, 0,
      self->lines - 1) * bytes;
  const guint8 *b = self->mean + (gsize) CLAMP (above + 1 - self->y, 0,
      self->lines - 1) * bytes;
  gint i;

  for (i = 0; i < bytes; i++)
    self->line[i] = a[i] * (256 - weight) + b[i] * weight;
}

/* From the colour @left at unit 0 to @right at unit @width: units @first to
 * @end - 1, one byte of each. Values have 16 bits of a fraction. */
static void
write_ramp (guint8 * out, gint n, gint first, gint end, gint left, gint right,
    gint width)
{
  const gint step = ((right - left) * 256) / width;
  const gint base = left * 256 + step / 2;
  gint i;

  if (n == 1) {
    for (i = first; i < end; i++)
      out[i] = (base + i * step) >> 16;
    return;
  }
  for (i = first; i < end; i++)
    out[i * n] = (base + i * step) >> 16;
}

void
gst_sam_cells_write_smooth (const GstSamCells * self, gint y,
    const guint8 * mask, gint first, gint end, guint8 * out)
{
  const gint half = self->width / 2, n = self->n;
  gint a, b, k;

  mix_lines (self, y);
  for (a = first; a < end; a = b) {
    /* the cell whose centre is before @a */
    const gint column = a < half ? -1 : (a - half) / self->width;
    const gint start = column * self->width + half;
    const gint left = CLAMP (column - self->x, 0, self->columns - 1);
    const gint right = CLAMP (column + 1 - self->x, 0, self->columns - 1);

    b = MIN (start + self->width, end);
    if (!gst_sam_cells_is_any (mask + a, b - a))
      continue;
    for (k = 0; k < n; k++)
      write_ramp (out + start * n + k, n, a - start, b - start,
          self->line[left * n + k], self->line[right * n + k], self->width);
  }
}

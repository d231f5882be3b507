/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CELLS_H__
#define __GST_SAM_CELLS_H__

#include <glib.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_MIN_CELL = 8,         /* px of the frame */
  GST_SAM_MAX_CELL = 256,
  GST_SAM_MAX_UNIT = 8,         /* bytes */
};

/* A row of a plane. */
typedef const guint8 *GstSamRowFunc (gpointer data, gint y);

/**
 * GstSamCells:
 *
 * The means of a plane's cells, which lie side by side from its upper left on.
 * A row is a sequence of units of @n bytes; each byte of a unit is averaged by
 * itself.
 */
typedef struct
{
  gint n, units, rows;          /* of the plane */
  gint width, height;           /* of a cell, in units and rows */

  gint x, y, columns, lines;    /* the cells that were measured */
  guint8 *mean;                 /* lines * columns * n */
  guint16 *sum, *line;          /* scratch rows */
} GstSamCells;

/* Allocate what planes of frames of @width x @height px need, whatever the size
 * of their cells is. Returns FALSE if memory runs out. */
gboolean gst_sam_cells_prepare (GstSamCells * self, gint width, gint height);
void gst_sam_cells_clear (GstSamCells * self);

/* Measure the cells that these units and rows lie in, and those around them.
 * Extents of the plane and its cells must be set. */
void gst_sam_cells_measure (GstSamCells * self, gint first_unit, gint end_unit,
    gint first_row, gint end_row, GstSamRowFunc * get_row, gpointer data);

/* Write units @first to @end - 1 of row @y to @out, where its unit 0 is, as far
 * as @mask, a byte per unit, is not 0 near them: each cell in one colour, or
 * colours that go over into each other between the centres of cells. */
void gst_sam_cells_write_flat (const GstSamCells * self, gint y,
    const guint8 * mask, gint first, gint end, guint8 * out);
void gst_sam_cells_write_smooth (const GstSamCells * self, gint y,
    const guint8 * mask, gint first, gint end, guint8 * out);

/* Whether any of @n bytes of a mask is not 0. */
static inline gboolean
gst_sam_cells_is_any (const guint8 * mask, gint n)
{
  guint8 any = 0;
  gint i;

  for (i = 0; i < n; i++)
    any |= mask[i];
  return any != 0;
}

G_END_DECLS

#endif /* __GST_SAM_CELLS_H__ */

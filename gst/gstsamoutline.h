#ifndef __GST_SAM_OUTLINE_H__
#define __GST_SAM_OUTLINE_H__

#include "gstsammeta.h"

G_BEGIN_DECLS

/* Pixels that a map has around the layer on each side. */
#define GST_SAM_OUTLINE_PAD 2

/**
 * GstSamOutline:
 *
 * Labels of a layer and where lines run: maps of a byte per pixel, with a row
 * every @pitch bytes and %GST_SAM_OUTLINE_PAD pixels around.
 */
typedef struct
{
  gsize bytes;                  /* of a map */
  guint8 *labels;
  guint8 *near;                 /* 1: another label is within a line's width */
  guint8 *soft;                 /* not 0: the colours of labels may be mixed */

  gint width, height, pitch;    /* of the layer */
} GstSamOutline;

/* Allocates maps for layers of up to @width x @height pixels. Returns FALSE if
 * memory runs out. */
gboolean gst_sam_outline_prepare (GstSamOutline * outline, gint width,
    gint height);
void gst_sam_outline_clear (GstSamOutline * outline);

/* Begin a layer, no larger than prepared. Its labels must be written next. */
void gst_sam_outline_begin (GstSamOutline * outline, gint width, gint height);

/* The first label of a row. */
static inline guint8 *
gst_sam_outline_get_row (const GstSamOutline * outline, gint y)
{
  return outline->labels + (gsize) (y + GST_SAM_OUTLINE_PAD) * outline->pitch +
      GST_SAM_OUTLINE_PAD;
}

/* How many of the @n bytes at @at are as the first. */
gint gst_sam_outline_count_same (const guint8 * at, gint n);

/* Find where lines of overlay->line_width, which is not 0, run. Labels of which
 * the overlay paints nothing become 0. */
void gst_sam_outline_find (GstSamOutline * outline,
    const struct sam_overlay *overlay);

/* Colours of a row, by the rule of struct sam_paint; label 0 is bare. @yuv: the
 * most significant byte comes first in memory. */
void gst_sam_outline_colour (const GstSamOutline * outline,
    const struct sam_overlay *overlay, gboolean yuv, gint y, guint32 * out);

G_END_DECLS

#endif /* __GST_SAM_OUTLINE_H__ */

#ifndef __GST_SAM_DRAWING_H__
#define __GST_SAM_DRAWING_H__

#include "gstsammeta.h"

G_BEGIN_DECLS

typedef struct
{
  gdouble opacity;              /* of the filled masks, 0 .. 1 */
  guint line_width;             /* px of the frame */
  gboolean masks, outlines, boxes, ids, scores;
  gboolean dim_stale;           /* stale masks at half opacity */
} GstSamPaintStyle;

/**
 * GstSamDrawing:
 *
 * What to paint over a frame, for GstSamPainter. Colours are in
 * the frame's matrix and range.
 */
typedef struct
{
  struct sam_overlay overlay;   /* without labels.data */
  gboolean yuv;                 /* the frame has Y'CbCr or gray pixels */
  gboolean has_labels;          /* the label map is drawn */

  /* used by gst_sam_drawing_make() */
  const GstSamPaintStyle *style;
  const GstSamReport *report;
  guint tracker;                /* number of metas drawn before this one */
  gint width, height;           /* of the frame */
  gint scale;                   /* of the font */
  gdouble strength;             /* 1, less where the masks are stale */
  gdouble kr, kb;
  gint offset[GST_VIDEO_MAX_COMPONENTS], range[GST_VIDEO_MAX_COMPONENTS];
  struct sam_patch *patches;
  guint32 *bits;
} GstSamDrawing;

/* @tracker: index of the meta in the frame, from 0. Each meta gets its own
 * colours; labels begin with its number, counted from 1, from the second meta
 * on. Returns FALSE if there is nothing to paint. */
gboolean gst_sam_drawing_make (GstSamDrawing * drawing,
    const GstSamPaintStyle * style, const GstSamReport * report, guint tracker,
    const GstVideoInfo * info);
void gst_sam_drawing_clear (GstSamDrawing * drawing);

G_END_DECLS

#endif /* __GST_SAM_DRAWING_H__ */

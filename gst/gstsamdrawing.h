#ifndef __GST_SAM_DRAWING_H__
#define __GST_SAM_DRAWING_H__

#include "gstsammeta.h"

G_BEGIN_DECLS

typedef struct
{
  gdouble opacity;              /* of the filled masks, 0 .. 1 */
  guint line_width;             /* px of the frame */
  gboolean masks, outlines, boxes, ids, scores;
  gboolean dim_stale;           /* half as opaque where masks are stale */
} GstSamPaintStyle;

/**
 * GstSamDrawing:
 *
 * What there is to paint over a frame, wherever that is done. Colours are of
 * the frame's own matrix and range.
 */
typedef struct
{
  struct sam_overlay overlay;   /* but for the labels' memory */
  gboolean yuv;                 /* the frame's colours are Y'CbCr, or gray */
  gboolean has_labels;          /* the label map is to be seen */

  /* of the making */
  const GstSamPaintStyle *style;
  const GstSamReport *report;
  guint tracker;                /* how many other ones drew on it before */
  gint width, height;           /* of the frame */
  gint scale;                   /* of the font */
  gdouble strength;             /* 1, less where the masks are stale */
  gdouble kr, kb;
  gint offset[GST_VIDEO_MAX_COMPONENTS], range[GST_VIDEO_MAX_COMPONENTS];
  struct sam_patch *patches;
  guint32 *bits;
} GstSamDrawing;

/* @tracker counts the metas of the frame from 0 on: each gets colours of its
 * own, and labels that begin with its number from the second one on. Returns
 * FALSE if there is nothing to paint. */
gboolean gst_sam_drawing_make (GstSamDrawing * drawing,
    const GstSamPaintStyle * style, const GstSamReport * report, guint tracker,
    const GstVideoInfo * info);
void gst_sam_drawing_clear (GstSamDrawing * drawing);

G_END_DECLS

#endif /* __GST_SAM_DRAWING_H__ */

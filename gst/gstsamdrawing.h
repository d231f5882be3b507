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
  gboolean points;              /* of recent prompts; the current object */
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

typedef struct
{
  gint x, y, w, h;
} GstSamRect;

/* @tracker: index of the meta in the frame, from 0. Each meta gets its own
 * colours; labels begin with its number, counted from 1, from the second meta
 * on. Returns FALSE if there is nothing to paint. */
gboolean gst_sam_drawing_make (GstSamDrawing * drawing,
    const GstSamPaintStyle * style, const GstSamReport * report, guint tracker,
    const GstVideoInfo * info);
void gst_sam_drawing_clear (GstSamDrawing * drawing);

/* For gstsampoints.c, while a drawing is made: */

/* 0xAARRGGBB in the frame's colours; alpha from 0 to 1. */
guint32 gst_sam_drawing_get_colour (const GstSamDrawing * drawing, guint32 rgb,
    gdouble alpha);

/* Returns NULL if the report has no such object. */
const GstSamObject *gst_sam_drawing_find (const GstSamDrawing * drawing,
    guint64 id);
guint32 gst_sam_drawing_get_rgb (const GstSamDrawing * drawing,
    const GstSamObject * object);

/* Set *box to where the object lies in the frame; returns FALSE if it cannot be
 * seen. */
gboolean gst_sam_drawing_get_box (const GstSamDrawing * drawing,
    const GstSamObject * object, GstSamRect * box);

/* The number of patches that may be added. */
gint gst_sam_drawing_count_free (const GstSamDrawing * drawing);

/* These two take one patch. */
void gst_sam_drawing_add_rect (GstSamDrawing * drawing, gint x, gint y, gint w,
    gint h, guint32 colour);

/* Squares of @scale px, as many as fit, that take turns in two colours, four by
 * four; a plain rectangle if there is no room for more bits. */
void gst_sam_drawing_add_dashes (GstSamDrawing * drawing, gint x, gint y,
    gint w, gint h, gint scale, guint32 colour, guint32 other);

G_END_DECLS

#endif /* __GST_SAM_DRAWING_H__ */

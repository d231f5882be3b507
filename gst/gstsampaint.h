#ifndef __GST_SAM_PAINT_H__
#define __GST_SAM_PAINT_H__

#include "gstsamdrawing.h"
#include "gstsamoutline.h"

G_BEGIN_DECLS

/**
 * GstSamPaint:
 *
 * Buffers to paint frames of one size in system memory.
 */
typedef struct
{
  gint width, height;
  GstSamOutline outline;        /* has the labels */
  guint32 *pixels;              /* one word per pixel */
  gint *column;                 /* of the mask, left of each pixel */
  guint8 *weight;               /* of the column right of it, of 256 */
  gpointer scratch;             /* for gst_sam_blend(); NULL: none needed yet */
  gsize scratch_bytes;
} GstSamPaint;

/* Allocates the buffers for frames like this one, if they do not exist. Returns
 * FALSE if memory runs out. */
gboolean gst_sam_paint_prepare (GstSamPaint * paint,
    const GstVideoFrame * frame);
void gst_sam_paint_clear (GstSamPaint * paint);

/* Paint over the frame, which must be mapped for reading and writing. Returns
 * FALSE if the frame's format cannot be blended. */
gboolean gst_sam_paint_draw (GstSamPaint * paint,
    const GstSamDrawing * drawing, GstVideoFrame * frame);

G_END_DECLS

#endif /* __GST_SAM_PAINT_H__ */

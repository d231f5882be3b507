/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PAINT_H__
#define __GST_SAM_PAINT_H__

#include "gstsampainter.h"

G_BEGIN_DECLS

/**
 * GstSamPaint:
 *
 * Paints frames in system memory, of any format. Must be zeroed before first
 * use.
 */
typedef struct
{
  GstSamPainter painter;

  /* where the engine does not know the frame's format */
  guint32 *pixels;              /* a clear layer as large as the frame */
  gint width, height;
  gpointer scratch;             /* for gst_sam_blend(); NULL: none needed yet */
  gsize scratch_bytes;
} GstSamPaint;

/* Opens the painter and allocates the buffers for frames like this one, if they
 * do not exist. Returns FALSE if memory runs out. */
gboolean gst_sam_paint_prepare (GstSamPaint * paint,
    const GstVideoFrame * frame);
void gst_sam_paint_clear (GstSamPaint * paint);

/* The same of the layer alone, for any format. */
gboolean gst_sam_paint_prepare_layer (GstSamPaint * paint,
    const GstVideoFrame * frame);

/* Opens the painter and a layer of that size, in BGRA. Returns FALSE if memory
 * runs out. */
gboolean gst_sam_paint_open_layer (GstSamPaint * paint, gint width,
    gint height);

/* Paint into the layer, which must be clear where the drawing is: whoever takes
 * the pixels must leave it so. Returns FALSE and sets *why on failure. */
gboolean gst_sam_paint_draw_layer (GstSamPaint * paint,
    GstSamDrawing * drawing, gchar ** why);

/* Whether the drawing can be painted in parts: its label map, if it has one,
 * has the frame's size. */
gboolean gst_sam_paint_takes_parts (const GstSamDrawing * drawing);

/* Paint a part of such a frame alone, in BGRA: all of the packed pixels are
 * written. The painter must be open. Returns FALSE and sets *why on failure. */
gboolean gst_sam_paint_draw_part (GstSamPaint * paint, GstSamDrawing * drawing,
    GstSamRect part, guint32 * pixels, gchar ** why);

/* Paint over the frame, which must be mapped for reading and writing. Returns
 * FALSE and sets *why on failure; free it with g_free(). */
gboolean gst_sam_paint_draw (GstSamPaint * paint, GstSamDrawing * drawing,
    GstVideoFrame * frame, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_PAINT_H__ */

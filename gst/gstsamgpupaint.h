#ifndef __GST_SAM_GPU_PAINT_H__
#define __GST_SAM_GPU_PAINT_H__

#include "gstsamdrawing.h"

G_BEGIN_DECLS

/**
 * GstSamGpuPaint:
 *
 * Paints frames where they are, in the memory of a GPU. All 0 to begin with.
 */
typedef struct
{
  GstObject *context;           /* of the last frame */
  sam_painter *painter;         /* in it; NULL: there is none, or it failed */
} GstSamGpuPaint;

/* Open the painter of the frame's context, unless it is open: with the first
 * frame, for the first mask not to wait. FALSE: @buf is for the painter in
 * system memory. Where that is a pity, *why gets a sentence, once for a
 * context. */
gboolean gst_sam_gpu_paint_open (GstSamGpuPaint * gpu, GstBuffer * buf,
    const GstVideoInfo * info, gchar ** why);

/* On a frame that it was opened for. FALSE, and *why: likewise. */
gboolean gst_sam_gpu_paint_draw (GstSamGpuPaint * gpu, GstSamDrawing * drawing,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why);
void gst_sam_gpu_paint_clear (GstSamGpuPaint * gpu);

G_END_DECLS

#endif /* __GST_SAM_GPU_PAINT_H__ */

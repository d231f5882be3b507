#ifndef __GST_SAM_GPU_PAINT_H__
#define __GST_SAM_GPU_PAINT_H__

#include "gstsamdrawing.h"

G_BEGIN_DECLS

/**
 * GstSamGpuPaint:
 *
 * Paints frames in GPU memory. Must be zeroed before first use.
 */
typedef struct
{
  GstObject *context;           /* of the last frame */
  sam_painter *painter;         /* in @context; NULL if it failed to open */
} GstSamGpuPaint;

/* Open the painter of the frame's context unless it is open. Called for every
 * frame, so that the first mask does not wait. Returns FALSE if @buf must be
 * painted in system memory. If the GPU path should have worked, *why is set,
 * once per context; free it with g_free(). */
gboolean gst_sam_gpu_paint_open (GstSamGpuPaint * gpu, GstBuffer * buf,
    const GstVideoInfo * info, gchar ** why);

/* Paint a frame for which open returned TRUE. Returns FALSE and sets *why on
 * failure. */
gboolean gst_sam_gpu_paint_draw (GstSamGpuPaint * gpu, GstSamDrawing * drawing,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why);
void gst_sam_gpu_paint_clear (GstSamGpuPaint * gpu);

G_END_DECLS

#endif /* __GST_SAM_GPU_PAINT_H__ */

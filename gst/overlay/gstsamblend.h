/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_BLEND_H__
#define __GST_SAM_BLEND_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GstSamLayer:
 *
 * Pixels to blend over a frame, BGRA, or VUYA if @yuv: words of the form
 * 0xAARRGGBB and 0xAAYYUUVV, the lowest byte first. Straight alpha.
 */
typedef struct
{
  guint32 *pixels;              /* become 0 as they are blended */
  gint stride;                  /* words from one row to the next */
  gboolean yuv;
  gint x, y, w, h;              /* position; must be inside the frame */
} GstSamLayer;

/* Size in bytes of the scratch memory that gst_sam_blend() needs for this
 * frame; 0 for most frames. */
gsize gst_sam_blend_get_scratch (const GstVideoFrame * frame);

/* Blends and clears the layer. The result is that of gst_video_blend(), bit for
 * bit; formats of 8 bits per component take a fraction of the time. Planes and
 * rows may begin at any address; no byte outside of the frame is written.
 * @scratch must have gst_sam_blend_get_scratch() bytes with malloc()'s
 * alignment; its content is overwritten. Returns FALSE if the format cannot be
 * blended. */
gboolean gst_sam_blend (const GstSamLayer * layer, GstVideoFrame * frame,
    gpointer scratch);

G_END_DECLS

#endif /* __GST_SAM_BLEND_H__ */

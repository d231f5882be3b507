#ifndef __GST_SAM_BLEND_H__
#define __GST_SAM_BLEND_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GstSamLayer:
 *
 * Pixels to blend over a frame, without gaps between rows: AYUV where @yuv,
 * else words of the form 0xAARRGGBB. Alpha is not multiplied in.
 */
typedef struct
{
  const guint32 *pixels;
  gboolean yuv;
  gint x, y, w, h;              /* where it lies, inside of the frame */
} GstSamLayer;

/* What gst_video_blend() does to the frame, to the bit, and many times as fast
 * on formats of 8 bits a component. FALSE: the format cannot be blended. */
gboolean gst_sam_blend (const GstSamLayer * layer, GstVideoFrame * frame);

G_END_DECLS

#endif /* __GST_SAM_BLEND_H__ */

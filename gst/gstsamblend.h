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

/* Size in bytes of the scratch memory that gst_sam_blend() needs for this
 * frame; 0 for most frames. */
gsize gst_sam_blend_get_scratch (const GstVideoFrame * frame);

/* Does to the frame what gst_video_blend() does, to the bit, and is many times
 * as fast on formats of 8 bits a component. Planes and rows may begin at any
 * address, and no byte outside of the frame is touched. @scratch must hold
 * gst_sam_blend_get_scratch() bytes, aligned as malloc() does; its contents are
 * lost. Returns FALSE if the format cannot be blended. */
gboolean gst_sam_blend (const GstSamLayer * layer, GstVideoFrame * frame,
    gpointer scratch);

G_END_DECLS

#endif /* __GST_SAM_BLEND_H__ */

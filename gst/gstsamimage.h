#ifndef __GST_SAM_IMAGE_H__
#define __GST_SAM_IMAGE_H__

#include <gst/video/video.h>
#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/* What gst_sam_image_describe() knows. */
#define GST_SAM_IMAGE_FORMATS \
    "{ NV12, I420, YUY2, RGB, BGR, RGBA, BGRA, RGBx, BGRx, GRAY8, " \
    "P010_10LE }"

/* The largest frame that the engine takes. */
#define GST_SAM_IMAGE_SIZES \
    ", width = (int) [ 1, 16384 ], height = (int) [ 1, 16384 ], " \
    "framerate = " GST_VIDEO_FPS_RANGE

/* The engine's view of a mapped frame: no pixel is copied. */
void gst_sam_image_describe (struct sam_frame *image,
    const GstVideoFrame * frame);

G_END_DECLS

#endif /* __GST_SAM_IMAGE_H__ */

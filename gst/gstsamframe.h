#ifndef __GST_SAM_FRAME_H__
#define __GST_SAM_FRAME_H__

#include <gst/video/video.h>
#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/* What gst_sam_frame_describe() knows. */
#define GST_SAM_FRAME_FORMATS \
    "{ NV12, I420, YUY2, RGB, BGR, RGBA, BGRA, RGBx, BGRx, GRAY8, " \
    "P010_10LE }"

/* The largest frame that the engine takes. */
#define GST_SAM_FRAME_SIZES \
    ", width = (int) [ 1, " G_STRINGIFY (SAM_MAX_SIDE) " ], " \
    "height = (int) [ 1, " G_STRINGIFY (SAM_MAX_SIDE) " ], " \
    "framerate = " GST_VIDEO_FPS_RANGE

/* The engine's view of a mapped frame: no pixel is copied. */
void gst_sam_frame_describe (struct sam_frame *to,
    const GstVideoFrame * frame);

/* Whether caps promise whole frames. Single fields (interlace-mode=alternate)
 * come with a caps feature of their own; caps that lack it pass the templates,
 * which must not name interlace modes: a filter without one would not be
 * fixed. */
gboolean gst_sam_frame_accepts_caps (GstCaps * caps);

/* What a plane takes: rows of so many bytes. Tiles are one row of them all, and
 * so is a palette. @stride is the plane's; @info has GstVideo's own layout. */
typedef struct
{
  gint64 bytes, rows;
} GstSamExtent;

GstSamExtent gst_sam_frame_get_extent (const GstVideoInfo * info, gint plane,
    gint stride);

/* Why the buffer cannot be a frame of that kind, NULL: it can. All rows of all
 * planes must lie in its memory, whatever its GstVideoMeta says. */
gchar *gst_sam_frame_check (const GstVideoInfo * info, GstBuffer * buf);

/* gst_video_frame_map() for buffers from outside. On failure *why must be
 * freed; it completes "The frame was refused: ". */
gboolean gst_sam_frame_map (GstVideoFrame * frame, const GstVideoInfo * info,
    GstBuffer * buf, GstMapFlags flags, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_FRAME_H__ */

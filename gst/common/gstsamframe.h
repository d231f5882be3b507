/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FRAME_H__
#define __GST_SAM_FRAME_H__

#include <gst/video/video.h>
#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/* Formats that gst_sam_frame_describe() supports. */
#define GST_SAM_FRAME_FORMATS \
    "{ NV12, I420, YUY2, RGB, BGR, RGBA, BGRA, RGBx, BGRx, GRAY8, " \
    "P010_10LE }"

/* Frame sizes that the engine supports. */
#define GST_SAM_FRAME_SIZES \
    ", width = (int) [ 1, " G_STRINGIFY (SAM_MAX_SIDE) " ], " \
    "height = (int) [ 1, " G_STRINGIFY (SAM_MAX_SIDE) " ], " \
    "framerate = " GST_VIDEO_FPS_RANGE

/* Whether the format is one of these. */
gboolean gst_sam_frame_has_engine_format (const GstVideoInfo * info);

/* Fill *to with the planes, strides and colorimetry of a mapped frame; no pixel
 * is copied. */
void gst_sam_frame_describe (struct sam_frame *to,
    const GstVideoFrame * frame);

/* Whether caps describe whole frames, not single fields
 * (interlace-mode=alternate). Caps with that mode but without its caps feature
 * pass the templates, which cannot name interlace modes: filters without one
 * would not be fixed caps. */
gboolean gst_sam_frame_accepts_caps (GstCaps * caps);

/* Size of a plane: the number of rows, and bytes per row. A tiled plane or a
 * palette counts as one row. @stride is the plane's; @info has GstVideo's
 * default layout. */
typedef struct
{
  gint64 bytes, rows;
} GstSamExtent;

GstSamExtent gst_sam_frame_get_extent (const GstVideoInfo * info, gint plane,
    gint stride);

/* Check that the GstVideoMeta of @buf agrees with @info and that all planes are
 * within its memory. Returns NULL, or the reason of a failure; free it with
 * g_free(). */
gchar *gst_sam_frame_check (const GstVideoInfo * info, GstBuffer * buf);

/* gst_video_frame_map() for untrusted buffers. On failure *why is a text that
 * completes "The frame was refused: "; free it with g_free(). */
gboolean gst_sam_frame_map (GstVideoFrame * frame, const GstVideoInfo * info,
    GstBuffer * buf, GstMapFlags flags, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_FRAME_H__ */

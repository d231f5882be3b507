/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_UNPACK_H__
#define __GST_SAM_UNPACK_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Formats that the engine does not read, but gst_sam_unpack() makes RGBA of. */
#define GST_SAM_UNPACK_FORMATS \
    "{ NV21, YV12, UYVY, YVYU, NV16, Y42B, NV24, Y444, AYUV, ARGB, ABGR, " \
    "xRGB, xBGR, RGBP, BGRP, GBR, I420_10LE, I420_12LE, I422_10LE, " \
    "I422_12LE, Y444_10LE, Y444_12LE, P012_LE, P016_LE, GBR_10LE, " \
    "GBR_12LE, GRAY16_LE, v210, Y210, Y410, RGB10A2_LE, BGR10A2_LE }"

/**
 * GstSamUnpack:
 *
 * Frames as RGBA, one after the other in the same memory. Begin with zeros.
 */
typedef struct
{
  GstBuffer *rgba;
  gpointer line;                /* a row, as GstVideo unpacks it */
  gint width;                   /* px that it has room for */
} GstSamUnpack;

/* What gst_sam_unpack() makes of such frames. */
void gst_sam_unpack_describe (GstVideoInfo * rgba, const GstVideoInfo * info);

/* The frame in RGBA, rounded to the nearest of its 8 bits. GstVideo unpacks its
 * rows, each pixel with the chroma sample that is its own; the matrix and the
 * range are those of the caps, as the engine has them. The buffer is @unpack's,
 * and changes with the next call. Returns NULL and sets *why as
 * gst_sam_frame_map() does. */
GstBuffer *gst_sam_unpack (GstSamUnpack * unpack, const GstVideoInfo * info,
    GstBuffer * frame, gchar ** why);

void gst_sam_unpack_clear (GstSamUnpack * unpack);

G_END_DECLS

#endif /* __GST_SAM_UNPACK_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PLANES_H__
#define __GST_SAM_PLANES_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Size in bytes of a copy of a frame's planes: rows at aligned addresses, with
 * room behind them for the groups of pixels that GstVideo writes as a whole. */
gsize gst_sam_planes_measure (const GstVideoFrame * frame);

/* Copy the planes to @copy, which has gst_sam_planes_measure() bytes, or
 * @back. Bytes between the rows of the frame are not touched. */
void gst_sam_planes_copy (const GstVideoFrame * frame, guint8 * copy,
    gboolean back);

/* The frame that lies in such a copy. */
void gst_sam_planes_view (const GstVideoFrame * frame, guint8 * copy,
    GstVideoFrame * view);

G_END_DECLS

#endif /* __GST_SAM_PLANES_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CAPS_H__
#define __GST_SAM_CAPS_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/* Append a structure with these formats and all sizes; @features is in
 * parentheses, or empty. */
void gst_sam_caps_append (GstCaps * caps, const gchar * features,
    const gchar * formats);

/* The same for each kind of memory that is neither the system's nor CUDA's but
 * can be mapped: DMABuf (since GStreamer 1.24 also as format=DMA_DRM, without a
 * modifier), VA, and GL. @more_features: with a comma before it, or empty. */
void gst_sam_caps_append_mapped (GstCaps * caps, const gchar * more_features,
    const gchar * formats);

/* gst_video_info_from_caps() that also reads format=DMA_DRM of linear
 * memory. */
gboolean gst_sam_caps_parse (GstVideoInfo * info, const GstCaps * caps);

/* Whether frames lie in memory of CUDA. */
gboolean gst_sam_caps_is_cuda (const GstCaps * caps);

/* If frames of these caps lie in such mapped memory, post an INFO message that
 * says what that costs, once for each kind while the element lives. */
void gst_sam_caps_tell (GstElement * element, const GstCaps * caps);

/* Post that sentence, once while the element lives for each @key. */
void gst_sam_caps_tell_once (GstElement * element, const gchar * key,
    const gchar * sentence);

G_END_DECLS

#endif /* __GST_SAM_CAPS_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_GROUND_H__
#define __GST_SAM_GROUND_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GstSamGround:
 *
 * A picture that is seen behind objects, or in their place. Must be zeroed
 * before first use.
 */
typedef struct
{
  GstVideoInfo info;            /* of the file's picture */
  GstBuffer *picture;           /* NULL: none was loaded */

  GstVideoFrame frame;          /* of the size and format of frames */
  gboolean is_mapped;
  gboolean is_new;              /* whoever copies the frame sets it to FALSE */
  gboolean is_filled;           /* it has a colour, not the picture */
  guint32 colour;
} GstSamGround;

/* Read a PNG of at most SAM_MAX_SIDE px each way and 2^26 in all. Returns FALSE
 * and sets *why on failure; free it with g_free(). */
gboolean gst_sam_ground_load (GstSamGround * self, const gchar * location,
    gchar ** why);

/* Scale the picture so that it fills frames of @info, and cut off what is then
 * outside of them, unless that was done. Returns FALSE if memory runs out. */
gboolean gst_sam_ground_fit (GstSamGround * self, const GstVideoInfo * info);

/* Have a frame of one colour, of gst_sam_drawing_get_colour(), in the place of
 * the picture, unless it is there. Returns FALSE if memory runs out. */
gboolean gst_sam_ground_fill (GstSamGround * self, const GstVideoInfo * info,
    guint32 colour);
void gst_sam_ground_clear (GstSamGround * self);

/* Read a PNG as RGBA; *pixels is to be freed with g_free(). As
 * gst_sam_ground_load(). */
gboolean gst_sam_picture_read (const gchar * location, guint * width,
    guint * height, guint8 ** pixels, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_GROUND_H__ */

#ifndef __GST_SAM_PNG_H__
#define __GST_SAM_PNG_H__

#include <glib.h>

G_BEGIN_DECLS

/**
 * GstSamPlane:
 * @width: px
 * @height: px
 * @bits: @height rows of (@width + 7) / 8 bytes, the left pixel lowest
 *
 * What is set in a picture: a bit per pixel.
 */
typedef struct
{
  gint width, height;
  guint8 *bits;
} GstSamPlane;

/* Whether it is worth trying: FALSE and @error where there is no regular file.
 * Never blocks on a pipe or a device. */
gboolean gst_sam_png_check (const gchar * location, GError ** error);

/* Read a PNG, of which each pixel counts that is neither black nor transparent.
 * plane->bits must be freed with g_free(). Gives up soon after *cancelled is
 * set, atomically. All errors are of the domain GST_SAM_REFUSAL. */
gboolean gst_sam_png_read (GstSamPlane * plane, const gchar * location,
    const gint * cancelled, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_PNG_H__ */

/* SPDX-License-Identifier: MIT */
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
 * A mask read from a file: one bit per pixel.
 */
typedef struct
{
  gint width, height;
  guint8 *bits;
} GstSamPlane;

/* Returns FALSE and sets @error unless @location is a regular file. Does not
 * block on pipes and devices. */
gboolean gst_sam_png_check (const gchar * location, GError ** error);

/* Read a PNG. Bits are set for pixels that have that @value, the index of a
 * palette or a gray of at most 8 bits, and there must be some; with 0 for those
 * that are neither black nor transparent. Free plane->bits with g_free(). Fails
 * soon after *cancelled was set atomically. All errors are of the domain
 * GST_SAM_REFUSAL. */
gboolean gst_sam_png_read (GstSamPlane * plane, const gchar * location,
    gint value, const gint * cancelled, GError ** error);

/* Set used[] of a picture with a palette for the values that pixels neither
 * black nor transparent have, and *num to their number: an object each. *num is
 * 0 where one object is meant: in other pictures, and where the palette is that
 * of a gray picture, with bright grays. Fails as gst_sam_png_read(). */
gboolean gst_sam_png_find_values (const gchar * location, guint8 used[256],
    guint * num, const gint * cancelled, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_PNG_H__ */

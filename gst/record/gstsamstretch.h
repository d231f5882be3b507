/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_STRETCH_H__
#define __GST_SAM_STRETCH_H__

#include <glib.h>
#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/* Open a painter of system memory for gst_sam_stretch(), unless it is open.
 * Returns FALSE if memory runs out. Close it with sam_painter_close(). */
gboolean gst_sam_stretch_open (sam_painter ** painter);

/* Stretch a label map to @width x @height px as samoverlay draws it: each pixel
 * takes the label with the largest bilinear weight, among equal ones that of
 * the upper left cell. @to has no padding between rows. Returns FALSE and sets
 * *why (g_free()) on failure. */
gboolean gst_sam_stretch (sam_painter * painter, const struct sam_labels *from,
    guint8 * to, gint width, gint height, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_STRETCH_H__ */

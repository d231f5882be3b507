/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_POLYGON_H__
#define __GST_SAM_POLYGON_H__

#include <glib.h>

G_BEGIN_DECLS

/* Append a mask as one polygon, as YOLO's labels have it: " X Y X Y ...",
 * fractions of the mask's width and height, along the edges of its pixels.
 * @counts: COCO's run lengths. Pieces and holes are part of the one line: it
 * goes there and back, so that it encloses just the mask by the rule of even
 * and odd; specks are left out. Returns FALSE if the mask is empty, or the run
 * lengths are not those of such a mask. */
gboolean gst_sam_polygon_append (GString * to, const gchar * counts,
    gint width, gint height);

G_END_DECLS

#endif /* __GST_SAM_POLYGON_H__ */

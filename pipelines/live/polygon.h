/* SPDX-License-Identifier: MIT */
/* A mask as one polygon, as YOLO's labels have it. */
#ifndef LIVE_POLYGON_H
#define LIVE_POLYGON_H

#include <glib.h>

/* Appends " X Y X Y ...", fractions of the mask's width and height, along the edges of its pixels.
 * @counts: COCO's run lengths. Pieces and holes are part of the one line: it goes there and back,
 * so that it encloses just the mask by the rule of even and odd; specks are left out. FALSE: the
 * mask is empty, or the run lengths are not those of such a mask. */
gboolean polygon_append(GString *to, const gchar *counts, gint width, gint height);

#endif

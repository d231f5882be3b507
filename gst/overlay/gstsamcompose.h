/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_COMPOSE_H__
#define __GST_SAM_COMPOSE_H__

#include "gstsamdrawing.h"

G_BEGIN_DECLS

/* Make the drawing of a report. @tracker: index of the meta in the frame, from
 * 0. Each meta gets its own colours; labels begin with its number, counted from
 * 1, from the second meta on. Returns FALSE if there is nothing to paint. */
gboolean gst_sam_compose (GstSamDrawing * drawing,
    const GstSamPaintStyle * style, const GstSamReport * report, guint tracker,
    const GstVideoInfo * info);

/* End a drawing: find the area that it paints, at even coordinates, since
 * chroma is blended in pairs. Returns FALSE if there is nothing to paint. */
gboolean gst_sam_compose_end (GstSamDrawing * drawing);

/* Where in the frame something is painted: of the report's objects and of the
 * patches. Some are empty, some reach beyond the frame. */
guint gst_sam_compose_count_things (const GstSamDrawing * drawing);
GstSamRect gst_sam_compose_get_thing (const GstSamDrawing * drawing, guint i);

G_END_DECLS

#endif /* __GST_SAM_COMPOSE_H__ */

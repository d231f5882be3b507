/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_INDEXED_H__
#define __GST_SAM_INDEXED_H__

#include <glib.h>

G_BEGIN_DECLS

/* Append a PNG with a palette, as the DAVIS data set has them, whose pixels are
 * @lut[@labels[i]]. @labels: rows without padding; (nullable): all pixels are
 * 0. Returns FALSE and sets @error (GST_RESOURCE_ERROR) if it cannot be made,
 * as in a build without libpng. */
gboolean gst_sam_indexed_encode (GByteArray * to, const guint8 * labels,
    const guint8 lut[256], gint width, gint height, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_INDEXED_H__ */

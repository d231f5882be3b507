/* SPDX-License-Identifier: MIT */
/* Without libpng: no PNGs. */

#include "gstsamindexed.h"

#include <gst/gst.h>

gboolean
gst_sam_indexed_encode (GByteArray * to, const guint8 * labels,
    const guint8 lut[256], gint width, gint height, GError ** error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "Masks cannot be written as PNGs: this build has no libpng.");
  return FALSE;
}

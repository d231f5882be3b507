/* SPDX-License-Identifier: MIT */
/* Without libpng: no PNGs. */

#include "gstsamformat.h"

GstSamFormat *
gst_sam_format_new_davis (const gchar * location, GstSamExportMaskSize size,
    GstSamTally * tally, GError ** error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "The format 'davis' cannot be written: this build has no libpng.");
  return NULL;
}

/* SPDX-License-Identifier: MIT */
/* Replaces gstsampng.c in builds without libpng: masks can be given only with
 * add-mask. */

#include "gstsampng.h"

#include "gstsamprompt.h"

gboolean
gst_sam_png_check (const gchar * location, GError ** error)
{
  g_set_error (error, GST_SAM_REFUSAL, GST_SAM_REFUSED_MASK,
      "The mask '%s' cannot be read: this build has no libpng.", location);
  return FALSE;
}

gboolean
gst_sam_png_read (GstSamPlane * plane, const gchar * location,
    gint value, const gint * cancelled, GError ** error)
{
  return gst_sam_png_check (location, error);
}

gboolean
gst_sam_png_find_values (const gchar * location, guint8 used[256], guint * num,
    const gint * cancelled, GError ** error)
{
  return gst_sam_png_check (location, error);
}

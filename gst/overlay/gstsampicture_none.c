/* SPDX-License-Identifier: MIT */
/* Pictures for grounds, where libpng is missing. */

#include "gstsamground.h"

gboolean
gst_sam_picture_read (const gchar * location, guint * width, guint * height,
    guint8 ** pixels, gchar ** why)
{
  *why = g_strdup_printf ("The picture '%s' cannot be read: this plugin was "
      "built without libpng.", location);
  return FALSE;
}

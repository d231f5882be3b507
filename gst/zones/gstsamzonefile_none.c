/* SPDX-License-Identifier: MIT */
#include "gstsamzone.h"

gchar *
gst_sam_zone_list_read (GstSamZoneList * list, const gchar * file)
{
  return g_strdup_printf ("The file of zones '%s' cannot be read: the build "
      "has no JSON-GLib.", file);
}

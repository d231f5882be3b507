/* SPDX-License-Identifier: MIT */
/* Without JSON-GLib: the plugin has no samexport. */

#include "gstsamexport.h"

GType
gst_sam_export_get_type (void)
{
  return G_TYPE_INVALID;
}

gboolean
gst_element_register_samexport (GstPlugin * plugin)
{
  return TRUE;
}

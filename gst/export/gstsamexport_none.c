/* SPDX-License-Identifier: MIT */
/* Without JSON-GLib: the plugin has no samexport. */

#include "gstsamexport.h"

gboolean
gst_element_register_samexport (GstPlugin * plugin)
{
  return TRUE;
}

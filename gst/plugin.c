/* SPDX-License-Identifier: MIT */
/**
 * SECTION:plugin-samtrack
 * @title: samtrack
 *
 * Tracks the masks of objects in live video and draws them.
 */

#include "bin/gstsamtrackbin.h"
#include "common/gstsammeta.h"
#include "detect/gstsamdetect.h"
#include "export/gstsamexport.h"
#include "overlay/gstsamoverlay.h"
#include "track/gstsamtrack.h"
#include "zones/gstsamzones.h"

static gboolean
plugin_init (GstPlugin * plugin)
{
  gst_sam_meta_register ();
  return GST_ELEMENT_REGISTER (samtrack, plugin) &&
      GST_ELEMENT_REGISTER (samdetect, plugin) &&
      GST_ELEMENT_REGISTER (samoverlay, plugin) &&
      GST_ELEMENT_REGISTER (samzones, plugin) &&
      GST_ELEMENT_REGISTER (samexport, plugin) &&
      GST_ELEMENT_REGISTER (samtrackbin, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, samtrack,
    "Tracks the masks of objects in live video", plugin_init, VERSION,
    "MIT/X11", PACKAGE, "Unknown package origin")

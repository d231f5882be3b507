/* SPDX-License-Identifier: MIT */
/**
 * SECTION:plugin-samscene
 * @title: samscene
 *
 * A scene to try samtrack with, and the truth about it. For demos and tests.
 */

#include "gstsamscene.h"
#include "gstsamscenemeta.h"
#include "gstsamscore.h"

static gboolean
plugin_init (GstPlugin * plugin)
{
  gst_sam_scene_meta_register ();
  return GST_ELEMENT_REGISTER (samscene, plugin) &&
      GST_ELEMENT_REGISTER (samscore, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, samscene,
    "A scene of moving things, and where they are", plugin_init, VERSION,
    "MIT/X11", PACKAGE, "Unknown package origin")

/* Without libpng: masks come through add-mask alone. */

#include "gstsammask.h"

GstSample *
gst_sam_mask_load (const gchar * location, GError ** error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "The mask '%s' cannot be read: this build has no libpng.", location);
  return NULL;
}

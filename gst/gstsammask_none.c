/* Without libpng: masks come through add-mask alone. */

#include "gstsammask.h"

#include "gstsamprompt.h"

GstSample *
gst_sam_mask_load (const gchar * location, GError ** error)
{
  g_set_error (error, GST_SAM_REFUSAL, GST_SAM_REFUSED_MASK,
      "The mask '%s' cannot be read: this build has no libpng.", location);
  return NULL;
}

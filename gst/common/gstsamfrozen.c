/* SPDX-License-Identifier: MIT */
/* Properties that cannot be changed in this state. */

#include "gstsamfrozen.h"

#include "gstsamtext.h"

#define ONLY "only in the states NULL and READY."

static gchar *
new_text (GParamSpec * spec, const GValue * kept, const GValue * wanted)
{
  gchar *old = gst_value_serialize (kept);
  gchar *new = gst_value_serialize (wanted);
  gchar *text = g_strdup_printf ("The property '%s' stays %s: it can be set "
      "to %s " ONLY, spec->name, old, new);
  gchar *plain = gst_sam_plain_text (text);

  g_free (text);
  g_free (new);
  g_free (old);
  return plain;
}

void
gst_sam_frozen_refuse (GstElement * element, GParamSpec * spec,
    const GValue * wanted, const gchar * name, gboolean is_secret)
{
  GValue kept = G_VALUE_INIT;
  gchar *text;

  g_value_init (&kept, spec->value_type);
  g_object_get_property (G_OBJECT (element), spec->name, &kept);
  if (g_param_values_cmp (spec, &kept, wanted)) {
    text = is_secret ? g_strdup_printf ("The property '%s' keeps its value: it "
        "can be set " ONLY, spec->name) : new_text (spec, &kept, wanted);
    gst_element_message_full_with_details (element, GST_MESSAGE_WARNING,
        GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS, text, NULL, __FILE__,
        GST_FUNCTION, __LINE__, gst_structure_new (name, "reason",
            G_TYPE_STRING, "state", "property", G_TYPE_STRING, spec->name,
            NULL));
  }
  g_value_unset (&kept);
}

/* SPDX-License-Identifier: MIT */
/* The kinds of memory that frames may be in. */

#include "gstsamcuda.h"

static void
append_caps (GstCaps * caps, const gchar * feature, const gchar * formats,
    const gchar * sizes)
{
  gchar *text = g_strconcat ("video/x-raw", feature, ", format = (string) ",
      formats, sizes, NULL);

  gst_caps_append (caps, gst_caps_from_string (text));
  g_free (text);
}

void
gst_sam_cuda_add_template (GstElementClass * klass, const gchar * name,
    GstPadDirection direction, const gchar * formats, const gchar * sizes)
{
  GstCaps *caps = gst_caps_new_empty ();

  if (gst_sam_cuda_get_formats ())
    append_caps (caps, "(memory:CUDAMemory)", gst_sam_cuda_get_formats (),
        sizes);
  append_caps (caps, "", formats, sizes);
  gst_element_class_add_pad_template (klass, gst_pad_template_new (name,
          direction, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);
}

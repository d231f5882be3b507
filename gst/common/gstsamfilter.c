/* SPDX-License-Identifier: MIT */
#include "gstsamfilter.h"

#include "gstsamallocation.h"
#include "gstsamcaps.h"
#include "gstsamcuda.h"
#include "gstsamflush.h"
#include "gstsamframe.h"

/* With the memory before it, as everybody writes it: without one they are other
 * features. */
#define COMPOSITION ", " GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION

static void
add_template (GstElementClass * klass, const gchar * name,
    GstPadDirection direction, const gchar * formats, const gchar * more)
{
  GstCaps *caps = gst_caps_new_empty ();

  if (gst_sam_cuda_get_formats ())
    gst_sam_caps_append (caps, "(memory:CUDAMemory)",
        gst_sam_cuda_get_formats ());
  gst_sam_caps_append (caps, "", formats);
  if (more)
    gst_sam_caps_append (caps, "", more);
  gst_sam_caps_append (caps, "(" GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY
      COMPOSITION ")", formats);
  if (more)
    gst_sam_caps_append (caps, "(" GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY
        COMPOSITION ")", more);
  gst_sam_caps_append_mapped (caps, "", formats);
  gst_sam_caps_append_mapped (caps, COMPOSITION, formats);
  gst_element_class_add_pad_template (klass, gst_pad_template_new (name,
          direction, GST_PAD_ALWAYS, caps));
  gst_caps_unref (caps);
}

static gboolean
gst_sam_filter_accept_caps (GstBaseTransform * base, GstPadDirection direction,
    GstCaps * caps)
{
  GstBaseTransformClass *parent =
      g_type_class_peek_parent (GST_BASE_TRANSFORM_GET_CLASS (base));

  return gst_sam_frame_accepts_caps (caps) &&
      parent->accept_caps (base, direction, caps);
}

void
gst_sam_filter_class_init (GstBaseTransformClass * klass, const gchar * formats,
    const gchar * more)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  add_template (element_class, "sink", GST_PAD_SINK, formats, more);
  add_template (element_class, "src", GST_PAD_SRC, formats, more);
  klass->accept_caps = GST_DEBUG_FUNCPTR (gst_sam_filter_accept_caps);
  klass->propose_allocation = GST_DEBUG_FUNCPTR (gst_sam_allocation_propose);
}

void
gst_sam_filter_init (GstBaseTransform * base)
{
  gst_base_transform_set_in_place (base, TRUE);
  gst_base_transform_set_passthrough (base, FALSE);
  gst_sam_flush_install (base);
}

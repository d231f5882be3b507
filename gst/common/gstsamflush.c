/* SPDX-License-Identifier: MIT */
/* A sink pad that says why it refuses an event. */

#include "gstsamflush.h"

/* The source pad is flushed or stopped first, from another thread, and goes on
 * only when this one has left the sink pad: the flag cannot have changed since
 * the event was refused. */
static GstFlowReturn
gst_sam_flush_event (GstPad * pad, GstObject * parent, GstEvent * event)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (parent);
  const gboolean is_caps = GST_EVENT_TYPE (event) == GST_EVENT_CAPS;

  if (GST_BASE_TRANSFORM_GET_CLASS (base)->sink_event (base, event))
    return GST_FLOW_OK;
  if (GST_PAD_IS_FLUSHING (GST_BASE_TRANSFORM_SRC_PAD (base))) {
    GST_INFO_OBJECT (pad, "the source pad stops, an event is refused");
    return GST_FLOW_FLUSHING;
  }
  return is_caps ? GST_FLOW_NOT_NEGOTIATED : GST_FLOW_ERROR;
}

void
gst_sam_flush_install (GstBaseTransform * base)
{
  gst_pad_set_event_full_function (GST_BASE_TRANSFORM_SINK_PAD (base),
      GST_DEBUG_FUNCPTR (gst_sam_flush_event));
}

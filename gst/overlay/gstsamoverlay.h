/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_OVERLAY_H__
#define __GST_SAM_OVERLAY_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_SAM_OVERLAY (gst_sam_overlay_get_type ())
G_DECLARE_FINAL_TYPE (GstSamOverlay, gst_sam_overlay, GST, SAM_OVERLAY,
    GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (samoverlay);

G_END_DECLS

#endif /* __GST_SAM_OVERLAY_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ZONES_H__
#define __GST_SAM_ZONES_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_SAM_ZONES (gst_sam_zones_get_type ())
G_DECLARE_FINAL_TYPE (GstSamZones, gst_sam_zones, GST, SAM_ZONES,
    GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (samzones);

G_END_DECLS

#endif /* __GST_SAM_ZONES_H__ */

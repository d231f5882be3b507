/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_EXPORT_H__
#define __GST_SAM_EXPORT_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

/* G_TYPE_INVALID in a build without JSON-GLib. */
#define GST_TYPE_SAM_EXPORT (gst_sam_export_get_type ())
G_DECLARE_FINAL_TYPE (GstSamExport, gst_sam_export, GST, SAM_EXPORT,
    GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (samexport);

G_END_DECLS

#endif /* __GST_SAM_EXPORT_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FLUSH_H__
#define __GST_SAM_FLUSH_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

/* In an instance's init. An event that @base cannot pass on because its source
 * pad stops then gives GST_FLOW_FLUSHING. Core says GST_FLOW_ERROR for it, and
 * that reaches the application as an error of the source: "Internal data stream
 * error", at a mere change of state or a seek. */
void gst_sam_flush_install (GstBaseTransform * base);

G_END_DECLS

#endif /* __GST_SAM_FLUSH_H__ */

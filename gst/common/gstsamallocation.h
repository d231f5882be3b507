/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ALLOCATION_H__
#define __GST_SAM_ALLOCATION_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

/* Take out of the answer to an allocation query what the elements here do not
 * heed. Frames pass in place, so that the answer is downstream's; a source that
 * is told of GstVideoCropMeta leaves the pixels and describes what is to be
 * seen of them, and whoever reads the pixels alone sees another picture. */
void gst_sam_allocation_keep_understood (GstQuery * query);

/* The propose_allocation() of elements that add nothing of their own. */
gboolean gst_sam_allocation_propose (GstBaseTransform * base,
    GstQuery * decided, GstQuery * query);

G_END_DECLS

#endif /* __GST_SAM_ALLOCATION_H__ */

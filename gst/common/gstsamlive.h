/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_LIVE_H__
#define __GST_SAM_LIVE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Whether what comes to this sink pad is of a live source, as a latency query
 * tells. */
gboolean gst_sam_live_query (GstPad * sink);

G_END_DECLS

#endif /* __GST_SAM_LIVE_H__ */

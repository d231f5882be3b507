/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SCORE_H__
#define __GST_SAM_SCORE_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_SAM_SCORE (gst_sam_score_get_type ())
G_DECLARE_FINAL_TYPE (GstSamScore, gst_sam_score, GST, SAM_SCORE,
    GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE (samscore);

G_END_DECLS

#endif /* __GST_SAM_SCORE_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_DETECT_H__
#define __GST_SAM_DETECT_H__

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

/**
 * GstSamDetectPolicy:
 * @GST_SAM_DETECT_POLICY_AUTO: skip in a live pipeline, else block
 * @GST_SAM_DETECT_POLICY_BLOCK: a frame waits for its detections
 * @GST_SAM_DETECT_POLICY_SKIP: frames pass, and detections go with the first
 * one after they were found
 *
 * Handling of the time that a detection takes.
 */
typedef enum
{
  GST_SAM_DETECT_POLICY_AUTO,
  GST_SAM_DETECT_POLICY_BLOCK,
  GST_SAM_DETECT_POLICY_SKIP,
} GstSamDetectPolicy;

#define GST_TYPE_SAM_DETECT (gst_sam_detect_get_type ())
G_DECLARE_FINAL_TYPE (GstSamDetect, gst_sam_detect, GST, SAM_DETECT,
    GstBaseTransform)

GST_ELEMENT_REGISTER_DECLARE (samdetect);

G_END_DECLS

#endif /* __GST_SAM_DETECT_H__ */

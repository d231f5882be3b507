/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_POINTS_H__
#define __GST_SAM_POINTS_H__

#include "gstsamdrawing.h"

G_BEGIN_DECLS

/* Add what the report says of prompts: their points and boxes, and corners
 * around the current object. If there is no room for all of them, those of the
 * latest prompts are added. */
void gst_sam_points_add (GstSamDrawing * drawing);

G_END_DECLS

#endif /* __GST_SAM_POINTS_H__ */

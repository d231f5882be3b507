/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ENUMS_H__
#define __GST_SAM_ENUMS_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamTrackMaskSize:
 * @GST_SAM_TRACK_MASK_SIZE_MODEL: a quarter of the model's input, the size of
 * the model's mask
 * @GST_SAM_TRACK_MASK_SIZE_FRAME: one value per pixel of the frame
 * @GST_SAM_TRACK_MASK_SIZE_AUTO: the size of the frame, or, where a side of it
 * is longer than 1920 pixels, the frame's shape with that side 1920 pixels long
 *
 * Size of the label map in the meta.
 */
typedef enum
{
  GST_SAM_TRACK_MASK_SIZE_MODEL,
  GST_SAM_TRACK_MASK_SIZE_FRAME,
  GST_SAM_TRACK_MASK_SIZE_AUTO,
} GstSamTrackMaskSize;

/**
 * GstSamTrackOverloadPolicy:
 * @GST_SAM_TRACK_OVERLOAD_AUTO: skip in a live pipeline, else block
 * @GST_SAM_TRACK_OVERLOAD_BLOCK: track every frame, however late it is
 * @GST_SAM_TRACK_OVERLOAD_SKIP: pass late frames with the last masks, marked
 * stale
 * @GST_SAM_TRACK_OVERLOAD_DROP: drop late frames
 *
 * Handling of frames that arrive faster than they can be tracked.
 */
typedef enum
{
  GST_SAM_TRACK_OVERLOAD_AUTO,
  GST_SAM_TRACK_OVERLOAD_BLOCK,
  GST_SAM_TRACK_OVERLOAD_SKIP,
  GST_SAM_TRACK_OVERLOAD_DROP,
} GstSamTrackOverloadPolicy;

/**
 * GstSamTrackNavigation:
 * @GST_SAM_TRACK_NAVIGATION_NONE: ignore navigation events
 * @GST_SAM_TRACK_NAVIGATION_POINTS: clicks and keys give prompts
 * @GST_SAM_TRACK_NAVIGATION_POINTS_BOXES: the same, and a drag draws a box
 *
 * Handling of mouse, touch and key events.
 */
typedef enum
{
  GST_SAM_TRACK_NAVIGATION_NONE,
  GST_SAM_TRACK_NAVIGATION_POINTS,
  GST_SAM_TRACK_NAVIGATION_POINTS_BOXES,
} GstSamTrackNavigation;

/**
 * GstSamTrackPromptSource:
 * @GST_SAM_TRACK_PROMPT_SOURCE_NONE: users alone start objects
 * @GST_SAM_TRACK_PROMPT_SOURCE_ROI: regions of interest that a detector before
 * this element attaches to frames
 * @GST_SAM_TRACK_PROMPT_SOURCE_ANALYTICS: object detections of its analytics
 * metadata
 *
 * What objects are started from, beside the prompts of users.
 */
typedef enum
{
  GST_SAM_TRACK_PROMPT_SOURCE_NONE,
  GST_SAM_TRACK_PROMPT_SOURCE_ROI,
  GST_SAM_TRACK_PROMPT_SOURCE_ANALYTICS,
} GstSamTrackPromptSource;

/**
 * GstSamTrackResetOn:
 * @GST_SAM_TRACK_RESET_ON_NONE: objects stay
 * @GST_SAM_TRACK_RESET_ON_CUT: at scene cuts
 * @GST_SAM_TRACK_RESET_ON_DISCONT: at frames that follow a gap in the stream
 * @GST_SAM_TRACK_RESET_ON_NEVER: objects stay, after seeks too
 *
 * Where all objects end within a stream.
 */
typedef enum
{
  GST_SAM_TRACK_RESET_ON_NONE,
  GST_SAM_TRACK_RESET_ON_CUT,
  GST_SAM_TRACK_RESET_ON_DISCONT,
  GST_SAM_TRACK_RESET_ON_NEVER,
} GstSamTrackResetOn;

/**
 * GstSamTrackMaskType:
 * @GST_SAM_TRACK_MASK_TYPE_LABELS: the label map alone
 * @GST_SAM_TRACK_MASK_TYPE_PROBABILITY: and the probability of each object
 *
 * What the meta has of masks.
 */
typedef enum
{
  GST_SAM_TRACK_MASK_TYPE_LABELS,
  GST_SAM_TRACK_MASK_TYPE_PROBABILITY,
} GstSamTrackMaskType;

/* Registers an enumeration at the first call; `type` is a static variable, 0
 * before. `values` end with zeros and are kept. */
GType gst_sam_register_enum (gsize * type, const gchar * name,
    const GEnumValue * values);

/* The first three types have the values of enum sam_backend, sam_precision and
 * sam_edges. */
#define GST_TYPE_SAM_TRACK_BACKEND (gst_sam_track_backend_get_type ())
GType gst_sam_track_backend_get_type (void);

#define GST_TYPE_SAM_TRACK_PRECISION (gst_sam_track_precision_get_type ())
GType gst_sam_track_precision_get_type (void);

#define GST_TYPE_SAM_TRACK_EDGES (gst_sam_track_edges_get_type ())
GType gst_sam_track_edges_get_type (void);

#define GST_TYPE_SAM_TRACK_MASK_SIZE (gst_sam_track_mask_size_get_type ())
GType gst_sam_track_mask_size_get_type (void);

#define GST_TYPE_SAM_TRACK_OVERLOAD_POLICY \
    (gst_sam_track_overload_policy_get_type ())
GType gst_sam_track_overload_policy_get_type (void);

#define GST_TYPE_SAM_TRACK_NAVIGATION (gst_sam_track_navigation_get_type ())
GType gst_sam_track_navigation_get_type (void);

#define GST_TYPE_SAM_TRACK_PROMPT_SOURCE \
    (gst_sam_track_prompt_source_get_type ())
GType gst_sam_track_prompt_source_get_type (void);

#define GST_TYPE_SAM_TRACK_RESET_ON (gst_sam_track_reset_on_get_type ())
GType gst_sam_track_reset_on_get_type (void);

#define GST_TYPE_SAM_TRACK_MASK_TYPE (gst_sam_track_mask_type_get_type ())
GType gst_sam_track_mask_type_get_type (void);

G_END_DECLS

#endif /* __GST_SAM_ENUMS_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PLACE_H__
#define __GST_SAM_PLACE_H__

#include "gstsammeta.h"

G_BEGIN_DECLS

/**
 * GstSamMatrix:
 *
 * What elements of GStreamer 1.28 and later tell metas of how they move a
 * picture ("gst-video-matrix"): the layout of GstVideoMetaTransformMatrix, so
 * that a build with older headers understands it, too. The content of
 * @in_rectangle is in @out_rectangle then; @matrix takes a pixel's column and
 * row in the one to those in the other, and must be a multiple of quarter turns
 * and flips, with any size of the frame where it does not turn or flip.
 */
typedef struct
{
  const GstVideoInfo *in_info;
  GstVideoRectangle in_rectangle;
  const GstVideoInfo *out_info;
  GstVideoRectangle out_rectangle;
  gfloat matrix[3][3];
} GstSamMatrix;

/* Move boxes, areas, prompts and the label map of a report to where the picture
 * is; @soft as well, planes of the label map's size, or NULL. report->mask and
 * soft become new buffers; *soft must be unreffed. Returns FALSE, with the
 * report in no usable state, where the label map cannot be moved without
 * resampling: cells of it would have to be cut or spread. */
gboolean gst_sam_place (GstSamReport * report, GstBuffer ** soft,
    const GstSamMatrix * matrix);

G_END_DECLS

#endif /* __GST_SAM_PLACE_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_COVERAGE_H__
#define __GST_SAM_COVERAGE_H__

#include "gstsamdrawing.h"

G_BEGIN_DECLS

/**
 * GstSamCoverage:
 *
 * Which pixels of a frame an effect changes: a byte per pixel, 255 where it
 * does, less along soft edges. Must be zeroed before first use.
 */
typedef struct
{
  guint8 *map;                  /* width * height bytes */
  gint width, height;           /* of the frame */
  GstSamRect area;              /* outside of it all is 0; w = 0: nothing */

  guint8 *mask, *grown;         /* scratch planes, as large as the map */
  guint8 *row[4];               /* scratch rows with room on both sides */
  gsize row_bytes;
} GstSamCoverage;

/* A label map that is stretched over the whole frame, packed. */
typedef struct
{
  const guint8 *data;
  gint width, height;
} GstSamLabelMap;

/* Allocates what frames of this size, and label maps of this width, need,
 * unless it exists. Returns FALSE if memory runs out. */
gboolean gst_sam_coverage_prepare (GstSamCoverage * self, gint width,
    gint height, gint labels_width);
void gst_sam_coverage_clear (GstSamCoverage * self);

/* Nothing is covered. */
void gst_sam_coverage_begin (GstSamCoverage * self);

/* Cover a rectangle, as far as it is inside of the frame. */
void gst_sam_coverage_add_rect (GstSamCoverage * self, GstSamRect rect);

/* Cover every pixel that a label equal to @slot may reach, and all pixels up to
 * @margin px from them, each way. The label is looked for in @box, px of the
 * frame, and a cell of the label map around it. */
void gst_sam_coverage_add_label (GstSamCoverage * self,
    const GstSamLabelMap * labels, guint slot, GstSamRect box, gint margin);

/* The same with soft edges, and no pixel more than the label has: a coarse map
 * is interpolated. */
void gst_sam_coverage_add_soft (GstSamCoverage * self,
    const GstSamLabelMap * labels, guint slot, GstSamRect box);

/* What was covered is not, and what was not is. */
void gst_sam_coverage_invert (GstSamCoverage * self);

/* Blocks of @columns x @rows px, both powers of two, are covered as a whole
 * where one pixel is: samples of chroma belong to a block. */
void gst_sam_coverage_align (GstSamCoverage * self, gint columns, gint rows);

G_END_DECLS

#endif /* __GST_SAM_COVERAGE_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CUT_H__
#define __GST_SAM_CUT_H__

#include <gst/video/video.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_CUT_COLUMNS = 64,
  GST_SAM_CUT_ROWS = 36,
  GST_SAM_CUT_BINS = 32,
};

/**
 * GstSamCut:
 *
 * Sees where a video changes to another scene. Begin with zeros.
 */
typedef struct
{
  gboolean has;                 /* a frame was seen */
  guint8 sample[GST_SAM_CUT_ROWS * GST_SAM_CUT_COLUMNS];        /* of it */
  guint bin[GST_SAM_CUT_BINS];  /* samples by their value */
} GstSamCut;

/* Returns whether the frame shows another scene than the one before. Frames
 * that cannot be read in system memory, and formats whose components have no
 * places of their own (v210, tiles, palettes), are not looked at. */
gboolean gst_sam_cut_look (GstSamCut * cut, const GstVideoInfo * info,
    GstBuffer * frame);

/* The same of a frame that is mapped. */
gboolean gst_sam_cut_look_at (GstSamCut * cut, const GstVideoFrame * view);

/* The same of its samples: luma, or green, as sam_painter_look() reads them. */
gboolean gst_sam_cut_take (GstSamCut * cut, const guint8 * sample);

G_END_DECLS

#endif /* __GST_SAM_CUT_H__ */

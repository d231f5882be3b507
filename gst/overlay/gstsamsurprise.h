/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SURPRISE_H__
#define __GST_SAM_SURPRISE_H__

#include "gstsamcoverage.h"
#include "common/gstsamcut.h"

G_BEGIN_DECLS

enum
{
  GST_SAM_SURPRISE_SAMPLES = GST_SAM_CUT_ROWS * GST_SAM_CUT_COLUMNS,
};

/**
 * GstSamSurprise:
 *
 * Sees where more of a video changes than before, away from what is covered:
 * something jumped. Begin with zeros.
 */
typedef struct
{
  GstSamCut cut;                /* has the samples of this frame */
  guint8 last[GST_SAM_SURPRISE_SAMPLES];
  guint8 covered[GST_SAM_SURPRISE_SAMPLES];     /* on the last frame */
  gboolean has_last;
  gdouble usual;                /* samples that change from frame to frame */
} GstSamSurprise;

void gst_sam_surprise_reset (GstSamSurprise * self);

/* After gst_sam_cut_look_at() or gst_sam_cut_take() of self->cut: whether the
 * frame surprises. */
gboolean gst_sam_surprise_look (GstSamSurprise * self,
    const GstSamCoverage * coverage);

G_END_DECLS

#endif /* __GST_SAM_SURPRISE_H__ */

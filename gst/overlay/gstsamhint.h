/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_HINT_H__
#define __GST_SAM_HINT_H__

#include "gstsamdrawing.h"

G_BEGIN_DECLS

/**
 * GstSamHint:
 *
 * What a click would take, in white. Must be zeroed before first use.
 */
typedef struct
{
  GstSamDrawing drawing;
  GstSamReport *report;         /* NULL: none was composed yet */
  GstSamSelection *white;
} GstSamHint;

/* Compose samtrack's answer to a preview for a frame of @info. @answer: a
 * message `samtrack-preview`, which must outlive the drawing; NULL: none.
 * Returns FALSE if there is nothing to paint: it has no mask, or an empty
 * one. */
gboolean gst_sam_hint_compose (GstSamHint * hint, const GstStructure * answer,
    const GstVideoInfo * info);
void gst_sam_hint_clear (GstSamHint * hint);

G_END_DECLS

#endif /* __GST_SAM_HINT_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PREVIEW_H__
#define __GST_SAM_PREVIEW_H__

#include "gstsamprompt.h"
#include "gstsamtrack.h"

G_BEGIN_DECLS

/**
 * GstSamPreview:
 *
 * What a prompt would be answered with is wanted, not its object. One request
 * waits, the newest. It has the lock of the worker.
 */
typedef struct
{
  gboolean waiting;
  GstSamPrompt prompt;          /* a point or a box; owns nothing */
  guint64 number;               /* of the last request; 0: there was none */
  gint64 due;                   /* monotonic time before which none is served */
} GstSamPreview;

/* Ask for one; returns its number. */
guint64 gst_sam_preview_ask (GstSamPreview * preview,
    const GstSamPrompt * prompt);

/* Whether it is time to serve a request; it is then taken. */
gboolean gst_sam_preview_take (GstSamPreview * preview, GstSamPrompt * prompt,
    guint64 * number);
/* It took from @start until now, and the next one waits: previews have the time
 * that steps leave, and a fifth of theirs. Without previews steps would have
 * @load of all time, 0 to 1. */
void gst_sam_preview_rest (GstSamPreview * preview, gint64 start, gdouble load);

/* Answer a request and post the answer. The thread that owns the tracker, or
 * one that takes its turn; without the lock. */
void gst_sam_preview_run (GstSamTrack * self, const GstSamPrompt * prompt,
    guint64 number);

G_END_DECLS

#endif /* __GST_SAM_PREVIEW_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_LATE_H__
#define __GST_SAM_LATE_H__

#include <gst/gst.h>

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/**
 * GstSamMoment:
 * @start: running time of the frame; NONE: not known
 * @end: running time at which the next one is expected
 * @width: of the frame, in pixels
 * @height: of the frame
 *
 * The frame that prompts are applied before. It is shown from @start until the
 * next frame is, which may come before @end.
 */
typedef struct
{
  GstClockTime start, end;
  gint width, height;
} GstSamMoment;

/* A frame that the tracker has processed. */
typedef struct
{
  guint64 index;                /* the engine's number of it */
  GstClockTime start;
  gint width, height;
} GstSamPassed;

/**
 * GstSamLate:
 *
 * The last frames that the tracker has processed, by their running time, so
 * that a late prompt finds the frame that its author saw. No locks of its own.
 */
typedef struct
{
  GstSamPassed frame[SAM_MAX_HISTORY];  /* a ring */
  guint first, length;
} GstSamLate;

/* Running times start anew, or the tracker has other frames. */
void gst_sam_late_forget (GstSamLate * late);

/* Frames come in the order of their running times; one that does not makes the
 * earlier ones be forgotten, as do frames without a time. */
void gst_sam_late_note (GstSamLate * late, guint64 index,
    const GstSamMoment * moment);

/* Returns the frame that was shown at @time, of those whose index is @oldest or
 * more; the first of these if @time is before them; NULL if there is none. */
const GstSamPassed *gst_sam_late_find (const GstSamLate * late,
    GstClockTime time, guint64 oldest);

/* Set *time, the running time that a click was made at (NONE: not known), to
 * one that a frame was shown at: the last one's if it is not known or later,
 * and with @doubtful also if it is before all frames. FALSE: there is none. */
gboolean gst_sam_late_clamp (const GstSamLate * late, gboolean doubtful,
    GstClockTime * time);

G_END_DECLS

#endif /* __GST_SAM_LATE_H__ */

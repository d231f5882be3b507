/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_MARKS_H__
#define __GST_SAM_MARKS_H__

#include "common/gstsammeta.h"
#include "common/gstsammutex.h"
#include "gstsamprompt.h"

G_BEGIN_DECLS

typedef struct
{
  guint64 serial;
  GstSamMark mark;
  gint space_width, space_height;       /* of the pixels; 0: not known */
  gboolean normalized;
  gboolean hidden;              /* of initial-prompt, or a mask */
  gboolean applied;
  guint64 step;                 /* number of the frame; 0: not tracked on yet */
  GstClockTime since;           /* of the first frame with the result */
} GstSamMarked;

/**
 * GstSamMarks:
 *
 * Points and boxes of recent prompts, to be shown: from the moment that a
 * prompt is accepted until a second after its result is seen.
 */
typedef struct
{
  GstSamMutex lock;

  /* guarded by @lock */
  GstSamMarked marked[GST_SAM_MAX_MARKS];       /* the oldest first */
  guint num_marked;
  guint64 last_serial;
  guint64 last_step;            /* number of the frame tracked on last */
  guint64 current;              /* object that clicks are for; 0: a new one */
} GstSamMarks;

/* All functions may be called by any thread. */

void gst_sam_marks_init (GstSamMarks * marks);
void gst_sam_marks_clear (GstSamMarks * marks);

/* The prompt was accepted and has its id. Returns a number for
 * gst_sam_marks_settle(), 0 for a command. */
guint64 gst_sam_marks_add (GstSamMarks * marks, const GstSamPrompt * prompt);

/* The tracker has taken the prompt, or it was refused. */
void gst_sam_marks_settle (GstSamMarks * marks, const GstSamPrompt * prompt,
    gboolean taken);

/* What the tracker took so far has an effect on the frame @number, which has
 * @width x @height px. */
void gst_sam_marks_step (GstSamMarks * marks, guint64 number, gint width,
    gint height);

/* The object is gone. */
void gst_sam_marks_forget (GstSamMarks * marks, guint64 id);
/* All objects are gone, or are others now. */
void gst_sam_marks_forget_all (GstSamMarks * marks);
/* Those that wait stay. */
void gst_sam_marks_forget_applied (GstSamMarks * marks);

void gst_sam_marks_set_current (GstSamMarks * marks, guint64 id);
guint64 gst_sam_marks_get_current (GstSamMarks * marks);

/* Write what is to be seen on a frame at @now, with results up to those of the
 * frame @reported, into report->mark. */
void gst_sam_marks_write (GstSamMarks * marks, GstSamReport * report,
    guint64 reported, GstClockTime now);

G_END_DECLS

#endif /* __GST_SAM_MARKS_H__ */

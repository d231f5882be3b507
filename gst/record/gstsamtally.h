/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_TALLY_H__
#define __GST_SAM_TALLY_H__

#include "common/gstsammutex.h"

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamTally:
 *
 * Counts what samexport has written and lost, and tells the application of
 * outages: one warning message when an outage begins, one element message
 * `samexport-loss` when it is over. All functions may be called from any
 * thread, except init, clear and start.
 */
typedef struct
{
  GstElement *element;          /* (nullable): posts the messages; not owned */
  gboolean strict;              /* the first loss is an error, not a warning */
  GstSamMutex lock;

  /* guarded by @lock */
  guint64 frames_in, written, lost, bytes, reconnects;
  GstClockTime first_time, last_time;   /* stream times of frames that came in;
                                         * NONE: none had one */
  gboolean outage, failed;      /* failed: the error was posted */
  guint64 lost_before;          /* value of @lost when the outage began */
  gint64 last_loss;             /* monotonic, us */
  gint64 last_progress;         /* monotonic, us */
} GstSamTally;

void gst_sam_tally_init (GstSamTally * tally, GstElement * element);
void gst_sam_tally_clear (GstSamTally * tally);
void gst_sam_tally_start (GstSamTally * tally);

/* @stream_time: GST_CLOCK_TIME_NONE: the frame has none */
void gst_sam_tally_add_frame (GstSamTally * tally, GstClockTime stream_time);
void gst_sam_tally_add_reconnect (GstSamTally * tally);

/* Some data was written. An outage is over if nothing was lost for a second. */
void gst_sam_tally_add_written (GstSamTally * tally, guint frames, gsize bytes);

/* Frames are lost, for a reason of the domain GST_RESOURCE_ERROR; an outage
 * begins unless there is one. @frames 0: nothing is lost yet. */
void gst_sam_tally_add_lost (GstSamTally * tally, guint frames,
    const GError * why);

/* Frames that were counted as lost are written after all. */
void gst_sam_tally_regain (GstSamTally * tally, guint frames);

/* Data moves although no frame is complete yet. */
void gst_sam_tally_note_progress (GstSamTally * tally);

/* Time in us since something was last written, or since @from if that is later.
 */
gint64 gst_sam_tally_get_idle (GstSamTally * tally, gint64 from);

/* Whether the stream must end with an error, which was posted. */
gboolean gst_sam_tally_has_failed (GstSamTally * tally);

/* The stream has ended: report an outage that lasts. */
void gst_sam_tally_end (GstSamTally * tally);

guint64 gst_sam_tally_get_lost (GstSamTally * tally);

/* Caller frees it with gst_structure_free(). */
GstStructure *gst_sam_tally_to_structure (GstSamTally * tally,
    const gchar * name);

G_END_DECLS

#endif /* __GST_SAM_TALLY_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ANALYTICS_H__
#define __GST_SAM_ANALYTICS_H__

#include "gstsamfound.h"
#include "gstsammeta.h"

G_BEGIN_DECLS

/**
 * GstSamAnalytics:
 *
 * The results as GstAnalytics metadata, beside a GstSamTrackMeta: what other
 * elements of GStreamer 1.24 and later read and draw. Used by the streaming
 * thread. Built without the library, no frame gets or has any.
 */
typedef struct
{
  /* Objects of the last frame: running time at which each was first seen. */
  struct
  {
    guint64 id;
    GstClockTime first;
  } seen[SAM_MAX_OBJECTS];
  guint num_seen;
  GstSamReport report;          /* of another samtrack, while reading */
} GstSamAnalytics;

/* Whether this build has the library. */
gboolean gst_sam_analytics_is_built (void);

/* Read the detections of a frame, the first SAM_SEED_MAX_READ of them, but not
 * the objects of a samtrack. A frame without any leaves @found as it is, but
 * with @empty_counts the detector has looked at every frame. */
void gst_sam_analytics_read (GstSamAnalytics * analytics, GstSamFound * found,
    GstBuffer * frame, guint64 number, gboolean empty_counts);

/* Add a detection to the relations of the frame: the name of its class, its box
 * in px and its score. */
void gst_sam_analytics_add_detection (GstBuffer * frame, GQuark label, gint x,
    gint y, gint w, gint h, gfloat score);

/* Add what the report tells to the relations of the frame: per object that is
 * seen its box and, from GStreamer 1.26 on, its mask; per object its track. */
void gst_sam_analytics_add (GstSamAnalytics * analytics, GstBuffer * frame,
    const GstSamReport * report);

G_END_DECLS

#endif /* __GST_SAM_ANALYTICS_H__ */

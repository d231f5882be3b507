/* SPDX-License-Identifier: MIT */
/* Linked instead of gstsamanalytics.c where GStreamer has no analytics
 * library. */

#include "gstsamanalytics.h"

gboolean
gst_sam_analytics_is_built (void)
{
  return FALSE;
}

void
gst_sam_analytics_read (GstSamAnalytics * analytics, GstSamFound * found,
    GstBuffer * frame, guint64 number, gboolean empty_counts)
{
}

void
gst_sam_analytics_add (GstSamAnalytics * analytics, GstBuffer * frame,
    const GstSamReport * report)
{
}

void
gst_sam_analytics_add_detection (GstBuffer * frame, GQuark label, gint x,
    gint y, gint w, gint h, gfloat score)
{
}

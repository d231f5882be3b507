/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_RECORD_H__
#define __GST_SAM_RECORD_H__

#include "common/gstsammeta.h"

G_BEGIN_DECLS

/* Bytes of an object's label and of an element's name that are kept, with the
 * final 0. */
#define GST_SAM_TEXT_BYTES 64

/**
 * GstSamRecord:
 *
 * What is kept of a frame.
 */
typedef struct
{
  guint64 frame;                /* index of the frame since start */
  guint stream;                 /* index of its stream since start */
  GstClockTime pts, duration, stream_time, running_time;
  gchar reference[GST_SAM_TEXT_BYTES];  /* the clock of its reference timestamp;
                                         * "": it has none */
  GstClockTime reference_time;
  gint width, height;           /* px; 0: not known */

  gboolean tracked;             /* it has a meta, and this is its content: */
  gchar source[GST_SAM_TEXT_BYTES];     /* "": not known */
  GstSamReport report;          /* holds a reference to its mask */
  gchar label[SAM_MAX_OBJECTS][GST_SAM_TEXT_BYTES];     /* "": none */
  GValue zone_events;           /* an array of samzones' structures, or unset */
} GstSamRecord;

/* Fill in the times of @buf. */
void gst_sam_record_set_times (GstSamRecord * record, GstBuffer * buf,
    const GstSegment * segment);

/* Fill in all that comes from the metas of @buf. @record: zeroed or cleared.
 * @tracker: name of the samtrack whose meta counts; NULL: the first meta. Valid
 * UTF-8 is kept of texts. */
void gst_sam_record_set_metas (GstSamRecord * record, GstBuffer * buf,
    const gchar * tracker);
void gst_sam_record_clear (GstSamRecord * record);

G_END_DECLS

#endif /* __GST_SAM_RECORD_H__ */

/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_TIMELINE_H__
#define __GST_SAM_TIMELINE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamTimeline:
 *
 * Detects jumps of a stream without a flush: non-flushing seeks, and segments
 * that are played again.
 *
 * A new segment alone is not a jump: its rate, end or base may have changed, or
 * the next part of a file has begun. Therefore the first frame after a SEGMENT
 * event is compared with the last frame before it. The first frame of a stream
 * and the first one after a flush are not jumps. Streaming thread only.
 */
typedef struct
{
  gboolean known;               /* the times below are set */
  GstClockTime stream_time, running_time;       /* of the last frame */
  gboolean moved;               /* a SEGMENT event came after it */
  gboolean ended;               /* a SEGMENT_DONE event came after it */
} GstSamTimeline;

void gst_sam_timeline_start (GstSamTimeline * timeline);

/* Must be called for every event of the sink pad. */
void gst_sam_timeline_note_event (GstSamTimeline * timeline, GstEvent * event);

/* Must be called once per frame. Returns TRUE if the stream has jumped between
 * the last frame and this one; FALSE for frames without a timestamp, outside of
 * the segment, or in segments that are not in time format. */
gboolean gst_sam_timeline_jumps (GstSamTimeline * timeline,
    const GstSegment * segment, GstClockTime pts);

G_END_DECLS

#endif /* __GST_SAM_TIMELINE_H__ */

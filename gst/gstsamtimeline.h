#ifndef __GST_SAM_TIMELINE_H__
#define __GST_SAM_TIMELINE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamTimeline:
 *
 * Finds the frame at which a stream jumps without a flush: after a seek that
 * does not flush, or where a segment begins again.
 *
 * A new segment alone is no jump. Its rate, its end or its base may have
 * changed, or the next part of a file may have begun. So the first frame after
 * it is compared with the last one before it. The first frame of a stream, and
 * the first one after a flush, is no jump. Streaming thread only.
 */
typedef struct
{
  gboolean known;               /* there was a frame */
  GstClockTime stream_time, running_time;       /* of the last frame */
  gboolean moved;               /* a SEGMENT event came after it */
  gboolean ended;               /* a SEGMENT_DONE event came after it */
} GstSamTimeline;

void gst_sam_timeline_start (GstSamTimeline * timeline);

/* Every event of the sink pad. */
void gst_sam_timeline_note_event (GstSamTimeline * timeline, GstEvent * event);

/* Every frame, once. TRUE: the stream does not go on from the last frame to
 * this one. Frames without a timestamp or outside of the segment, and those of
 * segments that do not count time, never jump. */
gboolean gst_sam_timeline_jumps (GstSamTimeline * timeline,
    const GstSegment * segment, GstClockTime pts);

G_END_DECLS

#endif /* __GST_SAM_TIMELINE_H__ */

/* SPDX-License-Identifier: MIT */
#include "gstsamtimeline.h"

#include <math.h>
#include <string.h>

/* Masks survive this long without a frame, as they do under overload. A change
 * of rate may repeat what waits in queues behind the element. */
#define SLACK (GST_SECOND / 2)

void
gst_sam_timeline_start (GstSamTimeline * timeline)
{
  memset (timeline, 0, sizeof *timeline);
}

void
gst_sam_timeline_note_event (GstSamTimeline * timeline, GstEvent * event)
{
  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_STREAM_START:
    case GST_EVENT_FLUSH_STOP:
      gst_sam_timeline_start (timeline);
      break;
    case GST_EVENT_SEGMENT:
      timeline->moved = TRUE;
      break;
    case GST_EVENT_SEGMENT_DONE:
      timeline->ended = TRUE;
      break;
    default:
      break;
  }
}

/* Sources may give frames that lie before or behind the segment; sinks drop
 * them. */
static gboolean
get_times (const GstSegment * segment, GstClockTime pts,
    GstClockTime * stream_time, GstClockTime * running_time)
{
  if (segment->format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID (pts) ||
      !gst_segment_clip (segment, GST_FORMAT_TIME, pts, pts, NULL, NULL))
    return FALSE;
  *stream_time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME, pts);
  *running_time = gst_segment_to_running_time (segment, GST_FORMAT_TIME, pts);
  return GST_CLOCK_TIME_IS_VALID (*stream_time) &&
      GST_CLOCK_TIME_IS_VALID (*running_time);
}

gboolean
gst_sam_timeline_jumps (GstSamTimeline * timeline, const GstSegment * segment,
    GstClockTime pts)
{
  const gdouble rate = segment->rate * segment->applied_rate;
  const GstClockTimeDiff back = timeline->ended ? 0 : SLACK;
  GstClockTime stream_time, running_time;
  gdouble advance, elapsed;
  gboolean jumps;

  if (!get_times (segment, pts, &stream_time, &running_time))
    return FALSE;
  /* How far the content moved in the direction of playback, and how far it
   * should have: where frames are missing, both are large. */
  advance = GST_CLOCK_DIFF (timeline->stream_time, stream_time);
  advance = rate < 0 ? -advance : advance;
  elapsed = GST_CLOCK_DIFF (timeline->running_time, running_time) * fabs (rate);
  jumps = timeline->known && timeline->moved &&
      (advance < -back || advance > MAX (elapsed, 0) + SLACK);
  timeline->known = TRUE;
  timeline->stream_time = stream_time;
  timeline->running_time = running_time;
  timeline->moved = timeline->ended = FALSE;
  return jumps;
}

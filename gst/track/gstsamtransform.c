/* SPDX-License-Identifier: MIT */
/* One frame in the streaming thread: decides whether it is tracked, in this
 * thread or the worker's, and attaches its metas. */

#include "gstsamtrackprivate.h"

#include "common/gstsamcuda.h"
#include "common/gstsamframe.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* How long a frame may wait where the caps tell no rate, and at most. */
#define UNKNOWN_RATE_WAIT (16 * GST_MSECOND)
#define LONGEST_WAIT (3600 * GST_SECOND)

typedef enum
{
  VERDICT_INFER,
  VERDICT_SKIP,                 /* as asked: interval, gap */
  VERDICT_FOLLOW,               /* as asked, but the fast model goes on */
  VERDICT_LATE,                 /* overload: pass with the last masks */
  VERDICT_DROP,                 /* overload: do not pass */
  VERDICT_IDLE,                 /* nothing to track */
  VERDICT_WATCH,                /* neither, but a late prompt may name it */
} Verdict;

/* How a frame fares. */
typedef struct
{
  Verdict verdict;
  gboolean apart;               /* it is the worker that tracks */
  gboolean tracked;             /* on this very frame */
  gboolean fresh;               /* the masks are others than the last frame's */
  GstClockTime start, end;      /* running times */
  gint64 waited;                /* ns, for the step */
} Passage;

/* Tell the application when an object appears, is lost, or is found again. */
static void
post_changes (GstSamTrack * self, const GstSamReport * report)
{
  guint8 seen[SAM_MAX_OBJECTS + 1] = { 0, };
  guint i;

  for (i = 0; i < report->num_objects; i++) {
    const GstSamObject *object = &report->object[i];
    enum sam_object_state state = object->state;
    guint8 *last = &self->state[object->slot];

    seen[object->slot] = TRUE;
    /* After a late prompt, the frame where it is found again may be past. */
    if (*last == SAM_OBJECT_LOST + 1 && state == SAM_OBJECT_TRACKED)
      state = SAM_OBJECT_FOUND;
    if (*last != state + 1 && (state == SAM_OBJECT_NEW ||
            state == SAM_OBJECT_LOST || state == SAM_OBJECT_FOUND))
      gst_element_post_message (GST_ELEMENT (self),
          gst_message_new_element (GST_OBJECT (self),
              gst_structure_new ("samtrack-object",
                  "id", G_TYPE_UINT64, object->id,
                  "state", G_TYPE_STRING,
                  gst_sam_object_state_get_name (state),
                  "running-time", G_TYPE_UINT64, report->running_time, NULL)));
    *last = state + 1;
  }
  for (i = 0; i <= SAM_MAX_OBJECTS; i++) {
    if (!seen[i])
      self->state[i] = 0;
  }
}

/* The policy, with what auto stands for. */
static gint
get_policy (GstSamTrack * self)
{
  gint policy;

  gst_sam_object_lock (self);
  policy = self->policy;
  gst_sam_object_unlock (self);
  if (policy == GST_SAM_TRACK_OVERLOAD_AUTO)
    policy = gst_sam_qos_is_live (&self->qos, GST_BASE_TRANSFORM (self)) ?
        GST_SAM_TRACK_OVERLOAD_SKIP : GST_SAM_TRACK_OVERLOAD_BLOCK;
  return policy;
}

static void
post_qos (GstSamTrack * self, GstBuffer * buf, GstClockTime running_time,
    GstClockTimeDiff jitter)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);
  GstMessage *message;

  if (!gst_sam_qos_may_post (&self->qos))
    return;
  message = gst_message_new_qos (GST_OBJECT (self),
      gst_sam_qos_is_live (&self->qos, base), running_time,
      gst_segment_to_stream_time (&base->segment, GST_FORMAT_TIME,
          GST_BUFFER_PTS (buf)), GST_BUFFER_PTS (buf),
      GST_BUFFER_DURATION (buf));
  gst_message_set_qos_values (message, jitter, 1.0, 1000000);
  gst_message_set_qos_stats (message, GST_FORMAT_BUFFERS,
      gst_sam_stats_get_count (self->stats, GST_SAM_COUNT_INFERRED),
      gst_sam_stats_get_count (self->stats, GST_SAM_COUNT_SKIPPED) +
      gst_sam_stats_get_count (self->stats, GST_SAM_COUNT_DROPPED));
  gst_element_post_message (GST_ELEMENT (self), message);
}

/* @apart: it is the worker that would track. */
static Verdict
judge (GstSamTrack * self, GstBuffer * buf, GstClockTime running_time,
    gint policy, gboolean apart)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);
  GstClockTimeDiff jitter;
  guint64 passed;
  guint interval;
  gboolean watch;

  gst_sam_object_lock (self);
  interval = self->interval;
  watch = self->history && (self->history_idle ||
      self->navigation_mode != GST_SAM_TRACK_NAVIGATION_NONE);
  gst_sam_object_unlock (self);
  watch |= self->seed && (self->found->looked ||
      gst_sam_seed_has_detector (self->seed));

  if (gst_sam_pending_is_idle (self->pending))
    return watch && !GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_GAP) ?
        VERDICT_WATCH : VERDICT_IDLE;
  if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_GAP))
    return VERDICT_SKIP;
  /* Nothing was inferred yet, or all of it was forgotten: begin now. */
  if (self->report->state == GST_SAM_REPORT_IDLE)
    return VERDICT_INFER;
  passed = apart ? gst_sam_worker_get_passed (&self->worker, self->number) :
      self->passed;
  if (passed < interval)
    return apart && gst_sam_follow_is_on (self->follow) ? VERDICT_FOLLOW :
        VERDICT_SKIP;
  if (policy == GST_SAM_TRACK_OVERLOAD_BLOCK ||
      !gst_sam_qos_is_late (&self->qos, base, running_time, apart, &jitter))
    return VERDICT_INFER;
  post_qos (self, buf, running_time, jitter);
  return policy == GST_SAM_TRACK_OVERLOAD_DROP ? VERDICT_DROP : VERDICT_LATE;
}

/* The frame has no objects: none is left, none was ever named, or their first
 * step has not ended. */
static void
idle (GstSamTrack * self)
{
  if (self->report->state != GST_SAM_REPORT_IDLE ||
      self->report->width != GST_VIDEO_INFO_WIDTH (&self->info) ||
      self->report->height != GST_VIDEO_INFO_HEIGHT (&self->info))
    gst_sam_track_forget_frame (self);
}

/* The frame goes without an inference of its own: the last masks are older. */
static void
pass (GstSamTrack * self)
{
  GstSamReport *report = self->report;

  self->passed++;
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_SKIPPED);
  if (report->state == GST_SAM_REPORT_IDLE) {
    idle (self);
    return;
  }
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_STALE);
  report->state = GST_SAM_REPORT_STALE;
  report->age = self->number - self->reported;
  gst_sam_stats_add (self->stats, GST_SAM_COUNT_STALE_AGES, report->age);
  if (report->width != GST_VIDEO_INFO_WIDTH (&self->info) ||
      report->height != GST_VIDEO_INFO_HEIGHT (&self->info))
    gst_sam_report_scale (report, GST_VIDEO_INFO_WIDTH (&self->info),
        GST_VIDEO_INFO_HEIGHT (&self->info));
}

/* How long a frame lasts, ns. */
static GstClockTime
get_duration (GstSamTrack * self)
{
  const gint fps_n = GST_VIDEO_INFO_FPS_N (&self->info);

  return fps_n > 0 ? gst_util_uint64_scale (GST_SECOND,
      GST_VIDEO_INFO_FPS_D (&self->info), fps_n) : 2 * UNKNOWN_RATE_WAIT;
}

/* What self->step found is to be followed. Returns FALSE if frames are to carry
 * it as it is, since the fast model has not come to its masks. */
static gboolean
follow_step (GstSamTrack * self)
{
  GstSamStep *step = &self->step;

  gst_sam_follow_set_need (self->follow, step->ns, get_duration (self),
      self->number);
  if (!gst_sam_follow_is_on (self->follow))
    return FALSE;
  /* Objects of a file that was loaded since may have the same ids. */
  if (step->restores != self->restores)
    return self->follow->is_shown;
  self->marked = step->number;
  gst_sam_follow_anchor (self->follow, self, step);
  if (self->follow->is_shown)
    post_changes (self, step->report);
  return self->follow->is_shown;
}

/* What self->step found is from now on what frames carry. @apart: it was the
 * worker's. */
static GstFlowReturn
take_step (GstSamTrack * self, gboolean apart)
{
  GstSamStep *step = &self->step;
  GstSamReport *last = self->report;

  if (step->ret != GST_FLOW_OK)
    return step->ret;
  gst_sam_stats_set_info (self->stats, &step->tracker);
  if (step->ns) {
    self->passed = 0;
    gst_sam_stats_count (self->stats, GST_SAM_COUNT_INFERRED);
    gst_sam_qos_note_inference (&self->qos);
  }
  if (step->report->state == GST_SAM_REPORT_IDLE ||
      !gst_sam_meta_same_picture (&step->info, &self->info)) {
    if (!self->follow->is_shown)
      idle (self);
    return GST_FLOW_OK;
  }
  if (apart && follow_step (self))
    return GST_FLOW_OK;
  self->report = step->report;
  step->report = last;
  gst_sam_report_drop_masks (last);  /* no later frame carries them */
  self->report->source = self->source;
  self->reported = self->marked = step->number;
  post_changes (self, self->report);
  gst_sam_track_show (self);
  return GST_FLOW_OK;
}

/* A frame stayed in the element for @ns: that is the latency to report. */
static void
measure (GstSamTrack * self, gint64 ns)
{
  if (!gst_sam_qos_measure (&self->qos, ns))
    return;
  gst_sam_stats_set_latency (self->stats,
      gst_sam_qos_get_reported (&self->qos));
  if (gst_sam_qos_is_live (&self->qos, GST_BASE_TRANSFORM (self)))
    gst_element_post_message (GST_ELEMENT (self),
        gst_message_new_latency (GST_OBJECT (self)));
}

/* Track on the frame here and now. Where frames may wait at all, they wait for
 * masks that are being read: what comes out does not depend on how long that
 * takes. */
static GstFlowReturn
track_here (GstSamTrack * self, GstBuffer * buf, const Passage * p,
    gboolean wait)
{
  GstSamStep *step = &self->step;
  GstSamFound *found = step->found;

  step->found = self->found;
  self->found = found;
  found->looked = FALSE;
  gst_clear_buffer (&step->frame);
  step->frame = buf;
  step->info = self->info;
  step->running_time = p->start;
  step->running_end = p->end;
  step->number = self->number;
  gst_sam_step_run (step, self, wait);
  step->frame = NULL;
  return take_step (self, FALSE);
}

/* The newest masks of the fast model are from now on what frames carry. */
static void
collect_followed (GstSamTrack * self, Passage * p)
{
  if (!gst_sam_follow_is_on (self->follow)) {
    self->follow->is_shown = FALSE;
    return;
  }
  if (!gst_sam_follow_take (self->follow, &self->report, &self->reported))
    return;
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_FOLLOWED);
  p->fresh = TRUE;
  self->report->source = self->source;
  gst_sam_track_show (self);
}

/* What the worker has found since it was last asked, and the fast model. */
static GstFlowReturn
collect (GstSamTrack * self, Passage * p)
{
  GstFlowReturn ret = GST_FLOW_OK;

  while (ret == GST_FLOW_OK && gst_sam_worker_take (&self->worker,
          &self->step)) {
    p->fresh |= self->step.ns || self->report->state != GST_SAM_REPORT_IDLE;
    ret = take_step (self, TRUE);
    if (self->step.ns) {
      self->last_step = self->step.ns;
      gst_sam_stats_frame (self->stats, &self->step.times, self->step.ns,
          self->step.ns + self->added);
    }
  }
  if (ret == GST_FLOW_OK)
    collect_followed (self, p);
  return ret;
}

/* How long a frame may wait for masks of its own, ns. */
static gint64
get_max_wait (GstSamTrack * self)
{
  const gboolean follows = gst_sam_follow_is_on (self->follow);
  GstClockTime wait;

  gst_sam_object_lock (self);
  wait = self->max_wait;
  gst_sam_object_unlock (self);
  if (!GST_CLOCK_TIME_IS_VALID (wait))
    wait = get_duration (self) / (follows ? 1 : 2);
  return MIN (wait, LONGEST_WAIT);
}

/* Leave the frame to the fast model. */
static GstFlowReturn
leave_to_follow (GstSamTrack * self, GstBuffer * buf, Passage * p,
    gint64 wait)
{
  const gboolean answers = gst_sam_follow_has_prompts (self->follow);
  gint64 start;

  if (!gst_sam_follow_leave (self->follow, self, buf, p->start, self->number))
    return GST_FLOW_ERROR;
  if (wait < self->follow->last_step ||
      !(self->follow->is_shown || answers))
    return GST_FLOW_OK;
  start = gst_sam_now_ns ();
  gst_sam_follow_wait (self->follow, wait);
  p->waited += gst_sam_now_ns () - start;
  return collect (self, p);
}

/* Leave the frame to the worker, and wait for it where that may be of use. */
static GstFlowReturn
track_apart (GstSamTrack * self, GstBuffer * buf, Passage * p)
{
  const gint64 wait = get_max_wait (self);
  gint64 start;
  GstFlowReturn ret;

  if (p->verdict != VERDICT_FOLLOW && !gst_sam_worker_leave (&self->worker,
          self, buf, p->start, p->end, self->number))
    return GST_FLOW_ERROR;
  if (p->verdict != VERDICT_WATCH && gst_sam_follow_is_on (self->follow))
    return leave_to_follow (self, buf, p, wait);
  if (p->verdict == VERDICT_WATCH || wait < self->last_step)
    return GST_FLOW_OK;
  start = gst_sam_now_ns ();
  gst_sam_worker_wait (&self->worker, wait);
  p->waited = gst_sam_now_ns () - start;
  ret = collect (self, p);
  /* Of its own step's time, what goes beyond it is what the element adds. */
  if (self->step.number == self->number)
    p->waited = MIN (p->waited, self->step.ns);
  return ret;
}

/* NONE where the segment does not count time, such as that of a raw file. */
static GstClockTime
get_running_time (const GstSegment * segment, GstBuffer * buf)
{
  if (segment->format != GST_FORMAT_TIME)
    return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time (segment, GST_FORMAT_TIME,
      GST_BUFFER_PTS (buf));
}

/* When the next frame is expected. */
static GstClockTime
get_running_end (GstSamTrack * self, GstBuffer * buf, GstClockTime start)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;
  const gint fps_n = GST_VIDEO_INFO_FPS_N (&self->info);
  GstClockTime duration = GST_BUFFER_DURATION (buf);

  if (!GST_CLOCK_TIME_IS_VALID (start))
    return GST_CLOCK_TIME_NONE;
  if (!GST_CLOCK_TIME_IS_VALID (duration))
    duration = fps_n > 0 ? gst_util_uint64_scale (GST_SECOND,
        GST_VIDEO_INFO_FPS_D (&self->info), fps_n) : 0;
  duration = MIN (duration, GST_SECOND) / ABS (segment->rate);
  return start + MAX (duration, 1);
}

static void
follow_jumps (GstSamTrack * self, GstBuffer * buf)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;

  if (!gst_sam_timeline_jumps (&self->timeline, segment, GST_BUFFER_PTS (buf)))
    return;
  GST_INFO_OBJECT (self, "the stream jumps to %" GST_SEGMENT_FORMAT, segment);
  gst_sam_track_jump (self);
}

/* GAP frames have no pixels that count. */
static gboolean
sees_cut (GstSamTrack * self, GstBuffer * buf)
{
  if (gst_sam_cuda_is_memory (buf) && !self->told_blind) {
    self->told_blind = TRUE;
    GST_ELEMENT_WARNING (self, STREAM, NOT_IMPLEMENTED,
        ("The frames are in GPU memory, where scene cuts are not seen: "
            "reset-on=cut has no effect."), (NULL));
  }
  return !GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_GAP) &&
      gst_sam_cut_look (&self->cut, &self->given, buf);
}

/* What "reset-on" asks for. The first frame of a stream ends nothing. */
static void
follow_scenes (GstSamTrack * self, GstBuffer * buf)
{
  const gchar *why = NULL;
  gint mode;

  gst_sam_object_lock (self);
  mode = self->reset_on;
  gst_sam_object_unlock (self);
  if (mode != GST_SAM_TRACK_RESET_ON_CUT)
    self->cut.has = FALSE;
  else if (sees_cut (self, buf))
    why = "cut";
  if (mode == GST_SAM_TRACK_RESET_ON_DISCONT && GST_BUFFER_IS_DISCONT (buf))
    why = "discont";
  if (!why || !self->since_reset)
    return;
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("samtrack-reset", "reason", G_TYPE_STRING, why,
              "running-time", G_TYPE_UINT64,
              get_running_time (&GST_BASE_TRANSFORM (self)->segment, buf),
              NULL)));
  gst_sam_track_reset (self);
}

/* From now on frames are tracked in this thread. */
static void
stop_apart (GstSamTrack * self)
{
  gst_sam_worker_drain (&self->worker);
  if (self->follow->is_shown || gst_sam_follow_has_prompts (self->follow))
    gst_sam_follow_forget (self->follow, self->number);
}

/* The fast model must not take the objects of a file for its own. */
static void
note_restores (GstSamTrack * self)
{
  const guint restores = gst_sam_pending_get_restores (self->pending);

  if (restores != self->restores)
    gst_sam_follow_forget (self->follow, self->number - 1);
  self->restores = restores;
}

/* The frame in a format that the engine reads; NULL after posting an error. */
static GstBuffer *
get_pixels (GstSamTrack * self, GstBuffer * buf)
{
  GstBuffer *pixels;
  gchar *why = NULL;

  if (gst_sam_frame_has_engine_format (&self->given))
    return buf;
  pixels = gst_sam_unpack (&self->unpack, &self->given, buf, &why);
  if (!pixels)
    GST_ELEMENT_ERROR (self, STREAM, FAILED, ("The frame was refused: %s.",
            why), (NULL));
  else
    gst_sam_stats_count (self->stats, GST_SAM_COUNT_UNPACKED);
  g_free (why);
  return pixels;
}

/* Track on the frame, here or apart. */
static GstFlowReturn
track_on (GstSamTrack * self, GstBuffer * buf, Passage * p, gboolean wait)
{
  GstBuffer *pixels = get_pixels (self, buf);

  if (!pixels)
    return GST_FLOW_ERROR;
  return p->apart ? track_apart (self, pixels, p) :
      track_here (self, pixels, p, wait);
}

/* Track on the frame, or not; see to it that self->report is what it
 * carries. */
static GstFlowReturn
process (GstSamTrack * self, GstBuffer * buf, Passage * p)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);
  const gboolean live = gst_sam_qos_is_live (&self->qos, base);
  const gint policy = get_policy (self);
  GstFlowReturn ret;

  p->apart = live && policy == GST_SAM_TRACK_OVERLOAD_SKIP;
  if (!p->apart)
    stop_apart (self);
  note_restores (self);
  ret = collect (self, p);
  if (ret != GST_FLOW_OK)
    return ret;
  p->start = get_running_time (&base->segment, buf);
  p->end = get_running_end (self, buf, p->start);
  p->verdict = judge (self, buf, p->start, policy, p->apart);
  if (p->verdict == VERDICT_INFER || p->verdict == VERDICT_WATCH ||
      p->verdict == VERDICT_FOLLOW)
    ret = track_on (self, buf, p, !live ||
        policy == GST_SAM_TRACK_OVERLOAD_BLOCK);
  if (!p->apart && ret == GST_FLOW_OK)
    gst_sam_worker_serve (&self->worker, self);
  /* A prompt may have come in between. */
  if (p->verdict == VERDICT_WATCH)
    p->verdict = !p->apart && self->step.ns ? VERDICT_INFER : VERDICT_IDLE;
  p->tracked = (p->verdict == VERDICT_INFER && self->step.number ==
      self->number && !self->follow->is_shown) || (self->follow->is_shown &&
      self->reported == self->number);
  p->fresh |= p->tracked;
  if (ret != GST_FLOW_OK)
    return ret;
  if (p->verdict == VERDICT_IDLE)
    idle (self);
  else if (p->verdict != VERDICT_DROP && !p->tracked)
    pass (self);
  return GST_FLOW_OK;
}

/* The prompts that can be seen on this frame. */
static void
show_prompts (GstSamTrack * self, GstBuffer * buf)
{
  GstSamReport *report = self->report;
  GstClockTime now = get_running_time (&GST_BASE_TRANSFORM (self)->segment,
      buf);

  if (!GST_CLOCK_TIME_IS_VALID (now))
    now = self->number * (GST_SECOND / 30);
  gst_sam_marks_write (&self->pending->marks, report, self->marked, now);
  /* a detector's boxes have no marks */
  report->waiting |= report->state == GST_SAM_REPORT_IDLE &&
      !gst_sam_pending_is_idle (self->pending);
  if (!gst_sam_pending_is_known (self->pending, report->current))
    report->current = 0;
}

/* @stayed: ns that the frame was in this element. */
static void
account (GstSamTrack * self, const Passage * p, gint64 stayed)
{
  const GstSamStep *step = &self->step;

  if (p->apart) {
    self->added = stayed - p->waited;
    if (p->verdict != VERDICT_IDLE)
      measure (self, stayed);
  } else if (p->tracked && step->ns) {
    gst_sam_stats_frame (self->stats, &step->times, step->ns, stayed);
    measure (self, stayed);
  }
}

/* What a detector upstream has found on the frame. */
static void
read_detections (GstSamTrack * self, GstBuffer * buf)
{
  const GstSamSeedSettings *settings = &self->seeding;

  if (settings->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_ROI)
    gst_sam_found_read (self->found, buf, self->number, settings->roi_empty);
  else if (settings->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_ANALYTICS)
    gst_sam_analytics_read (self->analytics, self->found, buf, self->number,
        settings->roi_empty);
}

static gboolean
is_intact (GstSamTrack * self, GstBuffer * buf)
{
  if (!self->strict || !GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_CORRUPTED))
    return TRUE;
  GST_ELEMENT_ERROR (self, STREAM, DECODE,
      ("The decoder marked the frame at %" GST_TIME_FORMAT " as damaged.",
          GST_TIME_ARGS (GST_BUFFER_PTS (buf))), (NULL));
  return FALSE;
}

GstFlowReturn
gst_sam_track_transform_ip (GstBaseTransform * base, GstBuffer * buf)
{
  GstSamTrack *self = GST_SAM_TRACK (base);
  const gint64 start = gst_sam_now_ns ();
  Passage p = { 0, };
  GstFlowReturn ret;

  if (!is_intact (self, buf))
    return GST_FLOW_ERROR;
  follow_jumps (self, buf);
  follow_scenes (self, buf);
  self->number++;
  self->since_reset++;
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_FRAMES_IN);
  read_detections (self, buf);
  ret = process (self, buf, &p);
  if (ret == GST_FLOW_OK && g_atomic_int_get (&self->failed))
    ret = GST_FLOW_ERROR;
  if (ret != GST_FLOW_OK)
    return ret;
  if (p.verdict == VERDICT_DROP) {
    gst_sam_stats_count (self->stats, GST_SAM_COUNT_DROPPED);
    gst_sam_pad_push_gap (self, buf);
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  show_prompts (self, buf);
  gst_sam_meta_add (buf, self->report);
  gst_sam_analytics_add (self->analytics, buf, self->report);
  gst_sam_pad_push (self, buf, p.fresh);
  account (self, &p, gst_sam_now_ns () - start - self->overlay.pushing);
  return GST_FLOW_OK;
}

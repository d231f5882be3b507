/* Processing of one frame: prompts, inference or skipping, metas. */

#include "gstsamcuda.h"
#include "gstsamframe.h"
#include "gstsamtrackprivate.h"

#include <string.h>
#include <time.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

typedef enum
{
  VERDICT_INFER,
  VERDICT_SKIP,                 /* as asked: interval, gap */
  VERDICT_LATE,                 /* overload: pass with the last masks */
  VERDICT_DROP,                 /* overload: do not pass */
  VERDICT_IDLE,                 /* nothing to track */
} Verdict;

static gint64
now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * G_GINT64_CONSTANT (1000000000) + t.tv_nsec;
}

void
gst_sam_track_free_mask_pool (GstSamTrack * self)
{
  if (self->mask_pool)
    gst_buffer_pool_set_active (self->mask_pool, FALSE);
  gst_clear_object (&self->mask_pool);
}

static void
set_mask_pool (GstSamTrack * self, gboolean on_device)
{
  const gsize size = (gsize) self->mask_width * self->mask_height;
  GstStructure *config;

  gst_sam_track_free_mask_pool (self);
  if (on_device) {
    self->mask_pool = gst_sam_cuda_pool_new (self->cuda_context, size);
  } else {
    self->mask_pool = gst_buffer_pool_new ();
    config = gst_buffer_pool_get_config (self->mask_pool);
    gst_buffer_pool_config_set_params (config, NULL, size, 2, 0);
    gst_buffer_pool_set_config (self->mask_pool, config);
  }
  if (self->mask_pool && !gst_buffer_pool_set_active (self->mask_pool, TRUE))
    gst_clear_object (&self->mask_pool);
}

static GstBuffer *
take_mask (GstSamTrack * self)
{
  GstBuffer *mask = NULL;

  if (self->mask_pool)
    gst_buffer_pool_acquire_buffer (self->mask_pool, &mask, NULL);
  return mask;
}

/* Packed, whatever its pool says: not every reader heeds a stride. */
static void
describe_mask (GstSamTrack * self, GstBuffer * mask)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (mask);

  gst_buffer_resize (mask, 0, (gsize) self->mask_width * self->mask_height);
  if (!meta) {
    meta = gst_buffer_add_video_meta (mask, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, self->mask_width, self->mask_height);
    GST_META_FLAG_SET (meta, GST_META_FLAG_POOLED);
  }
  meta->format = GST_VIDEO_FORMAT_GRAY8;
  meta->width = meta->stride[0] = self->mask_width;
  meta->height = self->mask_height;
}

/* A buffer for the label map: where the frame is read, if there is room. */
static GstBuffer *
acquire_mask (GstSamTrack * self, gboolean on_device)
{
  gboolean whole;
  gint width, height;
  GstBuffer *mask;

  GST_OBJECT_LOCK (self);
  whole = self->mask_size == GST_SAM_TRACK_MASK_SIZE_FRAME;
  GST_OBJECT_UNLOCK (self);
  width = whole ? GST_VIDEO_INFO_WIDTH (&self->info) : self->image_size / 4;
  height = whole ? GST_VIDEO_INFO_HEIGHT (&self->info) : self->image_size / 4;
  if (!self->mask_pool || self->mask_width != width ||
      self->mask_height != height || self->mask_on_device != on_device) {
    self->mask_width = width;
    self->mask_height = height;
    self->mask_on_device = on_device;
    set_mask_pool (self, on_device);
  }
  mask = take_mask (self);
  if (!mask && on_device) {
    GST_INFO_OBJECT (self, "allocating label maps of %d x %d in system memory",
        width, height);
    set_mask_pool (self, FALSE);        /* until another size is asked for */
    mask = take_mask (self);
  }
  if (mask)
    describe_mask (self, mask);
  return mask;
}

static void
copy_object (GstSamTrack * self, GstSamObject * to,
    const struct sam_object *from)
{
  to->id = gst_sam_pending_get_id (self->pending, from->id);
  to->slot = from->slot;
  to->state = from->state;
  to->x = from->x;
  to->y = from->y;
  to->w = from->width;
  to->h = from->height;
  to->area = from->area;
  to->iou = from->iou;
  to->score = from->score;
}

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

/* Show the report to readers of "objects". */
static void
show (GstSamTrack * self)
{
  const GstSamReport *report = self->report;

  GST_OBJECT_LOCK (self);
  memcpy (self->shown, report, G_STRUCT_OFFSET (GstSamReport, object) +
      report->num_objects * sizeof report->object[0]);
  GST_OBJECT_UNLOCK (self);
  gst_sam_stats_set_objects (self->stats, report->num_objects);
}

void
gst_sam_track_forget_frame (GstSamTrack * self)
{
  gst_clear_buffer (&self->report->mask);
  gst_clear_buffer (&self->overlay.layer);
  self->report->num_objects = 0;
  self->report->state = GST_SAM_REPORT_IDLE;
  self->report->age = 0;
  self->report->running_time = GST_CLOCK_TIME_NONE;
  self->report->inference_time = 0;
  self->report->width = GST_VIDEO_INFO_WIDTH (&self->info);
  self->report->height = GST_VIDEO_INFO_HEIGHT (&self->info);
  memset (self->state, 0, sizeof self->state);
  show (self);
}

static void
take_result (GstSamTrack * self, const struct sam_result *result,
    GstBuffer * mask, GstClockTime running_time, gint64 ns)
{
  GstSamReport *report = self->report;
  int i;

  gst_sam_pending_settle (self->pending, result);
  gst_clear_buffer (&report->mask);
  report->width = GST_VIDEO_INFO_WIDTH (&self->info);
  report->height = GST_VIDEO_INFO_HEIGHT (&self->info);
  report->state = GST_SAM_REPORT_OK;
  report->age = 0;
  report->frame_index = result->frame_index;
  report->running_time = running_time;
  report->inference_time = ns;
  report->num_objects = MIN (result->num_objects, SAM_MAX_OBJECTS);
  for (i = 0; i < (int) report->num_objects; i++)
    copy_object (self, &report->object[i], &result->objects[i]);
  report->mask = mask;
  report->mask_width = self->mask_width;
  report->mask_height = self->mask_height;
  post_changes (self, report);
  show (self);
}

/* Frames in the memory of the GPU that the model runs on stay there; all others
 * are read in system memory, wherever they are. */
static gboolean
map_frame (GstSamTrack * self, GstBuffer * buf, GstVideoFrame * frame,
    gboolean on_device)
{
  GstMapFlags flags = 0;
  gchar *why = NULL;

  if (on_device)
    flags = gst_sam_cuda_prepare (buf, self->cuda_context, &why);
  if (why) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("%s", why), (NULL));
    g_free (why);
    return FALSE;
  }
  if (gst_sam_frame_map (frame, &self->info, buf,
          flags | GST_MAP_READ | GST_VIDEO_FRAME_MAP_FLAG_NO_REF, &why))
    return TRUE;
  GST_ELEMENT_ERROR (self, STREAM, FAILED, ("The frame was refused: %s.", why),
      (NULL));
  g_free (why);
  return FALSE;
}

static gboolean
map_mask (GstSamTrack * self, GstBuffer * mask, GstMapInfo * map,
    struct sam_labels *labels)
{
  GstMapFlags flags = 0;
  gchar *why = NULL;

  if (gst_sam_cuda_is_memory (mask))
    flags = gst_sam_cuda_prepare (mask, self->cuda_context, &why);
  g_free (why);                 /* there is none: it is of our own context */
  labels->on_device = flags != 0;
  if (!gst_buffer_map (mask, map, flags | GST_MAP_WRITE)) {
    GST_ELEMENT_ERROR (self, STREAM, FAILED,
        ("The memory of the label map cannot be mapped for writing."), (NULL));
    return FALSE;
  }
  labels->data = map->data;
  labels->width = labels->stride = self->mask_width;
  labels->height = self->mask_height;
  return TRUE;
}

/* Run the engine on the frame. *ns is the time of sam_tracker_step(). */
static gboolean
step (GstSamTrack * self, GstBuffer * buf, gboolean on_device,
    GstBuffer * mask, struct sam_result *result, gint64 * ns)
{
  GstVideoFrame frame;
  GstMapInfo map;
  struct sam_frame view;
  struct sam_labels labels;
  struct sam_error error = { "" };
  int status;

  if (!map_frame (self, buf, &frame, on_device))
    return FALSE;
  if (!map_mask (self, mask, &map, &labels)) {
    gst_video_frame_unmap (&frame);
    return FALSE;
  }
  gst_sam_frame_describe (&view, &frame);
  view.on_device = on_device;

  *ns = now_ns ();
  status = sam_tracker_step (self->tracker, &view, &labels, result, &error);
  *ns = now_ns () - *ns;

  gst_buffer_unmap (mask, &map);
  gst_video_frame_unmap (&frame);
  if (status != SAM_OK)
    gst_sam_track_post_error (self, status, &error, "sam_tracker_step");
  return status == SAM_OK;
}

/* Where frames may wait at all, they wait for masks that are being read: what
 * comes out does not depend on how long that takes. */
static gboolean
waits_for_masks (GstSamTrack * self)
{
  gboolean block;

  GST_OBJECT_LOCK (self);
  block = self->policy == GST_SAM_TRACK_OVERLOAD_BLOCK;
  GST_OBJECT_UNLOCK (self);
  return block || !gst_sam_qos_is_live (&self->qos,
      GST_BASE_TRANSFORM (self));
}

/* Apply the prompts and infer. *step_ns stays 0 where nothing is tracked. */
static GstFlowReturn
infer (GstSamTrack * self, GstBuffer * buf, GstClockTime running_time,
    struct sam_times *times, gint64 * step_ns)
{
  const gboolean on_device = self->on_cuda && gst_sam_cuda_is_memory (buf);
  struct sam_result result = SAM_RESULT_INIT;
  GstBuffer *mask;

  if (!gst_sam_pending_apply (self->pending, self->tracker,
          waits_for_masks (self), gst_sam_track_refuse, self))
    return GST_FLOW_FLUSHING;
  if (!gst_sam_pending_has_objects (self->pending)) {
    gst_sam_track_forget_frame (self);
    return GST_FLOW_OK;
  }
  mask = acquire_mask (self, on_device);
  if (!mask) {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("Out of memory: no label map of %d x %d pixels.",
            self->mask_width, self->mask_height), (NULL));
    return GST_FLOW_ERROR;
  }
  if (!step (self, buf, on_device, mask, &result, step_ns)) {
    gst_buffer_unref (mask);
    return GST_FLOW_ERROR;
  }
  *times = result.times;
  take_result (self, &result, mask, running_time, *step_ns);
  if (!self->report->num_objects)
    gst_sam_track_forget_frame (self);
  return GST_FLOW_OK;
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

static Verdict
judge (GstSamTrack * self, GstBuffer * buf, GstClockTime running_time)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);
  GstClockTimeDiff jitter;
  guint interval;
  gint policy;

  GST_OBJECT_LOCK (self);
  interval = self->interval;
  policy = self->policy;
  GST_OBJECT_UNLOCK (self);

  if (gst_sam_pending_is_idle (self->pending))
    return VERDICT_IDLE;
  if (GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_GAP))
    return VERDICT_SKIP;
  /* Nothing was inferred yet, or all of it was forgotten: begin now. */
  if (self->report->state == GST_SAM_REPORT_IDLE)
    return VERDICT_INFER;
  if (self->passed < interval)
    return VERDICT_SKIP;
  if (policy == GST_SAM_TRACK_OVERLOAD_AUTO)
    policy = gst_sam_qos_is_live (&self->qos, base) ?
        GST_SAM_TRACK_OVERLOAD_SKIP : GST_SAM_TRACK_OVERLOAD_BLOCK;
  if (policy == GST_SAM_TRACK_OVERLOAD_BLOCK ||
      !gst_sam_qos_is_late (&self->qos, base, running_time, &jitter))
    return VERDICT_INFER;
  post_qos (self, buf, running_time, jitter);
  return policy == GST_SAM_TRACK_OVERLOAD_DROP ? VERDICT_DROP : VERDICT_LATE;
}

/* The frame goes without inference: the last masks are a frame older. */
static void
pass (GstSamTrack * self)
{
  self->passed++;
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_SKIPPED);
  if (self->report->state == GST_SAM_REPORT_IDLE)
    return;
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_STALE);
  self->report->state = GST_SAM_REPORT_STALE;
  self->report->age++;
  if (self->report->width != GST_VIDEO_INFO_WIDTH (&self->info) ||
      self->report->height != GST_VIDEO_INFO_HEIGHT (&self->info))
    gst_sam_report_scale (self->report, GST_VIDEO_INFO_WIDTH (&self->info),
        GST_VIDEO_INFO_HEIGHT (&self->info));
}

/* Bookkeeping after an inference that took @step_ns of @element_ns. */
static void
account (GstSamTrack * self, const struct sam_times *times, gint64 step_ns,
    gint64 element_ns)
{
  struct sam_info info = SAM_INFO_INIT;

  self->passed = 0;
  sam_tracker_info (self->tracker, &info, NULL);
  gst_sam_stats_set_info (self->stats, &info);
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_INFERRED);
  gst_sam_stats_frame (self->stats, times, step_ns, element_ns);
  if (!gst_sam_qos_measure (&self->qos, element_ns))
    return;
  gst_sam_stats_set_latency (self->stats,
      gst_sam_qos_get_reported (&self->qos));
  if (gst_sam_qos_is_live (&self->qos, GST_BASE_TRANSFORM (self)))
    gst_element_post_message (GST_ELEMENT (self),
        gst_message_new_latency (GST_OBJECT (self)));
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

GstFlowReturn
gst_sam_track_transform_ip (GstBaseTransform * base, GstBuffer * buf)
{
  GstSamTrack *self = GST_SAM_TRACK (base);
  const gint64 start = now_ns ();
  GstClockTime running_time = get_running_time (&base->segment, buf);
  struct sam_times times = { 0, };
  gint64 step_ns = 0;
  Verdict verdict;
  GstFlowReturn ret;

  if (gst_sam_timeline_jumps (&self->timeline, &base->segment,
          GST_BUFFER_PTS (buf))) {
    GST_INFO_OBJECT (self, "the stream jumps to %" GST_SEGMENT_FORMAT,
        &base->segment);
    gst_sam_track_reset (self);
  }
  verdict = judge (self, buf, running_time);
  self->since_reset++;
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_FRAMES_IN);
  switch (verdict) {
    case VERDICT_DROP:
      gst_sam_stats_count (self->stats, GST_SAM_COUNT_DROPPED);
      gst_sam_pad_push_gap (self, buf);
      return GST_BASE_TRANSFORM_FLOW_DROPPED;
    case VERDICT_INFER:
      ret = infer (self, buf, running_time, &times, &step_ns);
      if (ret != GST_FLOW_OK)
        return ret;
      break;
    case VERDICT_SKIP:
    case VERDICT_LATE:
      pass (self);
      break;
    case VERDICT_IDLE:
      if (self->report->state != GST_SAM_REPORT_IDLE ||
          self->report->width != GST_VIDEO_INFO_WIDTH (&self->info) ||
          self->report->height != GST_VIDEO_INFO_HEIGHT (&self->info))
        gst_sam_track_forget_frame (self);
      break;
  }
  gst_sam_meta_add (buf, self->report);
  gst_sam_pad_push (self, buf, verdict == VERDICT_INFER);
  if (step_ns)
    account (self, &times, step_ns, now_ns () - start - self->overlay.pushing);
  return GST_FLOW_OK;
}

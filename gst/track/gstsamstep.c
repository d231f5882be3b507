/* SPDX-License-Identifier: MIT */
/* One step of the tracker: prompts, a label map, inference, the report. */

#include "gstsamstep.h"

#include "common/gstsamcuda.h"
#include "common/gstsamframe.h"
#include "gstsamtrackprivate.h"

#include <time.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* px, of the longer side of a label map where mask-size is auto */
#define AUTO_SIDE 1920

void
gst_sam_step_init (GstSamStep * step)
{
  step->report = g_new0 (GstSamReport, 1);
  step->found = g_new0 (GstSamFound, 1);
  step->report->running_time = GST_CLOCK_TIME_NONE;
  gst_video_info_init (&step->info);
}

void
gst_sam_step_forget (GstSamStep * step)
{
  gst_clear_buffer (&step->frame);
  gst_sam_report_drop_masks (step->report);
}

void
gst_sam_step_clear (GstSamStep * step)
{
  gst_sam_step_forget (step);
  g_clear_pointer (&step->report, g_free);
  if (step->found)
    gst_sam_found_clear (step->found);
  g_clear_pointer (&step->found, g_free);
}

gint64
gst_sam_now_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * G_GINT64_CONSTANT (1000000000) + t.tv_nsec;
}

/* Label maps */

void
gst_sam_mask_pool_clear (GstSamMaskPool * masks)
{
  if (masks->pool)
    gst_buffer_pool_set_active (masks->pool, FALSE);
  gst_clear_object (&masks->pool);
}

static void
open_mask_pool (GstSamMaskPool * masks, GstSamTrack * self, gboolean on_device)
{
  const gsize size = (gsize) masks->width * masks->height;
  GstStructure *config;

  gst_sam_mask_pool_clear (masks);
  if (on_device) {
    masks->pool = gst_sam_cuda_pool_new (self->cuda_context, size);
  } else {
    masks->pool = gst_buffer_pool_new ();
    config = gst_buffer_pool_get_config (masks->pool);
    gst_buffer_pool_config_set_params (config, NULL, size, 2, 0);
    gst_buffer_pool_set_config (masks->pool, config);
  }
  if (masks->pool && !gst_buffer_pool_set_active (masks->pool, TRUE))
    gst_clear_object (&masks->pool);
}

static GstBuffer *
take_mask (GstSamMaskPool * masks)
{
  GstBuffer *mask = NULL;

  if (masks->pool)
    gst_buffer_pool_acquire_buffer (masks->pool, &mask, NULL);
  return mask;
}

/* Packed, whatever its pool says: not every reader heeds a stride. */
static void
describe_mask (const GstSamMaskPool * masks, GstBuffer * mask)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (mask);

  gst_buffer_resize (mask, 0, (gsize) masks->width * masks->height);
  if (!meta) {
    meta = gst_buffer_add_video_meta (mask, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, masks->width, masks->height);
    GST_META_FLAG_SET (meta, GST_META_FLAG_POOLED);
  }
  meta->format = GST_VIDEO_FORMAT_GRAY8;
  meta->width = meta->stride[0] = masks->width;
  meta->height = masks->height;
}

void
gst_sam_step_get_mask_size (GstSamTrack * self, gint frame_width,
    gint frame_height, gint * width, gint * height)
{
  gint choice, longer;

  gst_sam_object_lock (self);
  choice = self->mask_size;
  gst_sam_object_unlock (self);
  if (choice == GST_SAM_TRACK_MASK_SIZE_MODEL) {
    *width = *height = self->logits_side;
    return;
  }
  *width = frame_width;
  *height = frame_height;
  longer = MAX (*width, *height);
  if (choice == GST_SAM_TRACK_MASK_SIZE_AUTO && longer > AUTO_SIDE) {
    *width = MAX (1, gst_util_uint64_scale_round (*width, AUTO_SIDE, longer));
    *height = MAX (1, gst_util_uint64_scale_round (*height, AUTO_SIDE, longer));
  }
}

GstBuffer *
gst_sam_mask_pool_acquire (GstSamMaskPool * masks, GstSamTrack * self,
    const GstVideoInfo * info, gboolean on_device)
{
  gint width, height;
  GstBuffer *mask;

  gst_sam_step_get_mask_size (self, GST_VIDEO_INFO_WIDTH (info),
      GST_VIDEO_INFO_HEIGHT (info), &width, &height);
  if (!masks->pool || masks->width != width || masks->height != height ||
      masks->on_device != on_device) {
    masks->width = width;
    masks->height = height;
    masks->on_device = on_device;
    open_mask_pool (masks, self, on_device);
  }
  mask = take_mask (masks);
  if (!mask && on_device) {
    GST_INFO_OBJECT (self, "allocating label maps of %d x %d in system memory",
        width, height);
    /* until another size is asked for */
    open_mask_pool (masks, self, FALSE);
    mask = take_mask (masks);
  }
  if (mask)
    describe_mask (masks, mask);
  else
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("Out of memory: no label map of %d x %d pixels.", width,
            height), (NULL));
  return mask;
}

/* Frames */

gboolean
gst_sam_step_copy_pixels (GstSamTrack * self, GstBuffer ** to,
    const GstVideoFrame * from)
{
  const gsize size = GST_VIDEO_INFO_SIZE (&self->info);
  GstVideoFrame copy;
  gboolean ok;

  if (*to && (gst_buffer_get_video_meta (*to) ||
          gst_buffer_get_size (*to) != size))
    gst_clear_buffer (to);
  if (!*to)
    *to = gst_buffer_new_allocate (NULL, size, NULL);
  ok = *to && gst_video_frame_map (&copy, &self->info, *to, GST_MAP_WRITE);
  if (ok) {
    gst_video_frame_copy (&copy, from);
    gst_video_frame_unmap (&copy);
  } else {
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("Out of memory: no copy of a frame of %" G_GSIZE_FORMAT " bytes.",
            size), (NULL));
  }
  return ok;
}

/* Inference */

/* Where the pixels of a frame are. */
typedef enum
{
  PLACE_SYSTEM,
  PLACE_GPU,                    /* the frame's own memory */
  PLACE_UPLOADED,               /* on the GPU, copied there ahead */
} Place;

static Place
get_place (const GstSamTrack * self, const GstSamStep * step)
{
  if (!step->frame)
    return PLACE_UPLOADED;
  return self->on_cuda && gst_sam_cuda_is_memory (step->frame) ? PLACE_GPU :
      PLACE_SYSTEM;
}

/* Frames in the memory of the GPU that the model runs on stay there; all others
 * are read in system memory, wherever they are. */
static gboolean
map_frame (GstSamTrack * self, const GstSamStep * step, GstVideoFrame * frame,
    struct sam_frame *view)
{
  const gboolean on_device = get_place (self, step) == PLACE_GPU;
  GstMapFlags flags = 0;
  gchar *why = NULL;

  if (get_place (self, step) == PLACE_UPLOADED) {
    *view = step->uploaded;
    return TRUE;
  }
  if (on_device)
    flags = gst_sam_cuda_prepare (step->frame, self->cuda_context, &why);
  if (why) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("%s", why), (NULL));
    g_free (why);
    return FALSE;
  }
  if (gst_sam_frame_map (frame, &step->info, step->frame,
          flags | GST_MAP_READ | GST_VIDEO_FRAME_MAP_FLAG_NO_REF, &why)) {
    if (on_device)
      gst_sam_cuda_sync (step->frame);
    gst_sam_frame_describe (view, frame);
    view->on_device = on_device;
    return TRUE;
  }
  GST_ELEMENT_ERROR (self, STREAM, FAILED, ("The frame was refused: %s.", why),
      (NULL));
  g_free (why);
  return FALSE;
}

static void
unmap_frame (const GstSamStep * step, GstVideoFrame * frame)
{
  if (step->frame)
    gst_video_frame_unmap (frame);
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
  if (labels->on_device)
    gst_sam_cuda_sync (mask);
  labels->data = map->data;
  labels->width = labels->stride = self->masks.width;
  labels->height = self->masks.height;
  return TRUE;
}

/* Those that are on the device already leave the label maps of the overlay pad
 * to be copied. */
gboolean
gst_sam_step_reserve (GstSamTrack * self, const GstVideoInfo * info,
    gboolean on_device)
{
  const gsize bytes = on_device ? (gsize) GST_VIDEO_INFO_WIDTH (info) *
      GST_VIDEO_INFO_HEIGHT (info) : GST_VIDEO_INFO_SIZE (info);
  struct sam_error error = { "" };
  int status;

  if (self->reserved == bytes)
    return TRUE;
  status = sam_tracker_reserve (self->tracker, bytes, &error);
  if (status != SAM_OK)
    gst_sam_track_post_error (self, status, &error, "sam_tracker_reserve");
  else
    self->reserved = bytes;
  return status == SAM_OK;
}

/* Keep a frame without objects, so that a late prompt can name it. */
static gboolean
watch (GstSamStep * step, GstSamTrack * self)
{
  GstVideoFrame frame;
  struct sam_frame view;
  struct sam_error error = { "" };
  int status;

  if (!map_frame (self, step, &frame, &view))
    return FALSE;
  status = sam_tracker_watch (self->tracker, &view, &error);
  unmap_frame (step, &frame);
  if (status != SAM_OK)
    gst_sam_track_post_error (self, status, &error, "sam_tracker_watch");
  return status == SAM_OK;
}

static gboolean
infer (GstSamStep * step, GstSamTrack * self, GstBuffer * mask,
    struct sam_result *result)
{
  GstVideoFrame frame;
  GstMapInfo map;
  struct sam_frame view;
  struct sam_labels labels;
  struct sam_error error = { "" };
  gint64 start;
  int status;

  if (!map_frame (self, step, &frame, &view))
    return FALSE;
  if (!map_mask (self, mask, &map, &labels)) {
    unmap_frame (step, &frame);
    return FALSE;
  }

  start = gst_sam_now_ns ();
  status = sam_tracker_step (self->tracker, &view, &labels, result, &error);
  step->ns = gst_sam_now_ns () - start;

  gst_buffer_unmap (mask, &map);
  unmap_frame (step, &frame);
  if (status != SAM_OK)
    gst_sam_track_post_error (self, status, &error, "sam_tracker_step");
  return status == SAM_OK;
}

static void
copy_object (GstSamTrack * self, GstSamObject * to,
    const struct sam_object *from)
{
  gboolean first;

  to->id = gst_sam_pending_show (self->pending, from->id, &first);
  to->slot = from->slot;
  /* After a late prompt its first frame may be past. */
  to->state = first ? SAM_OBJECT_NEW : from->state;
  to->x = from->x;
  to->y = from->y;
  to->w = from->width;
  to->h = from->height;
  to->area = from->area;
  to->iou = from->iou;
  to->score = from->score;
  to->behind = from->behind;
  to->settled = gst_sam_pending_get_settled (self->pending, to->id);
  to->label = gst_sam_pending_get_label (self->pending, to->id);
  if (!to->label)
    to->label = gst_sam_seed_get_label (self->seed, to->id);
}

/* What mask-type asks for beside the mask, of the objects that are shown. */
static gboolean
soften (GstSamTrack * self, GstSamReport * report, const guint64 * id)
{
  gint type;

  gst_sam_object_lock (self);
  type = self->mask_type;
  gst_sam_object_unlock (self);
  if (type != GST_SAM_TRACK_MASK_TYPE_PROBABILITY || !report->num_objects)
    return TRUE;
  report->soft = gst_sam_soft_draw (&self->soft, self, id, report);
  return report->soft != NULL;
}

/* Takes over the mask. Returns FALSE after posting an error. */
static gboolean
write_report (GstSamStep * step, GstSamTrack * self,
    const struct sam_result *result, GstBuffer * mask)
{
  GstSamReport *report = step->report;
  guint64 shown[SAM_MAX_OBJECTS];
  int i;

  report->state = GST_SAM_REPORT_OK;
  report->frame_index = result->frame_index;
  report->inference_time = step->ns;
  for (i = 0; i < MIN (result->num_objects, SAM_MAX_OBJECTS); i++) {
    if (!gst_sam_seed_shows (self->seed,
            gst_sam_pending_find_id (self->pending, result->objects[i].id)))
      continue;
    shown[report->num_objects] = result->objects[i].id;
    copy_object (self, &report->object[report->num_objects++],
        &result->objects[i]);
  }
  gst_sam_seed_hide (self->seed, result, mask);
  report->mask = mask;
  report->mask_width = self->masks.width;
  report->mask_height = self->masks.height;
  return soften (self, report, shown);
}

/* Returns FALSE if the detector has failed. */
static gboolean
seed (const GstSamStep * step, GstSamTrack * self,
    const struct sam_result *result, GstBuffer * mask, gboolean wait)
{
  GstSamSeedInput input = {
    .step = step,
    .tracker = self->tracker,
    .result = result,
    .mask = mask,
    .mask_width = self->masks.width,
    .mask_height = self->masks.height,
    .wait = wait
  };

  gst_sam_object_lock (self);
  input.interval = self->interval;
  gst_sam_object_unlock (self);
  return gst_sam_seed_step (self->seed, &input);
}

static GstFlowReturn
track (GstSamStep * step, GstSamTrack * self, gboolean wait)
{
  const Place place = get_place (self, step);
  struct sam_result result = SAM_RESULT_INIT;
  GstBuffer *mask;

  if (!gst_sam_step_reserve (self, &step->info, place != PLACE_SYSTEM))
    return GST_FLOW_ERROR;
  mask = gst_sam_mask_pool_acquire (&self->masks, self, &step->info,
      place == PLACE_GPU);
  if (!mask)
    return GST_FLOW_ERROR;
  gst_sam_marks_step (&self->pending->marks, step->number,
      step->info.width, step->info.height);
  if (!infer (step, self, mask, &result)) {
    gst_buffer_unref (mask);
    return GST_FLOW_ERROR;
  }
  gst_sam_pending_note_frame (self->pending, result.frame_index);
  step->times = result.times;
  gst_sam_pending_settle (self->pending, &result);
  if (!seed (step, self, &result, mask, wait)) {
    gst_buffer_unref (mask);
    return GST_FLOW_ERROR;
  }
  if (!result.num_objects)
    gst_buffer_unref (mask);
  else if (!write_report (step, self, &result, mask))
    return GST_FLOW_ERROR;
  gst_sam_track_post_answers (self, &result, step->running_time);
  return GST_FLOW_OK;
}

static GstFlowReturn
keep (GstSamStep * step, GstSamTrack * self, gboolean wait)
{
  guint64 oldest, next;

  if (self->history) {
    if (!gst_sam_step_reserve (self, &step->info,
            get_place (self, step) != PLACE_SYSTEM) || !watch (step, self))
      return GST_FLOW_ERROR;
    sam_tracker_frames (self->tracker, 0, &oldest, &next, NULL);
    gst_sam_pending_note_frame (self->pending, next - 1);
  }
  return seed (step, self, NULL, NULL, wait) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

/* A prompt is for a frame that is not held any more, or never was. */
void
gst_sam_step_moved (gpointer user, const GstSamPrompt * prompt,
    GstClockTime start)
{
  GstSamTrack *self = user;

  GST_WARNING_OBJECT (self, "the prompt of object %" G_GUINT64_FORMAT
      " for running time %" GST_TIME_FORMAT " is applied to the frame of %"
      GST_TIME_FORMAT ", the oldest one that is held; history is %u",
      prompt->id, GST_TIME_ARGS (prompt->running_time), GST_TIME_ARGS (start),
      self->history);
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("samtrack-late-prompt",
              "id", G_TYPE_UINT64, prompt->id,
              "running-time", G_TYPE_UINT64, prompt->running_time,
              "applied-running-time", G_TYPE_UINT64, start, NULL)));
}

static void
run (GstSamStep * step, GstSamTrack * self, gboolean wait)
{
  const GstSamPendingCalls calls = { gst_sam_track_refuse, gst_sam_step_moved,
    gst_sam_track_liked, self
  };
  GstSamReport *report = step->report;
  GstSamMoment moment;

  gst_sam_report_drop_masks (report);
  report->state = GST_SAM_REPORT_IDLE;
  report->num_objects = 0;
  report->age = 0;
  report->width = GST_VIDEO_INFO_WIDTH (&step->info);
  report->height = GST_VIDEO_INFO_HEIGHT (&step->info);
  report->running_time = step->running_time;
  report->inference_time = 0;
  step->ns = 0;
  moment.start = step->running_time;
  moment.end = step->running_end;
  moment.width = report->width;
  moment.height = report->height;
  if (!gst_sam_pending_apply (self->pending, self->tracker, &moment, wait,
          &calls))
    step->ret = GST_FLOW_FLUSHING;
  else if (gst_sam_pending_has_objects (self->pending))
    step->ret = track (step, self, wait);
  else
    step->ret = keep (step, self, wait);
  step->found->looked = FALSE;
  step->restores = gst_sam_pending_get_restores (self->pending);
  step->tracker.size = sizeof step->tracker;
  sam_tracker_info (self->tracker, &step->tracker, NULL);
}

void
gst_sam_step_run (GstSamStep * step, GstSamTrack * self, gboolean wait)
{
  gst_sam_turn_begin (&self->turn);
  run (step, self, wait);
  gst_sam_turn_end (&self->turn);
}

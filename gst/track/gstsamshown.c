/* SPDX-License-Identifier: MIT */
/* The last report as others see it: readers of "objects", clicks. Forgetting
 * it. */

#include "gstsamtrackprivate.h"

#include <string.h>

void
gst_sam_track_show (GstSamTrack * self)
{
  const GstSamReport *report = self->report;

  gst_sam_object_lock (self);
  memcpy (self->shown, report, G_STRUCT_OFFSET (GstSamReport, object) +
      report->num_objects * sizeof report->object[0]);
  gst_buffer_replace (&self->shown->mask, report->mask);
  self->shown->mask_width = report->mask_width;
  self->shown->mask_height = report->mask_height;
  gst_sam_object_unlock (self);
  gst_sam_stats_set_objects (self->stats, report->num_objects);
}

guint64
gst_sam_track_get_object_at (GstSamTrack * self, gdouble x, gdouble y)
{
  const GstSamReport *shown = self->shown;
  GstBuffer *mask = NULL;
  guint64 id = 0;
  GstMapInfo map;
  gint column, row;
  guint i;

  gst_sam_object_lock (self);
  gst_buffer_replace (&mask, shown->mask);
  column = CLAMP (x * shown->mask_width, 0, shown->mask_width - 1);
  row = CLAMP (y * shown->mask_height, 0, shown->mask_height - 1);
  if (mask && gst_buffer_map (mask, &map, GST_MAP_READ)) {
    const guint8 slot = map.data[(gsize) row * shown->mask_width + column];

    for (i = 0; i < shown->num_objects && slot; i++)
      id = shown->object[i].slot == slot ? shown->object[i].id : id;
    gst_buffer_unmap (mask, &map);
  }
  gst_sam_object_unlock (self);
  gst_clear_buffer (&mask);
  return id;
}

void
gst_sam_track_forget_frame (GstSamTrack * self)
{
  gst_sam_report_drop_masks (self->report);
  gst_clear_buffer (&self->overlay.layer);
  self->report->num_objects = 0;
  self->report->state = GST_SAM_REPORT_IDLE;
  self->report->age = 0;
  self->report->running_time = GST_CLOCK_TIME_NONE;
  self->report->inference_time = 0;
  self->report->width = GST_VIDEO_INFO_WIDTH (&self->info);
  self->report->height = GST_VIDEO_INFO_HEIGHT (&self->info);
  memset (self->state, 0, sizeof self->state);
  gst_sam_track_show (self);
}

/* What was found belongs to frames that are past. */
static void
forget_frames (GstSamTrack * self)
{
  self->passed = 0;
  self->found->looked = FALSE;
  gst_sam_worker_forget (&self->worker, self->number);
  gst_sam_follow_forget (self->follow, self->number);
  gst_sam_track_forget_frame (self);
}

void
gst_sam_track_reset (GstSamTrack * self)
{
  const GstSamPendingCalls calls = { gst_sam_track_refuse, gst_sam_step_moved,
    gst_sam_track_liked, self
  };

  if (!self->since_reset)
    return;
  self->since_reset = 0;
  forget_frames (self);
  gst_sam_pending_reset (self->pending, &calls);
  if (gst_sam_track_load_initial_tracks (self))
    gst_sam_track_apply_initial_prompt (self);
}

void
gst_sam_track_jump (GstSamTrack * self)
{
  const GstSamPendingCalls calls = { gst_sam_track_refuse, gst_sam_step_moved,
    gst_sam_track_liked, self
  };
  gint mode;

  gst_sam_object_lock (self);
  mode = self->reset_on;
  gst_sam_object_unlock (self);
  if (mode != GST_SAM_TRACK_RESET_ON_NEVER) {
    gst_sam_track_reset (self);
  } else if (self->since_reset) {
    forget_frames (self);
    gst_sam_pending_jump (self->pending, &calls);
  }
}

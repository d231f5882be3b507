/* SPDX-License-Identifier: MIT */
/* What a click would take: requests, and their answers as messages. */

#include "gstsampreview.h"

#include "gstsamtrackprivate.h"

#include <samtrack/answers.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

#define PAUSE (80 * G_TIME_SPAN_MILLISECOND)   /* between two, at least */
#define STEPS 0.8               /* of their time is left to steps, at least */

guint64
gst_sam_preview_ask (GstSamPreview * preview, const GstSamPrompt * prompt)
{
  preview->prompt = *prompt;
  preview->waiting = TRUE;
  return ++preview->number;
}

gboolean
gst_sam_preview_take (GstSamPreview * preview, GstSamPrompt * prompt,
    guint64 * number)
{
  if (!preview->waiting || g_get_monotonic_time () < preview->due)
    return FALSE;
  preview->waiting = FALSE;
  *prompt = preview->prompt;
  *number = preview->number;
  return TRUE;
}

void
gst_sam_preview_rest (GstSamPreview * preview, gint64 start, gdouble load)
{
  const gint64 took = g_get_monotonic_time () - start;

  /* Of the time T until the next one steps keep STEPS * load * T. */
  preview->due = start + MAX (PAUSE, (gint64) (took / (1 - STEPS * load)));
}

/* Answers */

/* A label map of its own, as the application may keep it. */
typedef struct
{
  GstBuffer *buffer;
  GstMapInfo map;
  struct sam_labels labels;
} Mask;

static gboolean
open_mask (Mask * mask, GstSamTrack * self, gint width, gint height)
{
  gst_sam_step_get_mask_size (self, width, height, &width, &height);
  mask->buffer = gst_buffer_new_allocate (NULL, (gsize) width * height, NULL);
  if (mask->buffer
      && gst_buffer_map (mask->buffer, &mask->map, GST_MAP_WRITE)) {
    mask->labels.data = mask->map.data;
    mask->labels.width = mask->labels.stride = width;
    mask->labels.height = height;
    return TRUE;
  }
  gst_clear_buffer (&mask->buffer);
  return FALSE;
}

static GstSample *
close_mask (Mask * mask)
{
  GstCaps *caps = gst_caps_new_simple ("video/x-raw",
      "format", G_TYPE_STRING, "GRAY8",
      "width", G_TYPE_INT, mask->labels.width,
      "height", G_TYPE_INT, mask->labels.height,
      "framerate", GST_TYPE_FRACTION, 0, 1, NULL);
  GstSample *sample;

  gst_buffer_unmap (mask->buffer, &mask->map);
  gst_buffer_add_video_meta (mask->buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, mask->labels.width, mask->labels.height);
  sample = gst_sample_new (mask->buffer, caps, NULL, NULL);
  gst_clear_buffer (&mask->buffer);
  gst_caps_unref (caps);
  return sample;
}

static void
add_answer (GstStructure * s, const struct sam_preview *answer, Mask * mask)
{
  GstSample *sample = close_mask (mask);

  gst_structure_set (s,
      "frame-index", G_TYPE_UINT64, answer->frame_index,
      "x", G_TYPE_INT, answer->x,
      "y", G_TYPE_INT, answer->y,
      "w", G_TYPE_INT, answer->width,
      "h", G_TYPE_INT, answer->height,
      "area", G_TYPE_UINT, (guint) answer->area,
      "iou", G_TYPE_DOUBLE, (gdouble) answer->iou,
      "score", G_TYPE_DOUBLE, (gdouble) answer->score,
      "mask", GST_TYPE_SAMPLE, sample, NULL);
  gst_sample_unref (sample);
}

/* The frame that the request is about: that of its time, or the last one. */
static const GstSamPassed *
find_frame (GstSamTrack * self, const GstSamPrompt * from)
{
  guint64 oldest = 0, next = 0;

  sam_tracker_frames (self->tracker, 0, &oldest, &next, NULL);
  return gst_sam_late_find (&self->pending->late,
      from->timed ? from->running_time : GST_CLOCK_TIME_NONE,
      MIN (oldest, next - 1));
}

/* Fills in the answer, or why there is none. Returns the engine's status. In
 * the turn of the tracker. */
static int
answer (GstSamTrack * self, const GstSamPrompt * from, GstStructure * s,
    struct sam_error *error)
{
  const GstSamPassed *passed = find_frame (self, from);
  const GstSamMoment *moment = &self->pending->moment;
  const gint width = passed ? passed->width : moment->width;
  const gint height = passed ? passed->height : moment->height;
  struct sam_prompt prompt = SAM_PROMPT_INIT;
  struct sam_preview preview = SAM_PREVIEW_INIT;
  struct sam_point point;
  Mask mask = { NULL, };
  int status;

  gst_sam_pending_describe (from, width, height, &point, &prompt);
  if (passed) {
    prompt.has_frame = TRUE;
    prompt.frame = passed->index;
  }
  if (!open_mask (&mask, self, MAX (width, 1), MAX (height, 1))) {
    g_strlcpy (error->text, "no memory for a label map", sizeof error->text);
    return SAM_ENOMEM;
  }
  status = sam_tracker_preview (self->tracker, &prompt, &mask.labels, &preview,
      error);
  gst_structure_set (s, "running-time", G_TYPE_UINT64,
      passed ? passed->start : GST_CLOCK_TIME_NONE,
      "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, NULL);
  if (status == SAM_OK) {
    add_answer (s, &preview, &mask);
  } else {
    gst_buffer_unmap (mask.buffer, &mask.map);
    gst_buffer_unref (mask.buffer);
  }
  return status;
}

void
gst_sam_preview_run (GstSamTrack * self, const GstSamPrompt * prompt,
    guint64 number)
{
  GstStructure *s = gst_structure_new ("samtrack-preview",
      "number", G_TYPE_UINT64, number, NULL);
  struct sam_error error = { "" };
  int status;

  gst_sam_turn_begin (&self->turn);
  status = answer (self, prompt, s, &error);
  gst_sam_turn_end (&self->turn);
  if (status == SAM_EDEVICE || status == SAM_EWEIGHTS)
    gst_sam_track_post_error (self, status, &error, "sam_tracker_preview");
  if (status != SAM_OK) {
    GST_DEBUG_OBJECT (self, "sam_tracker_preview: %s", error.text);
    gst_structure_set (s, "message", G_TYPE_STRING, error.text, NULL);
  }
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self), s));
}

/* SPDX-License-Identifier: MIT */
/* Two speeds: the thread of the fast model, its frames and anchors. */

#include "gstsamfollow.h"

#include "common/gstsamframe.h"
#include "gstsamtrackprivate.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* A fast model that takes more of the model's time than this gains nothing. */
#define MOST_OF_MODEL 0.8

/* With auto it is not needed while the model takes less of a frame's time. */
#define ENOUGH_OF_FRAME 0.8

static void
swap_kept (GstSamKept * a, GstSamKept * b)
{
  const GstSamKept frame = *a;

  *a = *b;
  *b = frame;
}

void
gst_sam_follow_turn_off (GstSamFollow * follow, GstSamTrack * self,
    const gchar * why)
{
  gst_sam_mutex_lock (&follow->lock);
  follow->is_off = TRUE;
  follow->waiting = follow->has_anchor = follow->has_result = FALSE;
  g_cond_signal (&follow->done);
  gst_sam_mutex_unlock (&follow->lock);
  GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
      ("follow is off: %s.", why), (NULL));
}

/* The thread */

/* Drop frames up to @number, whose anchor has come. */
static void
drop_kept (GstSamFollow * follow, guint64 number)
{
  guint i, n = 0;

  for (i = 0; i < follow->num_kept; i++) {
    if (follow->kept[i].number > number)
      swap_kept (&follow->kept[n++], &follow->kept[i]);
  }
  follow->num_kept = n;
}

static void
keep_current (GstSamFollow * follow)
{
  guint i, n = 0;

  if (follow->num_kept == GST_SAM_FOLLOW_KEPT) {
    for (i = 1; i < follow->num_kept; i += 2)
      swap_kept (&follow->kept[n++], &follow->kept[i]);
    follow->num_kept = n;
  }
  swap_kept (&follow->kept[follow->num_kept++], &follow->current);
}

static void
write_report (GstSamFollow * follow, GstBuffer * mask)
{
  GstSamReport *report = follow->report;
  GstSamRunner *front = &follow->runner[follow->front];
  const GstSamKept *frame = &follow->current;

  report->state = mask ? GST_SAM_REPORT_OK : GST_SAM_REPORT_IDLE;
  report->age = 0;
  report->width = GST_VIDEO_INFO_WIDTH (&frame->info);
  report->height = GST_VIDEO_INFO_HEIGHT (&frame->info);
  report->running_time = frame->running_time;
  report->inference_time = front->ns;
  report->frame_index = follow->frame_index++;
  gst_sam_report_drop_masks (report);
  report->mask = mask;
  report->mask_width = follow->masks.width;
  report->mask_height = follow->masks.height;
  gst_sam_runner_write (front, report);
  gst_buffer_replace (&follow->mask, mask);
  follow->is_empty = !mask;
}

/* The last objects were removed: one report says so. */
static gboolean
write_none (GstSamFollow * follow)
{
  if (follow->is_empty)
    return FALSE;
  follow->runner[follow->front].ns = 0;
  write_report (follow, NULL);
  return TRUE;
}

/* Hand the report over. Called with the lock held. */
static void
publish (GstSamFollow * follow)
{
  GstSamReport *report = follow->report;

  if (follow->is_off || follow->current.number <= follow->forgotten)
    return;
  follow->report = follow->result;
  follow->result = report;
  follow->result_number = follow->current.number;
  follow->result_ns = report->inference_time;
  follow->has_result = TRUE;
  follow->num_frames++;
  if (follow->result_ns)
    follow->typical += (follow->result_ns - follow->typical) /
        (follow->typical ? 8 : 1);
}

/* Put a prompt back whose mask is still being read. */
static void
put_back (GstSamFollow * follow, GstSamPrompt * prompt)
{
  gst_sam_mutex_lock (&follow->lock);
  if (!follow->resets && follow->num_prompts < GST_SAM_FOLLOW_PROMPTS) {
    follow->prompt[follow->num_prompts++] = *prompt;
    prompt->mask = NULL;
  }
  gst_sam_mutex_unlock (&follow->lock);
}

static void
answer (GstSamFollow * follow, GstSamTrack * self, GstSamPrompt * prompt)
{
  const GstSamKept *frame = &follow->current;

  if (prompt->kind == GST_SAM_PROMPT_UNDO) {
    gst_sam_runner_undo (&follow->runner[0], prompt->id);
    gst_sam_runner_undo (&follow->runner[1], prompt->id);
  } else if (!gst_sam_pending_is_known (self->pending, prompt->id)) {
    return;                     /* its object was removed since */
  } else if (prompt->mask && !gst_sam_masks_is_done (&self->pending->masks,
          prompt->mask)) {
    put_back (follow, prompt);
  } else if (!prompt->timed || prompt->running_time <= frame->running_time) {
    /* that of a frame to come is the model's */
    gst_sam_runner_prompt (&follow->runner[follow->front], prompt,
        gst_sam_pending_get_label (self->pending, prompt->id), frame);
  }
}

static void
answer_prompts (GstSamFollow * follow, GstSamTrack * self)
{
  GstSamPrompt prompt[GST_SAM_FOLLOW_PROMPTS];
  guint i, n;

  gst_sam_mutex_lock (&follow->lock);
  n = follow->num_prompts;
  memcpy (prompt, follow->prompt, n * sizeof prompt[0]);
  follow->num_prompts = 0;
  gst_sam_mutex_unlock (&follow->lock);
  for (i = 0; i < n; i++) {
    answer (follow, self, &prompt[i]);
    gst_sam_prompt_clear (&prompt[i]);
  }
}

/* Process @current. Returns whether there is a report of it. */
static gboolean
step_front (GstSamFollow * follow, GstSamTrack * self)
{
  GstSamRunner *front = &follow->runner[follow->front];
  struct sam_error error = { "" };
  GstBuffer *mask;

  answer_prompts (follow, self);
  gst_sam_runner_forget_removed (front, self->pending);
  front->number = follow->current.number;
  if (!front->num_objects)
    return write_none (follow);
  mask = gst_sam_mask_pool_acquire (&follow->masks, self,
      &follow->current.info, FALSE);
  if (!mask) {
    gst_sam_follow_turn_off (follow, self, "out of memory");
    return FALSE;
  }
  if (gst_sam_runner_step (front, &follow->current, mask, follow->masks.width,
          follow->masks.height, &error) != SAM_OK) {
    gst_buffer_unref (mask);
    gst_sam_follow_turn_off (follow, self, error.text);
    return FALSE;
  }
  write_report (follow, mask);
  return TRUE;
}

/* The frame that the replay goes on with; NULL: it has reached the front. */
static const GstSamKept *
find_next (const GstSamFollow * follow, guint64 number)
{
  const GstSamKept *next = NULL;
  guint i;

  for (i = 0; i < follow->num_kept; i++) {
    const GstSamKept *frame = &follow->kept[i];

    if (frame->number > number && (!next ||
            frame->number <= number + follow->stride))
      next = frame;
  }
  return next;
}

static int
begin_replay (GstSamFollow * follow, GstSamTrack * self,
    struct sam_error *error)
{
  const GstSamAnchor *anchor = follow->replayed;
  GstSamRunner *back = &follow->runner[1 - follow->front];
  struct sam_error refused = { "" };
  guint64 newest = anchor->frame.number;
  int status;

  drop_kept (follow, anchor->frame.number);
  if (follow->num_kept)
    newest = follow->kept[follow->num_kept - 1].number;
  /* By single frames it would never reach a front that goes on. */
  follow->stride = MAX (2, (newest - anchor->frame.number +
          GST_SAM_FOLLOW_REPLAYS - 1) / GST_SAM_FOLLOW_REPLAYS);
  status = gst_sam_runner_begin (back, anchor, &refused, error);
  if (*refused.text)
    GST_WARNING_OBJECT (self, "a mask cannot be followed: %s", refused.text);
  return status;
}

/* What the model has not answered yet goes on with the masks of the front,
 * which are of the frame that the back comes to. */
static void
carry_prompts (GstSamFollow * follow)
{
  gst_sam_runner_carry (&follow->runner[1 - follow->front],
      &follow->runner[follow->front], follow->mask, follow->masks.width,
      follow->masks.height);
}

/* One step of the back. @begins: with the anchor that has come. Returns whether
 * there are more to do. */
static gboolean
step_back (GstSamFollow * follow, GstSamTrack * self, gboolean begins)
{
  GstSamRunner *back = &follow->runner[1 - follow->front];
  const GstSamKept *next = find_next (follow, back->number);
  struct sam_error error = { "" };
  int status = SAM_OK;

  if (begins) {
    status = begin_replay (follow, self, &error);
    if (!find_next (follow, back->number))
      carry_prompts (follow);
  } else {
    if (!find_next (follow, next->number))
      carry_prompts (follow);
    status = gst_sam_runner_step (back, next, NULL, 0, 0, &error);
  }
  if (status != SAM_OK) {
    gst_sam_follow_turn_off (follow, self, error.text);
    return FALSE;
  }
  if (find_next (follow, back->number))
    return TRUE;
  follow->front = 1 - follow->front;
  return FALSE;
}

/* Called with the lock held. */
static void
forget_all (GstSamFollow * follow)
{
  gst_sam_runner_clear (&follow->runner[0]);
  gst_sam_runner_clear (&follow->runner[1]);
  follow->num_kept = 0;
  follow->replays = FALSE;
  follow->is_empty = TRUE;
  gst_clear_buffer (&follow->mask);
  follow->resets = FALSE;
}

/* Called with the lock held, which is released meanwhile. */
static void
work_front (GstSamFollow * follow, GstSamTrack * self)
{
  gboolean any;

  swap_kept (&follow->next, &follow->current);
  follow->waiting = FALSE;
  follow->busy = TRUE;
  gst_sam_mutex_unlock (&follow->lock);
  any = step_front (follow, self);
  gst_sam_mutex_lock (&follow->lock);
  follow->busy = FALSE;
  if (any)
    publish (follow);
  g_cond_signal (&follow->done);
  keep_current (follow);
  follow->is_turn = TRUE;
}

/* Likewise. */
static void
work_back (GstSamFollow * follow, GstSamTrack * self)
{
  const gboolean begins = !follow->replays;
  GstSamAnchor *anchor = follow->anchor;
  gboolean more;

  follow->replays = TRUE;
  if (begins) {
    follow->anchor = follow->replayed;
    follow->replayed = anchor;
    follow->has_anchor = FALSE;
    follow->num_anchors++;
  } else {
    follow->num_replays++;
  }
  gst_sam_mutex_unlock (&follow->lock);
  more = step_back (follow, self, begins);
  gst_sam_mutex_lock (&follow->lock);
  follow->replays = more;
  follow->is_turn = FALSE;
}

static gpointer
work (gpointer data)
{
  GstSamTrack *self = data;
  GstSamFollow *follow = self->follow;

  gst_sam_mutex_lock (&follow->lock);
  while (!follow->quit) {
    const gboolean back = follow->replays || follow->has_anchor;

    if (follow->resets)
      forget_all (follow);
    else if (follow->is_off)
      gst_sam_mutex_wait (&follow->lock, &follow->wake);
    else if (follow->waiting && !(back && follow->is_turn))
      work_front (follow, self);
    else if (back)
      work_back (follow, self);
    else
      gst_sam_mutex_wait (&follow->lock, &follow->wake);
  }
  gst_sam_mutex_unlock (&follow->lock);
  return NULL;
}

/* The streaming thread */

static gboolean
ensure_thread (GstSamFollow * follow, GstSamTrack * self)
{
  GError *error = NULL;

  if (!follow->thread)
    follow->thread = g_thread_try_new ("samtrack-follow", work, self, &error);
  if (!follow->thread) {
    gst_sam_follow_turn_off (follow, self, error->message);
    g_error_free (error);
  }
  return follow->thread != NULL;
}

gboolean
gst_sam_follow_is_on (GstSamFollow * follow)
{
  gboolean is_off;

  if (!follow->is_open || follow->rests)
    return FALSE;
  gst_sam_mutex_lock (&follow->lock);
  is_off = follow->is_off;
  gst_sam_mutex_unlock (&follow->lock);
  return !is_off;
}

/* Turn it off if it gains nothing: so many steps of the model in a row, as one
 * may be an exception. */
static void
judge_speed (GstSamFollow * follow, GstSamTrack * self, gint64 model_ns)
{
  gboolean is_useless;
  gint64 ns;
  gchar *why;

  gst_sam_mutex_lock (&follow->lock);
  ns = follow->typical;
  is_useless = !follow->is_off && ns > MOST_OF_MODEL * model_ns;
  gst_sam_mutex_unlock (&follow->lock);
  follow->num_useless = is_useless ? follow->num_useless + 1 : 0;
  if (follow->num_useless < GST_SAM_FOLLOW_JUDGED)
    return;
  why = g_strdup_printf ("its model takes %" G_GINT64_FORMAT " ms a frame, "
      "expected at most %d %% of what the model of model-file takes, %"
      G_GINT64_FORMAT " ms", ns / 1000000, (gint) (100 * MOST_OF_MODEL),
      model_ns / 1000000);
  gst_sam_follow_turn_off (follow, self, why);
  g_free (why);
}

void
gst_sam_follow_set_need (GstSamFollow * follow, gint64 model_ns,
    gint64 frame_ns, guint64 number)
{
  const gboolean rested = follow->rests;

  if (!follow->is_auto || !model_ns)
    return;
  if (model_ns < ENOUGH_OF_FRAME * frame_ns)
    follow->rests = TRUE;
  else if (model_ns > frame_ns)
    follow->rests = FALSE;
  if (follow->rests && !rested)
    gst_sam_follow_forget (follow, number);
}

void
gst_sam_follow_anchor (GstSamFollow * follow, GstSamTrack * self,
    GstSamStep * step)
{
  const GstSamReport *report = step->report;
  GstSamAnchor *anchor;
  GstBuffer *pixels;

  judge_speed (follow, self, step->ns);
  gst_sam_mutex_lock (&follow->lock);
  follow->has_anchor = FALSE;   /* a newer one takes its place */
  gst_sam_mutex_unlock (&follow->lock);
  anchor = follow->anchor;
  pixels = anchor->frame.pixels;
  anchor->frame.pixels = step->frame;
  step->frame = pixels;
  anchor->frame.info = step->info;
  anchor->frame.running_time = step->running_time;
  anchor->frame.number = step->number;
  gst_buffer_replace (&anchor->mask, report->mask);
  anchor->mask_width = report->mask_width;
  anchor->mask_height = report->mask_height;
  anchor->num_objects = report->num_objects;
  memcpy (anchor->object, report->object, report->num_objects *
      sizeof report->object[0]);
  gst_sam_mutex_lock (&follow->lock);
  follow->has_anchor = !follow->is_off;
  g_cond_signal (&follow->wake);
  gst_sam_mutex_unlock (&follow->lock);
}

static gboolean
copy_frame (GstSamFollow * follow, GstSamTrack * self, GstBuffer * frame)
{
  GstVideoFrame from;
  gchar *why = NULL;
  gboolean ok;

  if (!gst_sam_frame_map (&from, &self->info, frame, GST_MAP_READ, &why)) {
    GST_ELEMENT_ERROR (self, STREAM, FAILED,
        ("The frame was refused: %s.", why), (NULL));
    g_free (why);
    return FALSE;
  }
  ok = gst_sam_step_copy_pixels (self, &follow->next.pixels, &from);
  gst_video_frame_unmap (&from);
  return ok;
}

gboolean
gst_sam_follow_leave (GstSamFollow * follow, GstSamTrack * self,
    GstBuffer * frame, GstClockTime running_time, guint64 number)
{
  if (!ensure_thread (follow, self))
    return TRUE;
  /* While none waits @next is this thread's: the lock is not held while pixels
   * are copied. */
  gst_sam_mutex_lock (&follow->lock);
  follow->waiting = FALSE;
  gst_sam_mutex_unlock (&follow->lock);
  if (!copy_frame (follow, self, frame))
    return FALSE;
  follow->next.info = self->info;
  follow->next.running_time = running_time;
  follow->next.number = number;
  gst_sam_mutex_lock (&follow->lock);
  follow->waiting = !follow->is_off;
  g_cond_signal (&follow->wake);
  gst_sam_mutex_unlock (&follow->lock);
  return TRUE;
}

void
gst_sam_follow_wait (GstSamFollow * follow, gint64 ns)
{
  const gint64 end = g_get_monotonic_time () + ns / 1000;

  gst_sam_mutex_lock (&follow->lock);
  while (!follow->interrupted && (follow->waiting || follow->busy) &&
      gst_sam_mutex_wait_until (&follow->lock, &follow->done, end));
  gst_sam_mutex_unlock (&follow->lock);
}

gboolean
gst_sam_follow_take (GstSamFollow * follow, GstSamReport ** report,
    guint64 * number)
{
  GstSamReport *last = *report;
  gboolean any;

  gst_sam_mutex_lock (&follow->lock);
  any = follow->has_result;
  if (any) {
    *report = follow->result;
    *number = follow->result_number;
    follow->result = last;
    follow->last_step = follow->result_ns;
    follow->has_result = FALSE;
    follow->is_shown = TRUE;
  }
  gst_sam_mutex_unlock (&follow->lock);
  return any;
}

void
gst_sam_follow_forget (GstSamFollow * follow, guint64 number)
{
  follow->is_shown = FALSE;
  gst_sam_mutex_lock (&follow->lock);
  follow->forgotten = number;
  gst_sam_follow_drop_prompts (follow, 0);
  follow->resets = follow->thread != NULL;
  follow->waiting = follow->has_anchor = follow->has_result = FALSE;
  g_cond_signal (&follow->wake);
  gst_sam_mutex_unlock (&follow->lock);
}

void
gst_sam_follow_interrupt (GstSamFollow * follow, gboolean interrupted)
{
  gst_sam_mutex_lock (&follow->lock);
  follow->interrupted = interrupted;
  g_cond_signal (&follow->done);
  gst_sam_mutex_unlock (&follow->lock);
}

/* SPDX-License-Identifier: MIT */
#include "gstsamworker.h"

#include "common/gstsamcuda.h"
#include "common/gstsamframe.h"
#include "gstsamtrackprivate.h"

#define GST_CAT_DEFAULT gst_sam_track_debug

void
gst_sam_worker_init (GstSamWorker * worker)
{
  guint i;

  gst_sam_mutex_init (&worker->lock, GST_SAM_RANK_WORKER);
  g_cond_init (&worker->wake);
  g_cond_init (&worker->done);
  gst_sam_step_init (&worker->next);
  gst_sam_step_init (&worker->current);
  for (i = 0; i < GST_SAM_WORKER_ENDED; i++)
    gst_sam_step_init (&worker->ended[i]);
}

void
gst_sam_worker_clear (GstSamWorker * worker)
{
  guint i;

  gst_sam_step_clear (&worker->next);
  gst_sam_step_clear (&worker->current);
  for (i = 0; i < GST_SAM_WORKER_ENDED; i++)
    gst_sam_step_clear (&worker->ended[i]);
  g_cond_clear (&worker->done);
  g_cond_clear (&worker->wake);
  gst_sam_mutex_clear (&worker->lock);
}

static void
swap_steps (GstSamStep * a, GstSamStep * b)
{
  GstSamStep kept = *a;

  *a = *b;
  *b = kept;
}

/* Of about the last eight. */
static void
add_to_mean (gint64 * mean, gint64 time)
{
  *mean = *mean ? *mean + (time - *mean) / 8 : time;
}

/* Pauses of a source are not how fast it is. */
static void
note_frame (GstSamWorker * worker)
{
  const gint64 now = g_get_monotonic_time ();

  if (worker->left)
    add_to_mean (&worker->interval, MIN (now - worker->left,
            G_TIME_SPAN_SECOND));
  worker->left = now;
}

/* The share of the time that a step for each frame takes. */
static gdouble
get_load (const GstSamWorker * worker)
{
  if (worker->step >= worker->interval)
    return 1;
  return (gdouble) worker->step / worker->interval;
}

/* The rest is called with the lock held, which it gives up meanwhile. */

static void
run_step (GstSamWorker * worker, GstSamTrack * self)
{
  const gint64 start = g_get_monotonic_time ();

  swap_steps (&worker->next, &worker->current);
  worker->waiting = FALSE;
  worker->busy = TRUE;
  worker->place = 1 - worker->place;
  worker->taken = worker->current.number;
  gst_sam_mutex_unlock (&worker->lock);

  gst_sam_step_run (&worker->current, self, FALSE);

  gst_sam_mutex_lock (&worker->lock);
  worker->busy = FALSE;
  add_to_mean (&worker->step, g_get_monotonic_time () - start);
  if (worker->current.ret != GST_FLOW_OK) {
    worker->failed = TRUE;
    worker->waiting = FALSE;
  }
  /* Frames are left after all that has ended was taken, so there is room. */
  if (worker->current.number > worker->forgotten &&
      worker->num_ended < GST_SAM_WORKER_ENDED)
    swap_steps (&worker->current, &worker->ended[worker->num_ended++]);
  g_cond_signal (&worker->done);
}

static gboolean
run_preview (GstSamWorker * worker, GstSamTrack * self)
{
  const gint64 start = g_get_monotonic_time ();
  GstSamPrompt prompt;
  guint64 number;

  if (worker->failed ||
      !gst_sam_preview_take (&worker->preview, &prompt, &number))
    return FALSE;
  worker->busy = TRUE;
  gst_sam_mutex_unlock (&worker->lock);
  gst_sam_preview_run (self, &prompt, number);
  gst_sam_mutex_lock (&worker->lock);
  worker->busy = FALSE;
  gst_sam_preview_rest (&worker->preview, start, get_load (worker));
  g_cond_signal (&worker->done);
  return TRUE;
}

static void
wait_for_work (GstSamWorker * worker)
{
  if (worker->preview.waiting && !worker->failed)
    gst_sam_mutex_wait_until (&worker->lock, &worker->wake,
        worker->preview.due);
  else
    gst_sam_mutex_wait (&worker->lock, &worker->wake);
}

/* A step goes first. Where frames always wait a preview comes between two of
 * them, as often as gst_sam_preview_rest() lets it. */
static gpointer
work (gpointer data)
{
  GstSamTrack *self = data;
  GstSamWorker *worker = &self->worker;

  if (self->follow->is_open)
    gst_sam_follow_yield ();
  gst_sam_mutex_lock (&worker->lock);
  while (!worker->quit) {
    const gboolean stepped = worker->waiting;

    if (stepped)
      run_step (worker, self);
    if (!worker->quit && !run_preview (worker, self) && !stepped)
      wait_for_work (worker);
  }
  gst_sam_mutex_unlock (&worker->lock);
  return NULL;
}

static gboolean
ensure_thread (GstSamWorker * worker, GstSamTrack * self)
{
  GError *error = NULL;

  if (!worker->thread)
    worker->thread = g_thread_try_new ("samtrack-step", work, self, &error);
  if (!worker->thread) {
    GST_ELEMENT_ERROR (self, RESOURCE, FAILED,
        ("No thread can be started to track on: %s.", error->message), (NULL));
    g_error_free (error);
  }
  return worker->thread != NULL;
}

/* To the GPU, while the worker may be busy there with the frame before. Returns
 * FALSE if there is no way or no room: the frame is then copied in system
 * memory. */
static gboolean
upload_pixels (GstSamWorker * worker, GstSamTrack * self,
    const GstVideoFrame * from)
{
  struct sam_error error = { "" };
  struct sam_frame view;

  /* A detector of this element reads frames in system memory, and so does the
   * model that follows this one. */
  if (!worker->uploads || gst_sam_seed_has_detector (self->seed) ||
      self->follow->is_open)
    return FALSE;
  if (!worker->uploader)
    worker->uploads = sam_uploader_open (&worker->uploader, self->tracker,
        &error) == SAM_OK;
  if (worker->uploads) {
    gst_sam_frame_describe (&view, from);
    worker->uploads = sam_uploader_copy (worker->uploader, worker->place, &view,
        &worker->next.uploaded, &error) == SAM_OK;
  }
  if (!worker->uploads) {
    GST_INFO_OBJECT (self, "frames are not uploaded ahead: %s", error.text);
    return FALSE;
  }
  gst_clear_buffer (&worker->next.frame);
  return TRUE;
}

static gboolean
take_over_pixels (GstSamWorker * worker, GstSamTrack * self, GstBuffer * frame)
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
  ok = upload_pixels (worker, self, &from) ||
      gst_sam_step_copy_pixels (self, &worker->next.frame, &from);
  gst_video_frame_unmap (&from);
  return ok;
}

/* A buffer of its own around the same memory, so that metas can still be added
 * to the frame's. */
static void
refer_to_memory (GstSamStep * step, GstBuffer * frame)
{
  gst_clear_buffer (&step->frame);
  step->frame = gst_buffer_copy (frame);
}

/* What a detector found on a frame that is replaced is kept for the next one,
 * if that has nothing of its own. */
static void
hand_over_found (GstSamStep * next, GstSamTrack * self, gboolean replaces)
{
  GstSamFound *last = next->found;

  if (self->found->looked) {
    next->found = self->found;
    self->found = last;
    last->looked = FALSE;
  } else if (!replaces) {
    last->looked = FALSE;
  }
}

gboolean
gst_sam_worker_leave (GstSamWorker * worker, GstSamTrack * self,
    GstBuffer * frame, GstClockTime running_time, GstClockTime running_end,
    guint64 number)
{
  gboolean ok = TRUE, replaces, failed;

  if (!ensure_thread (worker, self))
    return FALSE;
  /* While none waits @next is this thread's, and the uploader's place is not
   * changed: the lock is not held while pixels are copied, which may take as
   * long as a frame, or wait for whoever has the frame's memory. */
  gst_sam_mutex_lock (&worker->lock);
  replaces = worker->waiting;
  worker->waiting = FALSE;
  failed = worker->failed;
  gst_sam_mutex_unlock (&worker->lock);
  if (failed)
    return TRUE;
  if (self->on_cuda && gst_sam_cuda_is_memory (frame))
    refer_to_memory (&worker->next, frame);
  else
    ok = take_over_pixels (worker, self, frame);
  if (!ok)
    return FALSE;
  worker->next.info = self->info;
  worker->next.running_time = running_time;
  worker->next.running_end = running_end;
  worker->next.number = number;
  hand_over_found (&worker->next, self, replaces);
  gst_sam_mutex_lock (&worker->lock);
  worker->waiting = !worker->failed;
  note_frame (worker);
  g_cond_signal (&worker->wake);
  gst_sam_mutex_unlock (&worker->lock);
  return TRUE;
}

gboolean
gst_sam_worker_take (GstSamWorker * worker, GstSamStep * step)
{
  gboolean any;
  guint i;

  gst_sam_mutex_lock (&worker->lock);
  any = worker->num_ended > 0;
  if (any) {
    swap_steps (&worker->ended[0], step);
    worker->num_ended--;
    for (i = 0; i < worker->num_ended; i++)
      swap_steps (&worker->ended[i], &worker->ended[i + 1]);
  }
  gst_sam_mutex_unlock (&worker->lock);
  return any;
}

void
gst_sam_worker_wait (GstSamWorker * worker, gint64 ns)
{
  const gint64 end = g_get_monotonic_time () + ns / 1000;

  gst_sam_mutex_lock (&worker->lock);
  while (!worker->interrupted && (worker->waiting || worker->busy) &&
      gst_sam_mutex_wait_until (&worker->lock, &worker->done, end));
  gst_sam_mutex_unlock (&worker->lock);
}

guint64
gst_sam_worker_get_passed (GstSamWorker * worker, guint64 number)
{
  guint64 passed;

  gst_sam_mutex_lock (&worker->lock);
  passed = number - worker->taken - 1;
  gst_sam_mutex_unlock (&worker->lock);
  return passed;
}

void
gst_sam_worker_forget (GstSamWorker * worker, guint64 number)
{
  gst_sam_mutex_lock (&worker->lock);
  worker->forgotten = number;
  worker->waiting = worker->preview.waiting = FALSE;
  worker->num_ended = 0;
  gst_sam_mutex_unlock (&worker->lock);
}

guint64
gst_sam_worker_ask (GstSamWorker * worker, const GstSamPrompt * prompt)
{
  guint64 number;

  gst_sam_mutex_lock (&worker->lock);
  number = gst_sam_preview_ask (&worker->preview, prompt);
  g_cond_signal (&worker->wake);
  gst_sam_mutex_unlock (&worker->lock);
  return number;
}

void
gst_sam_worker_serve (GstSamWorker * worker, GstSamTrack * self)
{
  if (worker->thread)
    return;                     /* it does it by itself */
  gst_sam_mutex_lock (&worker->lock);
  run_preview (worker, self);
  gst_sam_mutex_unlock (&worker->lock);
}

void
gst_sam_worker_drain (GstSamWorker * worker)
{
  if (!worker->thread)
    return;
  gst_sam_mutex_lock (&worker->lock);
  worker->waiting = FALSE;
  while (worker->busy)
    gst_sam_mutex_wait (&worker->lock, &worker->done);
  gst_sam_mutex_unlock (&worker->lock);
}

void
gst_sam_worker_start (GstSamWorker * worker)
{
  gst_sam_mutex_lock (&worker->lock);   /* previews are asked for at any time */
  worker->quit = worker->interrupted = worker->failed = FALSE;
  worker->waiting = worker->busy = FALSE;
  worker->preview.waiting = FALSE;
  worker->preview.due = 0;
  worker->left = worker->interval = worker->step = 0;
  worker->uploads = TRUE;
  worker->num_ended = 0;
  worker->taken = worker->forgotten = 0;
  gst_sam_mutex_unlock (&worker->lock);
}

void
gst_sam_worker_stop (GstSamWorker * worker)
{
  guint i;

  gst_sam_mutex_lock (&worker->lock);
  worker->quit = TRUE;
  g_cond_signal (&worker->wake);
  gst_sam_mutex_unlock (&worker->lock);
  if (worker->thread)
    g_thread_join (worker->thread);
  worker->thread = NULL;
  sam_uploader_close (&worker->uploader);
  gst_sam_step_forget (&worker->next);
  gst_sam_step_forget (&worker->current);
  for (i = 0; i < GST_SAM_WORKER_ENDED; i++)
    gst_sam_step_forget (&worker->ended[i]);
}

void
gst_sam_worker_interrupt (GstSamWorker * worker, gboolean interrupted)
{
  gst_sam_mutex_lock (&worker->lock);
  worker->interrupted = interrupted;
  g_cond_signal (&worker->done);
  gst_sam_mutex_unlock (&worker->lock);
}

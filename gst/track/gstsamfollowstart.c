/* SPDX-License-Identifier: MIT */
/* Two speeds: from start to stop, and statistics. */

#include "gstsamfollow.h"

#include "common/gstsamerror.h"
#include "gstsamtrackprivate.h"

#include <errno.h>
#include <sys/resource.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* Of the threads of the slow model: about a tenth of what others get where
 * there are too many for the processors. */
#define SLOW_NICE 10

void
gst_sam_follow_init (GstSamFollow * follow)
{
  gst_sam_mutex_init (&follow->lock, GST_SAM_RANK_FOLLOW);
  g_cond_init (&follow->wake);
  g_cond_init (&follow->done);
}

void
gst_sam_follow_clear (GstSamFollow * follow)
{
  g_cond_clear (&follow->done);
  g_cond_clear (&follow->wake);
  gst_sam_mutex_clear (&follow->lock);
}

gboolean
gst_sam_follow_is_wanted (const GstSamTrack * self)
{
  return self->follow_model && *self->follow_model &&
      !g_str_equal (self->follow_model, "none");
}

void
gst_sam_follow_yield (void)
{
  /* Linux has a priority for each thread. */
  if (setpriority (PRIO_PROCESS, 0, SLOW_NICE) != 0)
    GST_INFO ("the slow model's threads keep their priority: %s",
        g_strerror (errno));
}

/* Both runners share the weights. */
static int
open_runners (GstSamFollow * follow, struct sam_params *params,
    const struct sam_info *model, struct sam_error *error)
{
  const gint budget = params->budget_mib;
  struct sam_plan plan = SAM_PLAN_INIT;
  gsize needed;
  int status;

  params->budget_mib = 0;
  status = sam_tracker_plan (params, &plan, error);
  if (status != SAM_OK)
    return status;
  needed = model->bytes_planned + 2 * plan.total_bytes - plan.constant_bytes;
  if (budget && needed >> 20 >= (gsize) budget) {
    g_snprintf (error->text, sizeof error->text, "memory-budget is %d MiB, and "
        "model-file and follow need %" G_GSIZE_FORMAT " MiB together", budget,
        (needed >> 20) + 1);
    return SAM_ENOMEM;
  }
  status = gst_sam_runner_open (&follow->runner[0], params, error);
  if (status == SAM_OK)
    status = gst_sam_runner_open (&follow->runner[1], params, error);
  return status;
}

static void
close_runners (GstSamFollow * follow)
{
  gst_sam_runner_close (&follow->runner[0]);
  gst_sam_runner_close (&follow->runner[1]);
}

static void
begin (GstSamFollow * follow)
{
  follow->anchor = g_new0 (GstSamAnchor, 1);
  follow->replayed = g_new0 (GstSamAnchor, 1);
  follow->result = g_new0 (GstSamReport, 1);
  follow->report = g_new0 (GstSamReport, 1);
  follow->is_shown = follow->rests = FALSE;
  follow->last_step = follow->typical = 0;
  follow->num_useless = 0;
  follow->quit = follow->interrupted = follow->is_off = FALSE;
  follow->resets = follow->waiting = follow->busy = FALSE;
  follow->has_anchor = follow->has_result = FALSE;
  follow->replays = follow->is_turn = FALSE;
  follow->is_empty = TRUE;
  follow->forgotten = follow->frame_index = 0;
  follow->num_frames = follow->num_anchors = follow->num_replays = 0;
  follow->num_kept = follow->front = 0;
  gst_sam_mutex_lock (&follow->lock);
  follow->num_prompts = 0;
  follow->is_open = TRUE;
  gst_sam_mutex_unlock (&follow->lock);
}

/* Whether the model would follow itself. */
static gboolean
is_same (GstSamFollow * follow, const struct sam_info *model)
{
  struct sam_info info = SAM_INFO_INIT;

  sam_tracker_info (follow->runner[0].tracker, &info, NULL);
  g_strlcpy (follow->variant, info.variant, sizeof follow->variant);
  follow->bytes_planned = 2 * info.bytes_planned;
  return g_str_equal (info.model_file, model->model_file) &&
      info.image_size == model->image_size;
}

gboolean
gst_sam_follow_start (GstSamFollow * follow, GstSamTrack * self,
    const struct sam_params *params, const struct sam_info *model)
{
  struct sam_params own = *params;
  struct sam_error error = { "" };
  int status;

  if (!gst_sam_follow_is_wanted (self))
    return TRUE;
  follow->is_auto = g_str_equal (self->follow_model, "auto");
  own.model_file = follow->is_auto || g_str_equal (self->follow_model,
      "embedded") ? NULL : self->follow_model;
  own.input_size = 0;
  own.lost_after = G_MAXINT;    /* the model's word */
  own.cuda_stream = NULL;
  status = open_runners (follow, &own, model, &error);
  if (status == SAM_OK && !is_same (follow, model)) {
    begin (follow);
    return TRUE;
  }
  close_runners (follow);
  if (status == SAM_OK)
    g_snprintf (error.text, sizeof error.text, "it names the model itself, %s, "
        "expected a faster one", model->model_file);
  if (status != SAM_OK && !follow->is_auto) {
    gst_sam_error_post (GST_ELEMENT (self), status, &error,
        "sam_tracker_open for follow", own.model_file);
    return FALSE;
  }
  if (status != SAM_OK || !follow->is_auto)
    gst_sam_follow_turn_off (follow, self, error.text);
  else
    GST_INFO_OBJECT (self, "follow is off: %s", error.text);
  return TRUE;
}

void
gst_sam_follow_stop (GstSamFollow * follow)
{
  guint i;

  if (!follow->is_open)
    return;
  gst_sam_mutex_lock (&follow->lock);
  follow->quit = TRUE;
  follow->is_open = FALSE;      /* no more prompts come */
  g_cond_signal (&follow->wake);
  gst_sam_mutex_unlock (&follow->lock);
  if (follow->thread)
    g_thread_join (follow->thread);
  gst_sam_follow_drop_prompts (follow, 0);
  follow->thread = NULL;
  close_runners (follow);
  gst_sam_mask_pool_clear (&follow->masks);
  gst_clear_buffer (&follow->next.pixels);
  gst_clear_buffer (&follow->current.pixels);
  for (i = 0; i < GST_SAM_FOLLOW_KEPT; i++)
    gst_clear_buffer (&follow->kept[i].pixels);
  gst_sam_anchor_clear (follow->anchor);
  gst_sam_anchor_clear (follow->replayed);
  gst_clear_buffer (&follow->mask);
  gst_sam_report_drop_masks (follow->result);
  gst_sam_report_drop_masks (follow->report);
  g_clear_pointer (&follow->anchor, g_free);
  g_clear_pointer (&follow->replayed, g_free);
  g_clear_pointer (&follow->result, g_free);
  g_clear_pointer (&follow->report, g_free);
}

GstStructure *
gst_sam_follow_to_structure (GstSamFollow * follow)
{
  GstStructure *s = NULL;

  gst_sam_mutex_lock (&follow->lock);
  if (follow->is_open)
    s = gst_structure_new ("follow",
        "variant", G_TYPE_STRING, follow->variant,
        "bytes-planned", G_TYPE_UINT64, follow->bytes_planned,
        "is-off", G_TYPE_BOOLEAN, follow->is_off,
        "frames", G_TYPE_UINT64, follow->num_frames,
        "anchors", G_TYPE_UINT64, follow->num_anchors,
        "replays", G_TYPE_UINT64, follow->num_replays,
        "step-ns", G_TYPE_INT64, follow->typical, NULL);
  gst_sam_mutex_unlock (&follow->lock);
  return s;
}

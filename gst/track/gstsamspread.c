/* SPDX-License-Identifier: MIT */
/* One prompt that becomes several: a mask file with several objects, and other
 * things like an object. */

#include "gstsampending.h"

#include <samtrack/likes.h>

#include <string.h>

/* Likeness from which on a place is taken for a thing of the same kind. */
#define LIKENESS 0.55

/* The new prompts are the next ones, in their order, each for an object of its
 * own. Returns how many there are. With @all FALSE the first that is refused is
 * the last. Frees them. */
static guint
put_first (GstSamPending * pending, GArray * prompts, gboolean all,
    const GstSamPendingCalls * calls)
{
  GArray *assigned = g_array_new (FALSE, FALSE, sizeof (GstSamPrompt));
  gboolean ok = TRUE;
  guint i, num;

  for (i = 0; i < prompts->len; i++) {
    GstSamPrompt *new = &g_array_index (prompts, GstSamPrompt, i);
    GError *error = NULL;

    if (ok || all) {
      gst_sam_mutex_lock (&pending->lock);
      ok = gst_sam_pending_assign (pending, new, 0, &error);
      gst_sam_mutex_unlock (&pending->lock);
      if (ok) {
        g_array_append_val (assigned, *new);
        continue;
      }
      gst_sam_pending_reject (pending, new, error, calls);
    }
    gst_sam_prompt_clear (new);
  }
  num = assigned->len;
  for (i = assigned->len; i > 0; i--) {
    GstSamPrompt *new = &g_array_index (assigned, GstSamPrompt, i - 1);
    GError *error = NULL;

    if (gst_sam_pending_unpop (pending, new))
      continue;
    num--;
    gst_sam_pending_set_queue_full (&error);
    gst_sam_pending_reject (pending, new, error, calls);
    gst_sam_prompt_clear (new);
  }
  g_array_unref (assigned);
  g_array_unref (prompts);
  return num;
}

/* ---- Masks */

/* A prompt for another object of the same file. */
static GstSamPrompt
make_sibling (const GstSamPrompt * prompt, GstSamMask * mask)
{
  GstSamPrompt sibling = *prompt;

  sibling.id = sibling.mark = 0;
  sibling.fresh = FALSE;
  sibling.sample = NULL;
  sibling.location = g_strdup (prompt->location);
  sibling.label = g_strdup (prompt->label);
  sibling.value = mask->value;
  sibling.mask = (GstSamMask *) gst_mini_object_ref (GST_MINI_OBJECT_CAST
      (mask));
  return sibling;
}

void
gst_sam_pending_spread_mask (GstSamPending * pending, GstSamPrompt * prompt,
    const GstSamPendingCalls * calls)
{
  GArray *siblings = g_array_new (FALSE, FALSE, sizeof (GstSamPrompt));
  guint i;

  prompt->value = prompt->mask->value;
  for (i = 0; i < prompt->mask->more->len; i++) {
    const GstSamPrompt new = make_sibling (prompt,
        g_ptr_array_index (prompt->mask->more, i));

    g_array_append_val (siblings, new);
  }
  put_first (pending, siblings, TRUE, calls);
}

/* ---- Likes */

/* The frame that was looked at; FALSE: prompts cannot name it, and are for the
 * one that comes. */
static gboolean
find_looked_at (GstSamPending * pending, sam_tracker * tracker, guint64 index,
    GstSamPassed * looked)
{
  guint64 oldest, next;

  looked->start = GST_CLOCK_TIME_NONE;
  looked->width = pending->moment.width;
  looked->height = pending->moment.height;
  return gst_sam_late_clamp (&pending->late, FALSE, &looked->start) &&
      sam_tracker_frames (tracker, 0, &oldest, &next, NULL) == SAM_OK &&
      index >= oldest && index + 1 == next;
}

static GstSamPrompt
make_box (const struct sam_like *like, const GstSamPassed * looked,
    gboolean timed, const gchar * label)
{
  const gfloat *box = like->box;
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_BOX,.normalized = TRUE,
    .positive = TRUE
  };

  prompt.x = box[0] / looked->width;
  prompt.y = box[1] / looked->height;
  prompt.w = box[2] / looked->width - prompt.x;
  prompt.h = box[3] / looked->height - prompt.y;
  prompt.timed = timed;
  prompt.running_time = looked->start;
  prompt.label = g_strdup (label);
  return prompt;
}

int
gst_sam_pending_spread_like (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPrompt * prompt, guint64 engine_id,
    const GstSamPendingCalls * calls, struct sam_error *why)
{
  const gdouble threshold = prompt->has_threshold ? prompt->threshold :
      LIKENESS;
  struct sam_likes likes = SAM_LIKES_INIT;
  GstSamLiked liked = {.id = prompt->id,.threshold = threshold };
  GArray *boxes;
  GstSamPassed looked;
  gboolean timed;
  guint i;
  int status = sam_tracker_likes (tracker, engine_id, threshold, &likes, why);

  if (status != SAM_OK)
    return status;
  boxes = g_array_new (FALSE, FALSE, sizeof (GstSamPrompt));
  timed = find_looked_at (pending, tracker, likes.frame_index, &looked);
  liked.found = likes.num_likes;
  liked.best = likes.best;
  for (i = 0; i < liked.found && (!prompt->max || i < prompt->max); i++) {
    const GstSamPrompt box = make_box (&likes.like[i], &looked, timed,
        gst_sam_pending_get_label (pending, prompt->id));

    g_array_append_val (boxes, box);
  }
  liked.started = put_first (pending, boxes, FALSE, calls);
  calls->liked (calls->user, &liked);
  return SAM_OK;
}

/* SPDX-License-Identifier: MIT */
/* One prompt that becomes several: a mask file with several objects, and other
 * things like an object, in one frame or, by a standing order, as they come. */

#include "gstsampending.h"

#include <samtrack/likes.h>

#include <string.h>

/* Likeness from which on a place is taken for a thing of the same kind. */
#define LIKENESS 0.55

/* The new prompts are the next ones, in their order, each for an object of its
 * own; @litter (nullable) gets these objects. With @all FALSE the first that is
 * refused is the last. Frees them. */
static void
put_first (GstSamPending * pending, GArray * prompts, gboolean all,
    const GstSamPendingCalls * calls, GstSamLitter * litter)
{
  GArray *assigned = g_array_new (FALSE, FALSE, sizeof (GstSamPrompt));
  gboolean ok = TRUE;
  guint i;

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
  for (i = assigned->len; i > 0; i--) {
    GstSamPrompt *new = &g_array_index (assigned, GstSamPrompt, i - 1);
    GError *error = NULL;

    if (gst_sam_pending_unpop (pending, new)) {
      if (litter && litter->num < SAM_MAX_OBJECTS)
        litter->id[litter->num++] = new->id;
      continue;
    }
    gst_sam_pending_set_queue_full (&error);
    gst_sam_pending_reject (pending, new, error, calls);
    gst_sam_prompt_clear (new);
  }
  g_array_unref (assigned);
  g_array_unref (prompts);
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
  put_first (pending, siblings, TRUE, calls, NULL);
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

/* Start at most @max objects where something is like an object, which get the
 * label of @liked->id. Sets what was found. Returns an engine's status. */
static int
look (GstSamPending * pending, sam_tracker * tracker, guint64 engine_id,
    guint max, const GstSamPendingCalls * calls, GstSamLiked * liked,
    GstSamLitter * litter, struct sam_error *why)
{
  struct sam_likes likes = SAM_LIKES_INIT;
  const guint before = litter->num;
  GArray *boxes;
  GstSamPassed looked;
  gboolean timed;
  guint i;
  int status = sam_tracker_likes (tracker, engine_id, liked->threshold, &likes,
      why);

  if (status != SAM_OK)
    return status;
  boxes = g_array_new (FALSE, FALSE, sizeof (GstSamPrompt));
  timed = find_looked_at (pending, tracker, likes.frame_index, &looked);
  liked->found = likes.num_likes;
  liked->best = likes.best;
  for (i = 0; i < liked->found && i < max; i++) {
    const GstSamPrompt box = make_box (&likes.like[i], &looked, timed,
        gst_sam_pending_get_label (pending, liked->id));

    g_array_append_val (boxes, box);
  }
  put_first (pending, boxes, FALSE, calls, litter);
  liked->started = litter->num - before;
  return SAM_OK;
}

/* ---- Standing orders */

static void
end_order (GstSamPending * pending, guint i)
{
  memmove (&pending->order[i], &pending->order[i + 1],
      (--pending->num_orders - i) * sizeof *pending->order);
}

/* A prompt for things like an object takes the place of the order that holds
 * for it. */
static void
set_order (GstSamPending * pending, const GstSamPrompt * prompt,
    gdouble threshold, const GstSamLitter * litter)
{
  GstSamLikeOrder *order;
  guint i;

  for (i = 0; i < pending->num_orders; i++) {
    if (pending->order[i].id == prompt->id)
      end_order (pending, i--);
  }
  if (!prompt->every)
    return;
  if (pending->num_orders == GST_SAM_LIKE_ORDERS)
    end_order (pending, 0);
  order = &pending->order[pending->num_orders++];
  order->id = prompt->id;
  order->threshold = threshold;
  order->max = prompt->max;
  order->every = prompt->every;
  order->since = 0;
  order->litter = *litter;
}

int
gst_sam_pending_spread_like (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPrompt * prompt, guint64 engine_id,
    const GstSamPendingCalls * calls, struct sam_error *why)
{
  GstSamLiked liked = {.id = prompt->id,.threshold = LIKENESS };
  GstSamLitter litter = {.num = 0 };
  int status;

  if (prompt->has_threshold)
    liked.threshold = prompt->threshold;
  status = look (pending, tracker, engine_id, prompt->max ? prompt->max :
      SAM_MAX_OBJECTS, calls, &liked, &litter, why);
  if (status != SAM_OK)
    return status;
  set_order (pending, prompt, liked.threshold, &litter);
  calls->liked (calls->user, &liked);
  return SAM_OK;
}

/* What the last look started may be on no frame yet, where it would be found a
 * second time. */
static gboolean
is_settled (const GstSamPending * pending, const GstSamLitter * litter)
{
  guint i, k, shown = 0;

  for (i = 0; i < litter->num; i++) {
    for (k = 0; k < pending->num_bound; k++)
      shown += pending->bound[k].id == litter->id[i] &&
          pending->bound[k].shown;
  }
  return shown == litter->num;
}

/* Objects that the order may start: as many as are allowed at a time, and as
 * slots are free, so that nothing is refused. */
static guint
find_room (GstSamPending * pending, GstSamLikeOrder * order)
{
  GstSamLitter *litter = &order->litter;
  guint i, num = 0, room;

  for (i = 0; i < litter->num; i++) {
    if (gst_sam_pending_is_known (pending, litter->id[i]))
      litter->id[num++] = litter->id[i];
  }
  litter->num = num;
  gst_sam_mutex_lock (&pending->lock);
  room = pending->max_objects - MIN (pending->num_known, pending->max_objects);
  gst_sam_mutex_unlock (&pending->lock);
  return !order->max ? room : MIN (room, order->max - MIN (num, order->max));
}

static guint64
find_present (const GstSamPending * pending, guint64 id)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++) {
    if (pending->bound[i].id == id)
      return pending->bound[i].present ? pending->bound[i].engine_id : 0;
  }
  return 0;
}

/* The order's object may be out of the picture: then the first one of those
 * like it that is not tells what to look for. */
static void
follow (GstSamPending * pending, sam_tracker * tracker, GstSamLikeOrder * order,
    guint room, const GstSamPendingCalls * calls)
{
  GstSamLiked liked = {.id = order->id,.threshold = order->threshold };
  guint64 engine_id = find_present (pending, order->id);
  struct sam_error why = { "" };
  guint i;

  for (i = 0; i < order->litter.num && !engine_id; i++)
    engine_id = find_present (pending, order->litter.id[i]);
  if (engine_id && look (pending, tracker, engine_id, room, calls, &liked,
          &order->litter, &why) == SAM_OK && liked.started)
    calls->liked (calls->user, &liked);
}

void
gst_sam_pending_follow_orders (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPendingCalls * calls)
{
  guint i = 0, room;

  while (i < pending->num_orders) {
    GstSamLikeOrder *order = &pending->order[i];

    if (!gst_sam_pending_is_known (pending, order->id)) {
      end_order (pending, i);
      continue;
    }
    i++;
    if (order->since < order->every)
      continue;
    room = find_room (pending, order);
    if (!is_settled (pending, &order->litter))
      continue;
    order->since = 0;
    if (room)
      follow (pending, tracker, order, room, calls);
  }
}

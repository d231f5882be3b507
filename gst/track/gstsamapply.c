/* SPDX-License-Identifier: MIT */
/* What the thread that owns the tracker does with waiting prompts. */

#include "gstsampending.h"

#include <samtrack/answers.h>

#include <float.h>

/* Frames that an object may take to appear after its prompt, while others like
 * it are to be found. */
#define LIKE_TRIES 8

gboolean
gst_sam_pending_has_objects (const GstSamPending * pending)
{
  return pending->num_bound > 0;
}

static gint
find_bound (const GstSamPending * pending, guint64 id)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++) {
    if (pending->bound[i].id == id)
      return i;
  }
  return -1;
}

static void
bind (GstSamPending * pending, guint64 id, guint64 engine_id)
{
  gst_sam_mutex_lock (&pending->lock);
  if (pending->num_bound < SAM_MAX_OBJECTS) { /* max_objects sees to it */
    pending->bound[pending->num_bound].id = id;
    pending->bound[pending->num_bound].engine_id = engine_id;
    pending->bound[pending->num_bound].shown = FALSE;
    pending->bound[pending->num_bound].present = FALSE;
    pending->bound[pending->num_bound].clicked = FALSE;
    pending->bound[pending->num_bound].settled = 0;
    pending->num_bound++;
  }
  gst_sam_mutex_unlock (&pending->lock);
}

static void
unbind (GstSamPending * pending, guint i)
{
  gst_sam_mutex_lock (&pending->lock);
  pending->bound[i] = pending->bound[--pending->num_bound];
  gst_sam_mutex_unlock (&pending->lock);
}

static void
unbind_all (GstSamPending * pending)
{
  gst_sam_mutex_lock (&pending->lock);
  pending->num_bound = 0;
  gst_sam_mutex_unlock (&pending->lock);
}

/* Take back the rounding of x + w that gst_sam_prompt_check() forgives. */
static gfloat
box_end (gdouble value, gdouble edge)
{
  return value > edge && value <= edge + 1e-6 ? edge : value;
}

/* A point that lies before the edge still does as a float. */
static gfloat
point_at (gdouble value, gdouble edge)
{
  const gdouble last = edge * (1 - FLT_EPSILON / 2);

  return value < edge && value > last ? last : value;
}

/* The frame of the past that a prompt is for; NULL: the one that comes. Where
 * its own is not held any more, @moved is told. */
static const GstSamPassed *
find_passed (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPrompt * prompt, guint64 engine_id,
    const GstSamPendingCalls * calls)
{
  const GstSamMoment *moment = &pending->moment;
  const GstClockTime time = prompt->running_time;
  const GstSamPassed *passed;
  GstClockTime start;
  guint64 oldest, next;

  if (!prompt->timed || (GST_CLOCK_TIME_IS_VALID (moment->start) &&
          time >= moment->start) || sam_tracker_frames (tracker, engine_id,
          &oldest, &next, NULL) != SAM_OK)
    return NULL;
  passed = gst_sam_late_find (&pending->late, time, oldest);
  start = passed ? passed->start : moment->start;
  if (start > time)
    calls->moved (calls->user, prompt, start);
  return passed;
}

void
gst_sam_pending_describe (const GstSamPrompt * from, gint width, gint height,
    struct sam_point *point, struct sam_prompt *prompt)
{
  gdouble right = 1, bottom = 1;

  if (!from->normalized) {
    right = prompt->space_width = from->space_width ? from->space_width :
        width;
    bottom = prompt->space_height = from->space_height ? from->space_height :
        height;
  }
  if (from->kind == GST_SAM_PROMPT_POINT) {
    point->label = from->positive;
    point->x = point_at (from->x, right);
    point->y = point_at (from->y, bottom);
    prompt->num_points = 1;
    prompt->points = point;
    prompt->answer = from->answer;
  } else if (from->kind == GST_SAM_PROMPT_BOX) {
    prompt->has_box = 1;
    prompt->box[0] = from->x;
    prompt->box[1] = from->y;
    prompt->box[2] = box_end (from->x + from->w, right);
    prompt->box[3] = box_end (from->y + from->h, bottom);
  }
}

/* Hand a point, box or mask to the tracker. */
static int
submit (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPrompt * from, guint64 engine_id,
    const GstSamPendingCalls * calls, struct sam_error *why)
{
  const GstSamPassed *passed = find_passed (pending, tracker, from, engine_id,
      calls);
  struct sam_prompt prompt = {.size = sizeof (prompt),.id = engine_id };
  struct sam_point point;
  guint64 new_id = 0;
  int status;

  if (passed) {
    prompt.has_frame = TRUE;
    prompt.frame = passed->index;
  }
  gst_sam_pending_describe (from, passed ? passed->width :
      pending->moment.width, passed ? passed->height : pending->moment.height,
      &point, &prompt);
  if (from->kind == GST_SAM_PROMPT_MASK) {
    prompt.mask_bits = from->mask->bits;
    prompt.mask_side = from->mask->side;
  }
  status = sam_tracker_prompt (tracker, &prompt, &new_id, why);
  if (status == SAM_OK && from->fresh)
    bind (pending, from->id, new_id);
  if (status == SAM_OK && from->kind == GST_SAM_PROMPT_POINT)
    gst_sam_pending_set_clicked (pending, new_id, TRUE);
  return status;
}

static int
take_answer (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPrompt * prompt, guint64 engine_id, struct sam_error *why)
{
  int status = sam_tracker_take_answer (tracker, engine_id, prompt->answer,
      why);

  if (status == SAM_OK)
    gst_sam_pending_set_clicked (pending, engine_id, TRUE);
  return status;
}

/* Its object may have been prompted just now, and is on the next frame. */
static int
apply_like (GstSamPending * pending, sam_tracker * tracker,
    GstSamPrompt * prompt, guint64 engine_id,
    const GstSamPendingCalls * calls, struct sam_error *why)
{
  int status = gst_sam_pending_spread_like (pending, tracker, prompt,
      engine_id, calls, why);

  return status == SAM_ENOTFOUND && !prompt->timed &&
      prompt->tries++ < LIKE_TRIES ? SAM_EBUSY : status;
}

static int
apply_one (GstSamPending * pending, sam_tracker * tracker,
    GstSamPrompt * prompt, const GstSamPendingCalls * calls,
    struct sam_error *why)
{
  gint i = find_bound (pending, prompt->id);

  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    sam_tracker_clear (tracker);
    unbind_all (pending);
    return SAM_OK;
  }
  if (prompt->kind == GST_SAM_PROMPT_REMOVE) {
    int status;

    /* Its prompt may have been refused, or it was undone: gone all the same. */
    if (i < 0)
      return SAM_OK;
    status = sam_tracker_remove (tracker, pending->bound[i].engine_id, why);
    unbind (pending, i);
    return status == SAM_ENOTFOUND ? SAM_OK : status;
  }
  if (i < 0 && !prompt->fresh)
    return SAM_ENOTFOUND;
  if (prompt->kind == GST_SAM_PROMPT_UNDO)
    return sam_tracker_undo (tracker, pending->bound[i].engine_id, why);
  if (prompt->kind == GST_SAM_PROMPT_TAKE)
    return take_answer (pending, tracker, prompt, pending->bound[i].engine_id,
        why);
  if (prompt->kind == GST_SAM_PROMPT_LIKE)
    return apply_like (pending, tracker, prompt, pending->bound[i].engine_id,
        calls, why);
  return submit (pending, tracker, prompt, i < 0 ? 0 :
      pending->bound[i].engine_id, calls, why);
}

/* Prompts that wait for their time */

static gboolean
is_command (const GstSamPrompt * prompt)
{
  return prompt->kind > GST_SAM_PROMPT_MASK;
}

/* Whether its frame is still to come. Between two frames, none is known to be
 * the last. */
static gboolean
is_early (const GstSamPending * pending, const GstSamPrompt * prompt)
{
  const GstSamMoment *moment = &pending->moment;
  GstClockTime newest = GST_CLOCK_TIME_NONE;

  if (!prompt->timed)
    return FALSE;
  if (GST_CLOCK_TIME_IS_VALID (moment->start))
    return prompt->running_time >= moment->end &&
        prompt->running_time - moment->start <= GST_SAM_PENDING_AHEAD;
  return moment->end == 0 && (!gst_sam_late_clamp (&pending->late, FALSE,
          &newest) || prompt->running_time > newest);
}

/* Whether a prompt for the same object waits before the prompt @i. */
static gboolean
is_behind_one (GstSamPending * pending, guint i)
{
  const GstSamPrompt *prompt = gst_sam_pending_waiting_at (pending, i);
  guint k;

  for (k = 0; k < i && !is_command (prompt); k++) {
    if (gst_sam_pending_waiting_at (pending, k)->id == prompt->id)
      return TRUE;
  }
  return FALSE;
}

/* The first prompt that can be applied now; those before it wait. */
static gint
find_due (GstSamPending * pending)
{
  guint i;

  for (i = 0; i < pending->length; i++) {
    if (!is_early (pending, gst_sam_pending_waiting_at (pending, i)) &&
        !is_behind_one (pending, i))
      return i;
  }
  return -1;
}

/* Take a prompt out of the queue. */
static GstSamPrompt
take_waiting (GstSamPending * pending, guint i)
{
  const GstSamPrompt taken = *gst_sam_pending_waiting_at (pending, i);

  for (; i > 0; i--)
    *gst_sam_pending_waiting_at (pending, i) =
        *gst_sam_pending_waiting_at (pending, i - 1);
  pending->head = (pending->head + 1) % GST_SAM_PENDING_SIZE;
  pending->length--;
  return taken;
}

/* Have another answer taken to a click that still waits. Returns whether there
 * is one. */
static gboolean
take_waiting_answer (GstSamPending * pending, const GstSamPrompt * command,
    guint before)
{
  GstSamPrompt *prompt;
  guint i;

  for (i = before; i > 0; i--) {
    prompt = gst_sam_pending_waiting_at (pending, i - 1);
    if (prompt->id != command->id || is_command (prompt))
      continue;
    if (prompt->kind == GST_SAM_PROMPT_POINT)
      prompt->answer = command->answer;
    return prompt->kind == GST_SAM_PROMPT_POINT;
  }
  return FALSE;
}

/* Undo takes back a prompt that still waits, if there is one before it; remove
 * takes back all. Returns whether that was all. */
static gboolean
take_back_waiting (GstSamPending * pending, const GstSamPrompt * command,
    guint before)
{
  const gboolean undo = command->kind == GST_SAM_PROMPT_UNDO;
  gboolean found = FALSE;
  GstSamPrompt prompt;
  guint i;

  if (command->kind == GST_SAM_PROMPT_TAKE)
    return take_waiting_answer (pending, command, before);
  if (command->kind == GST_SAM_PROMPT_LIKE)
    return FALSE;
  for (i = before; i > 0 && !(undo && found); i--) {
    if (gst_sam_pending_waiting_at (pending, i - 1)->id != command->id)
      continue;
    prompt = take_waiting (pending, i - 1);
    found = TRUE;
    if (prompt.fresh)
      gst_sam_pending_forget_known (pending, prompt.id);
    gst_sam_marks_settle (&pending->marks, &prompt, FALSE);
    gst_sam_prompt_clear (&prompt);
  }
  return undo && found;
}

typedef enum
{
  POP_NONE,
  POP_ONE,
  POP_UNREAD,                   /* the first one's mask is being read */
} Pop;

/* *mask must be unreferenced where it is being read. */
static Pop
pop (GstSamPending * pending, GstSamPrompt * prompt, GstMiniObject ** mask)
{
  Pop result = POP_NONE;
  gint due;

  gst_sam_mutex_lock (&pending->lock);
  while (result == POP_NONE && (due = find_due (pending)) >= 0) {
    const GstSamPrompt *first = gst_sam_pending_waiting_at (pending, due);

    if (first->mask && !gst_sam_masks_is_done (&pending->masks, first->mask)) {
      *mask = gst_mini_object_ref (GST_MINI_OBJECT_CAST (first->mask));
      result = POP_UNREAD;
      break;
    }
    *prompt = take_waiting (pending, due);
    if (!is_command (prompt) || !take_back_waiting (pending, prompt, due))
      result = POP_ONE;
  }
  pending->applies = result == POP_ONE;
  gst_sam_mutex_unlock (&pending->lock);
  return result;
}

/* Why the engine has refused what it was given. */
static GstSamRefusal
get_reason (const GstSamPending * pending, const GstSamPrompt * prompt)
{
  if (prompt->kind == GST_SAM_PROMPT_MASK)
    return GST_SAM_REFUSED_MASK;
  if (prompt->answer && gst_sam_prompt_check (prompt, pending->moment.width,
          pending->moment.height, NULL))
    return GST_SAM_REFUSED_ANSWER;
  return GST_SAM_REFUSED_GEOMETRY;
}

/* The engine has ids of its own, so that its sentences about them are not for
 * the user. */
static GError *
get_refusal (const GstSamPending * pending, const GstSamPrompt * prompt,
    int status, const struct sam_error *why)
{
  GError *error = NULL;

  switch (status) {
    case SAM_ENOTFOUND:
      gst_sam_pending_set_not_tracked (&error, prompt->id, TRUE);
      break;
    case SAM_EFULL:
      gst_sam_pending_set_no_slot (&error, pending->max_objects);
      break;
    case SAM_EBUSY:
      if (!prompt->timed)
        gst_sam_pending_set_queue_full (&error);
      else
        gst_sam_pending_set_error (&error, GST_SAM_REFUSED_QUEUE_FULL,
            "The prompt was refused: the frame of its time has as many prompts "
            "as one can have.");
      break;
    default:
      gst_sam_pending_set_error (&error, status == SAM_EINVAL ?
          get_reason (pending, prompt) : GST_SAM_REFUSED_ENGINE,
          "The prompt was refused: %s.", why->text);
      break;
  }
  return error;
}

static gboolean
is_too_early (const GstSamPending * pending, const GstSamPrompt * prompt)
{
  return prompt->timed && GST_CLOCK_TIME_IS_VALID (pending->moment.start) &&
      prompt->running_time > pending->moment.start &&
      prompt->running_time - pending->moment.start > GST_SAM_PENDING_AHEAD;
}

static void
set_too_early (GError ** error, const GstSamPrompt * prompt, GstClockTime start)
{
  gst_sam_pending_set_error (error, GST_SAM_REFUSED_TIME,
      "The prompt was refused: its running time is %" GST_TIME_FORMAT
      ", expected at most %" GST_TIME_FORMAT
      " after that of the frame that comes, %" GST_TIME_FORMAT ".",
      GST_TIME_ARGS (prompt->running_time),
      GST_TIME_ARGS (GST_SAM_PENDING_AHEAD), GST_TIME_ARGS (start));
}

/* Which of its objects is meant, a correction has to say. */
static void
set_several (GError ** error, const GstSamMask * mask)
{
  GString *values = g_string_new (NULL);
  guint i;

  g_string_printf (values, "%d", mask->value);
  for (i = 0; i < MIN (mask->more->len, 10); i++)
    g_string_append_printf (values, ", %d",
        ((GstSamMask *) g_ptr_array_index (mask->more, i))->value);
  gst_sam_pending_set_error (error, GST_SAM_REFUSED_MASK,
      "The prompt was refused: the mask '%s' has several objects, the values "
      "%s%s: 'value' chooses one.", mask->location, values->str,
      mask->more->len > 10 ? " ..." : "");
  g_string_free (values, TRUE);
}

/* Its object's masks have from now on what the prompt changes. */
static void
note_settled (GstSamPending * pending, const GstSamPrompt * prompt)
{
  const gint i = find_bound (pending, prompt->id);

  if (i >= 0)
    pending->bound[i].settled = MAX (pending->bound[i].settled, prompt->mark);
}

guint64
gst_sam_pending_get_settled (const GstSamPending * pending, guint64 id)
{
  const gint i = find_bound (pending, id);

  return i >= 0 ? pending->bound[i].settled : 0;
}

/* Apply a prompt, which is consumed. FALSE: the tracker takes no more of them
 * for this frame, and the rest waits for the next one. */
static gboolean
apply (GstSamPending * pending, sam_tracker * tracker, GstSamPrompt * prompt,
    const GstSamPendingCalls * calls)
{
  struct sam_error why = { "" };
  GError *error = NULL;
  int status;

  if (prompt->mask && prompt->mask->more && prompt->fresh && !prompt->value)
    gst_sam_pending_spread_mask (pending, prompt, calls);
  if (prompt->mask && prompt->mask->error) {
    error = g_error_copy (prompt->mask->error);
  } else if (prompt->mask && prompt->mask->more && !prompt->value) {
    set_several (&error, prompt->mask);
  } else if (is_too_early (pending, prompt)) {
    set_too_early (&error, prompt, pending->moment.start);
  } else {
    status = apply_one (pending, tracker, prompt, calls, &why);
    if (status == SAM_EBUSY && !prompt->timed &&
        gst_sam_pending_unpop (pending, prompt))
      return FALSE;
    if (status != SAM_OK)
      error = get_refusal (pending, prompt, status, &why);
  }
  note_settled (pending, prompt);
  if (error)
    gst_sam_pending_reject (pending, prompt, error, calls);
  else
    gst_sam_marks_settle (&pending->marks, prompt, TRUE);
  gst_sam_prompt_clear (prompt);
  return TRUE;
}

/* What the last reset or jump asked for. An object may be bound since. */
static void
finish_reset (GstSamPending * pending, sam_tracker * tracker)
{
  gboolean reset;

  gst_sam_mutex_lock (&pending->lock);
  reset = pending->reset;
  if (reset) {
    gst_sam_pending_forget_bound (pending);
    pending->num_bound = 0;
    pending->reset = FALSE;
    pending->resets++;
  }
  if (reset || pending->jumped)
    gst_sam_late_forget (&pending->late);
  pending->jumped = FALSE;
  gst_sam_mutex_unlock (&pending->lock);
  if (reset)
    sam_tracker_clear (tracker);
}

gboolean
gst_sam_pending_apply (GstSamPending * pending, sam_tracker * tracker,
    const GstSamMoment * moment, gboolean wait,
    const GstSamPendingCalls * calls)
{
  GstMiniObject *mask = NULL;
  GstSamPrompt prompt;
  gboolean done = TRUE;
  Pop popped;

  pending->moment = *moment;
  finish_reset (pending, tracker);
  gst_sam_pending_follow_orders (pending, tracker, calls);
  while (done && (popped = pop (pending, &prompt, &mask)) != POP_NONE) {
    if (popped == POP_ONE) {
      if (!apply (pending, tracker, &prompt, calls))
        return TRUE;
      continue;
    }
    done = wait && gst_sam_masks_wait (&pending->masks, (GstSamMask *) mask);
    gst_clear_mini_object (&mask);
  }
  return done || !wait;
}

void
gst_sam_pending_note_frame (GstSamPending * pending, guint64 index)
{
  guint i;

  for (i = 0; i < pending->num_orders; i++)
    pending->order[i].since++;
  gst_sam_mutex_lock (&pending->lock);
  gst_sam_late_note (&pending->late, index, &pending->moment);
  gst_sam_mutex_unlock (&pending->lock);
}

guint64
gst_sam_pending_find_id (const GstSamPending * pending, guint64 engine_id)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++) {
    if (pending->bound[i].engine_id == engine_id)
      return pending->bound[i].id;
  }
  return 0;
}

guint64
gst_sam_pending_find_engine_id (const GstSamPending * pending, guint64 id)
{
  gint i = find_bound (pending, id);

  return i < 0 ? 0 : pending->bound[i].engine_id;
}

guint64
gst_sam_pending_find_clicked (const GstSamPending * pending, guint64 engine_id)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++) {
    if (pending->bound[i].engine_id == engine_id)
      return pending->bound[i].clicked ? pending->bound[i].id : 0;
  }
  return 0;
}

void
gst_sam_pending_set_clicked (GstSamPending * pending, guint64 engine_id,
    gboolean clicked)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++) {
    if (pending->bound[i].engine_id == engine_id)
      pending->bound[i].clicked = clicked;
  }
}

static const struct sam_object *
find_object (const struct sam_result *result, guint64 engine_id)
{
  int i;

  for (i = 0; i < result->num_objects; i++) {
    if (result->objects[i].id == engine_id)
      return &result->objects[i];
  }
  return NULL;
}

void
gst_sam_pending_settle (GstSamPending * pending,
    const struct sam_result *result)
{
  guint i = 0;

  while (i < pending->num_bound) {
    const struct sam_object *object = find_object (result,
        pending->bound[i].engine_id);

    if (object) {
      pending->bound[i++].present = object->score > 0 && object->area > 0;
      continue;
    }
    gst_sam_mutex_lock (&pending->lock);
    gst_sam_pending_forget_known (pending, pending->bound[i].id);
    gst_sam_mutex_unlock (&pending->lock);
    unbind (pending, i);
  }
}

guint64
gst_sam_pending_show (GstSamPending * pending, guint64 engine_id,
    gboolean * first)
{
  guint i;

  *first = FALSE;
  for (i = 0; i < pending->num_bound; i++) {
    if (pending->bound[i].engine_id == engine_id) {
      *first = !pending->bound[i].shown;
      pending->bound[i].shown = TRUE;
      return pending->bound[i].id;
    }
  }
  return 0;
}


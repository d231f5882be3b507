#include "gstsampending.h"

#include <float.h>
#include <string.h>

void
gst_sam_pending_init (GstSamPending * pending)
{
  g_mutex_init (&pending->lock);
  gst_sam_masks_init (&pending->masks);
  gst_sam_marks_init (&pending->marks);
  pending->max_objects = SAM_MAX_OBJECTS;
}

void
gst_sam_pending_clear (GstSamPending * pending)
{
  gst_sam_pending_stop (pending);
  gst_sam_masks_clear (&pending->masks);
  gst_sam_marks_clear (&pending->marks);
  g_mutex_clear (&pending->lock);
}

void
gst_sam_pending_start (GstSamPending * pending, gint side)
{
  gst_sam_masks_start (&pending->masks, side);
}

void
gst_sam_pending_interrupt (GstSamPending * pending)
{
  gst_sam_masks_stop (&pending->masks);
}

void
gst_sam_pending_set_flushing (GstSamPending * pending, gboolean flushing)
{
  gst_sam_masks_set_flushing (&pending->masks, flushing);
}

void
gst_sam_pending_forget_masks (GstSamPending * pending)
{
  gst_sam_masks_forget (&pending->masks);
}

static GstSamPrompt *
waiting_at (GstSamPending * pending, guint i)
{
  return &pending->waiting[(pending->head + i) % GST_SAM_PENDING_SIZE];
}

static gint
find_known (const GstSamPending * pending, guint64 id)
{
  guint i;

  for (i = 0; i < pending->num_known; i++) {
    if (pending->known[i] == id)
      return i;
  }
  return -1;
}

static void
forget_known (GstSamPending * pending, guint64 id)
{
  gint i = find_known (pending, id);

  if (i >= 0)
    pending->known[i] = pending->known[--pending->num_known];
  gst_sam_marks_forget (&pending->marks, id);
}

static void
drop_waiting (GstSamPending * pending)
{
  for (; pending->length; pending->length--)
    gst_sam_prompt_clear (waiting_at (pending, pending->length - 1));
  pending->head = 0;
}

static void
G_GNUC_PRINTF (3, 4)
set_error (GError ** error, gint code, const gchar * format, ...)
{
  va_list args;

  va_start (args, format);
  if (error)
    *error = g_error_new_valist (GST_SAM_REFUSAL, code, format, args);
  va_end (args);
}

static void
set_not_tracked (GError ** error, guint64 id, gboolean was)
{
  set_error (error, GST_SAM_REFUSED_NOT_TRACKED,
      "The prompt was refused: object %" G_GUINT64_FORMAT " is not tracked%s.",
      id, was ? " any more" : "");
}

static void
set_no_slot (GError ** error, guint max_objects)
{
  set_error (error, GST_SAM_REFUSED_NO_SLOT,
      "The prompt was refused: max-objects is %u, and as many are tracked.",
      max_objects);
}

static void
set_queue_full (GError ** error)
{
  set_error (error, GST_SAM_REFUSED_QUEUE_FULL,
      "The prompt was refused: %d prompts wait for the next frame already.",
      GST_SAM_PENDING_SIZE);
}

/* What can be said of a prompt without the objects. */
static gboolean
check_prompt (GstSamPending * pending, GstSamPrompt * prompt, gint width,
    gint height, GError ** error)
{
  if (prompt->kind != GST_SAM_PROMPT_MASK)
    return gst_sam_prompt_check (prompt, width, height, error);
  if (prompt->location)
    prompt->mask = gst_sam_masks_get_file (&pending->masks, prompt->location,
        prompt->initial, error);
  else
    prompt->mask = gst_sam_masks_get_sample (&pending->masks, prompt->sample,
        error);
  g_clear_pointer (&prompt->sample, gst_sample_unref);
  return prompt->mask != NULL;
}

/* Give the prompt its id. Called with the lock held. */
static gboolean
assign_id (GstSamPending * pending, GstSamPrompt * prompt, guint64 wish,
    GError ** error)
{
  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    prompt->id = GST_SAM_PENDING_ALL;
    return TRUE;
  }
  if (prompt->id) {
    if (find_known (pending, prompt->id) >= 0)
      return TRUE;
    set_not_tracked (error, prompt->id, prompt->id <= pending->last_id);
    return FALSE;
  }
  if (pending->num_known >= pending->max_objects) {
    set_no_slot (error, pending->max_objects);
    return FALSE;
  }
  /* A wish must leave room for the ids that follow. */
  pending->last_id = wish > pending->last_id && wish <= G_MAXINT64 ? wish :
      pending->last_id + 1;
  prompt->id = pending->last_id;
  prompt->fresh = TRUE;
  pending->known[pending->num_known++] = prompt->id;
  return TRUE;
}

guint64
gst_sam_pending_push (GstSamPending * pending, GstSamPrompt * prompt,
    guint64 wish, GError ** error)
{
  guint64 id = 0;
  gint width, height;

  /* initial-prompt is for the stream that begins, whose caps may be still to
   * come: its pixels are those of the frame that it is applied to. */
  g_mutex_lock (&pending->lock);
  width = prompt->initial ? 0 : pending->width;
  height = prompt->initial ? 0 : pending->height;
  g_mutex_unlock (&pending->lock);

  if (!check_prompt (pending, prompt, width, height, error))
    return 0;

  g_mutex_lock (&pending->lock);
  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    drop_waiting (pending);
    pending->num_known = 0;
    gst_sam_marks_forget_all (&pending->marks);
  }
  if (pending->length == GST_SAM_PENDING_SIZE) {
    set_queue_full (error);
  } else if (assign_id (pending, prompt, wish, error)) {
    id = prompt->id;
    if (prompt->kind == GST_SAM_PROMPT_REMOVE)
      forget_known (pending, id);
    prompt->space_width = width;
    prompt->space_height = height;
    prompt->mark = gst_sam_marks_add (&pending->marks, prompt);
    *waiting_at (pending, pending->length++) = *prompt;
  }
  g_mutex_unlock (&pending->lock);
  return id;
}

void
gst_sam_pending_set_frame_size (GstSamPending * pending, gint width,
    gint height)
{
  g_mutex_lock (&pending->lock);
  pending->width = width;
  pending->height = height;
  g_mutex_unlock (&pending->lock);
}

void
gst_sam_pending_get_frame_size (GstSamPending * pending, gint * width,
    gint * height)
{
  g_mutex_lock (&pending->lock);
  *width = pending->width;
  *height = pending->height;
  g_mutex_unlock (&pending->lock);
}

gboolean
gst_sam_pending_is_known (GstSamPending * pending, guint64 id)
{
  gboolean known;

  g_mutex_lock (&pending->lock);
  known = find_known (pending, id) >= 0;
  g_mutex_unlock (&pending->lock);
  return known;
}

void
gst_sam_pending_set_max_objects (GstSamPending * pending, guint max_objects)
{
  g_mutex_lock (&pending->lock);
  pending->max_objects = MIN (max_objects, SAM_MAX_OBJECTS);
  g_mutex_unlock (&pending->lock);
}

gboolean
gst_sam_pending_has_objects (const GstSamPending * pending)
{
  return pending->num_bound > 0;
}

gboolean
gst_sam_pending_is_idle (GstSamPending * pending)
{
  gboolean idle;

  g_mutex_lock (&pending->lock);
  idle = !pending->length && !pending->num_bound;
  g_mutex_unlock (&pending->lock);
  return idle;
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
  g_mutex_lock (&pending->lock);
  if (pending->num_bound < SAM_MAX_OBJECTS) { /* max_objects sees to it */
    pending->bound[pending->num_bound].id = id;
    pending->bound[pending->num_bound].engine_id = engine_id;
    pending->num_bound++;
  }
  g_mutex_unlock (&pending->lock);
}

static void
unbind (GstSamPending * pending, guint i)
{
  g_mutex_lock (&pending->lock);
  pending->bound[i] = pending->bound[--pending->num_bound];
  g_mutex_unlock (&pending->lock);
}

static void
unbind_all (GstSamPending * pending)
{
  g_mutex_lock (&pending->lock);
  pending->num_bound = 0;
  g_mutex_unlock (&pending->lock);
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

/* Hand a point, box or mask to the tracker. */
static int
submit (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPrompt * from, guint64 engine_id, struct sam_error *why)
{
  struct sam_point point = {.label = from->positive };
  struct sam_prompt prompt = {.size = sizeof (prompt),.id = engine_id };
  gdouble right = 1, bottom = 1;
  guint64 new_id = 0;
  int status;

  if (!from->normalized) {
    right = prompt.space_width =
        from->space_width ? from->space_width : pending->frame_width;
    bottom = prompt.space_height =
        from->space_height ? from->space_height : pending->frame_height;
  }
  if (from->kind == GST_SAM_PROMPT_POINT) {
    point.x = point_at (from->x, right);
    point.y = point_at (from->y, bottom);
    prompt.num_points = 1;
    prompt.points = &point;
  } else if (from->kind == GST_SAM_PROMPT_BOX) {
    prompt.has_box = 1;
    prompt.box[0] = from->x;
    prompt.box[1] = from->y;
    prompt.box[2] = box_end (from->x + from->w, right);
    prompt.box[3] = box_end (from->y + from->h, bottom);
  } else {
    prompt.mask_bits = from->mask->bits;
    prompt.mask_side = from->mask->side;
  }
  status = sam_tracker_prompt (tracker, &prompt, &new_id, why);
  if (status == SAM_OK && from->fresh)
    bind (pending, from->id, new_id);
  return status;
}

static int
apply_one (GstSamPending * pending, sam_tracker * tracker,
    const GstSamPrompt * prompt, struct sam_error *why)
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
  return submit (pending, tracker, prompt, i < 0 ? 0 :
      pending->bound[i].engine_id, why);
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

  g_mutex_lock (&pending->lock);
  if (pending->length) {
    const GstSamPrompt *first = waiting_at (pending, 0);

    if (first->mask && !gst_sam_masks_is_done (&pending->masks, first->mask)) {
      *mask = gst_mini_object_ref (GST_MINI_OBJECT_CAST (first->mask));
      result = POP_UNREAD;
    } else {
      *prompt = *first;
      pending->head = (pending->head + 1) % GST_SAM_PENDING_SIZE;
      pending->length--;
      result = POP_ONE;
    }
  }
  g_mutex_unlock (&pending->lock);
  return result;
}

/* Put a prompt back in front; FALSE if others have filled the room. */
static gboolean
unpop (GstSamPending * pending, const GstSamPrompt * prompt)
{
  gboolean room;

  g_mutex_lock (&pending->lock);
  room = pending->length < GST_SAM_PENDING_SIZE;
  if (room) {
    pending->head = (pending->head + GST_SAM_PENDING_SIZE - 1) %
        GST_SAM_PENDING_SIZE;
    pending->waiting[pending->head] = *prompt;
    pending->length++;
  }
  g_mutex_unlock (&pending->lock);
  return room;
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
      set_not_tracked (&error, prompt->id, TRUE);
      break;
    case SAM_EFULL:
      set_no_slot (&error, pending->max_objects);
      break;
    case SAM_EBUSY:
      set_queue_full (&error);
      break;
    default:
      set_error (&error, status != SAM_EINVAL ? GST_SAM_REFUSED_ENGINE :
          prompt->kind == GST_SAM_PROMPT_MASK ? GST_SAM_REFUSED_MASK :
          GST_SAM_REFUSED_GEOMETRY, "The prompt was refused: %s.", why->text);
      break;
  }
  return error;
}

/* Apply a prompt, which is consumed. FALSE: the tracker takes no more of them
 * for this frame, and the rest waits for the next one. */
static gboolean
apply (GstSamPending * pending, sam_tracker * tracker, GstSamPrompt * prompt,
    GstSamRejectFunc reject, gpointer user)
{
  struct sam_error why = { "" };
  GError *error = NULL;
  int status;

  if (prompt->mask && prompt->mask->error) {
    error = g_error_copy (prompt->mask->error);
  } else {
    status = apply_one (pending, tracker, prompt, &why);
    if (status == SAM_EBUSY && unpop (pending, prompt))
      return FALSE;
    if (status != SAM_OK)
      error = get_refusal (pending, prompt, status, &why);
  }
  gst_sam_marks_settle (&pending->marks, prompt, !error);
  if (error) {
    if (prompt->fresh) {
      g_mutex_lock (&pending->lock);
      forget_known (pending, prompt->id);
      g_mutex_unlock (&pending->lock);
    }
    reject (user, prompt, error);
    g_error_free (error);
  }
  gst_sam_prompt_clear (prompt);
  return TRUE;
}

static void
forget_bound (GstSamPending * pending)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++)
    forget_known (pending, pending->bound[i].id);
}

/* What the last reset asked for, where the tracker is. An object may have been
 * bound in between. */
static void
finish_reset (GstSamPending * pending, sam_tracker * tracker)
{
  gboolean reset;

  g_mutex_lock (&pending->lock);
  reset = pending->reset;
  if (reset) {
    forget_bound (pending);
    pending->num_bound = 0;
    pending->reset = FALSE;
  }
  g_mutex_unlock (&pending->lock);
  if (reset)
    sam_tracker_clear (tracker);
}

gboolean
gst_sam_pending_apply (GstSamPending * pending, sam_tracker * tracker,
    gint width, gint height, gboolean wait, GstSamRejectFunc reject,
    gpointer user)
{
  GstMiniObject *mask = NULL;
  GstSamPrompt prompt;
  gboolean done = TRUE;
  Pop popped;

  pending->frame_width = width;
  pending->frame_height = height;
  finish_reset (pending, tracker);
  while (done && (popped = pop (pending, &prompt, &mask)) != POP_NONE) {
    if (popped == POP_ONE) {
      if (!apply (pending, tracker, &prompt, reject, user))
        return TRUE;
      continue;
    }
    done = wait && gst_sam_masks_wait (&pending->masks, (GstSamMask *) mask);
    gst_clear_mini_object (&mask);
  }
  return done || !wait;
}

static gboolean
result_has (const struct sam_result *result, guint64 engine_id)
{
  int i;

  for (i = 0; i < result->num_objects; i++) {
    if (result->objects[i].id == engine_id)
      return TRUE;
  }
  return FALSE;
}

void
gst_sam_pending_settle (GstSamPending * pending,
    const struct sam_result *result)
{
  guint i = 0;

  while (i < pending->num_bound) {
    if (result_has (result, pending->bound[i].engine_id)) {
      i++;
      continue;
    }
    g_mutex_lock (&pending->lock);
    forget_known (pending, pending->bound[i].id);
    g_mutex_unlock (&pending->lock);
    unbind (pending, i);
  }
}

guint64
gst_sam_pending_get_id (const GstSamPending * pending, guint64 engine_id)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++) {
    if (pending->bound[i].engine_id == engine_id)
      return pending->bound[i].id;
  }
  return 0;
}

/* They are handed in anew. */
static void
drop_initial (GstSamPending * pending)
{
  guint i, kept = 0;

  for (i = 0; i < pending->length; i++) {
    GstSamPrompt *prompt = waiting_at (pending, i);

    if (!prompt->initial) {
      *waiting_at (pending, kept++) = *prompt;
      continue;
    }
    if (prompt->fresh)
      forget_known (pending, prompt->id);
    gst_sam_prompt_clear (prompt);
  }
  pending->length = kept;
}

void
gst_sam_pending_reset (GstSamPending * pending)
{
  g_mutex_lock (&pending->lock);
  forget_bound (pending);
  drop_initial (pending);
  pending->reset = TRUE;
  g_mutex_unlock (&pending->lock);
}

void
gst_sam_pending_restore (GstSamPending * pending, const GstSamBound * bound,
    guint num_bound, guint64 last_id)
{
  guint i;

  g_mutex_lock (&pending->lock);
  drop_waiting (pending);
  gst_sam_marks_forget_all (&pending->marks);
  for (i = 0; i < num_bound; i++) {
    pending->bound[i] = bound[i];
    pending->known[i] = bound[i].id;
  }
  pending->num_bound = pending->num_known = num_bound;
  pending->last_id = MAX (pending->last_id, last_id);
  pending->reset = FALSE;
  g_mutex_unlock (&pending->lock);
}

void
gst_sam_pending_stop (GstSamPending * pending)
{
  g_mutex_lock (&pending->lock);
  drop_waiting (pending);
  pending->num_known = 0;
  pending->num_bound = 0;
  pending->reset = FALSE;
  pending->last_id = 0;
  pending->width = pending->height = 0;
  gst_sam_marks_forget_all (&pending->marks);
  gst_sam_marks_set_current (&pending->marks, 0);
  g_mutex_unlock (&pending->lock);
  gst_sam_masks_stop (&pending->masks);
}

#include "gstsamqueue.h"

#include <float.h>
#include <string.h>

void
gst_sam_queue_init (GstSamQueue * queue)
{
  g_mutex_init (&queue->lock);
  gst_sam_masks_init (&queue->masks);
  queue->max_objects = GST_SAM_MAX_OBJECTS;
}

void
gst_sam_queue_clear (GstSamQueue * queue)
{
  gst_sam_queue_stop (queue);
  gst_sam_masks_clear (&queue->masks);
  g_mutex_clear (&queue->lock);
}

void
gst_sam_queue_start (GstSamQueue * queue, gint side)
{
  gst_sam_masks_start (&queue->masks, side);
}

void
gst_sam_queue_interrupt (GstSamQueue * queue)
{
  gst_sam_masks_stop (&queue->masks);
}

void
gst_sam_queue_set_flushing (GstSamQueue * queue, gboolean flushing)
{
  gst_sam_masks_set_flushing (&queue->masks, flushing);
}

void
gst_sam_queue_forget_masks (GstSamQueue * queue)
{
  gst_sam_masks_forget (&queue->masks);
}

static GstSamPrompt *
waiting_at (GstSamQueue * queue, guint i)
{
  return &queue->waiting[(queue->head + i) % GST_SAM_QUEUE_SIZE];
}

static gint
find_known (const GstSamQueue * queue, guint64 id)
{
  guint i;

  for (i = 0; i < queue->num_known; i++) {
    if (queue->known[i] == id)
      return i;
  }
  return -1;
}

static void
forget_known (GstSamQueue * queue, guint64 id)
{
  gint i = find_known (queue, id);

  if (i >= 0)
    queue->known[i] = queue->known[--queue->num_known];
}

static void
drop_waiting (GstSamQueue * queue)
{
  for (; queue->length; queue->length--)
    gst_sam_prompt_clear (waiting_at (queue, queue->length - 1));
  queue->head = 0;
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
      GST_SAM_QUEUE_SIZE);
}

/* What can be said of a prompt without the objects. */
static gboolean
check_prompt (GstSamQueue * queue, GstSamPrompt * prompt, gint width,
    gint height, GError ** error)
{
  if (prompt->kind != GST_SAM_PROMPT_MASK)
    return gst_sam_prompt_check (prompt, width, height, error);
  if (prompt->location)
    prompt->mask = gst_sam_masks_get_file (&queue->masks, prompt->location,
        prompt->initial, error);
  else
    prompt->mask = gst_sam_masks_get_sample (&queue->masks, prompt->sample,
        error);
  g_clear_pointer (&prompt->sample, gst_sample_unref);
  return prompt->mask != NULL;
}

/* Give the prompt its id. Called with the lock held. */
static gboolean
assign_id (GstSamQueue * queue, GstSamPrompt * prompt, guint64 wish,
    GError ** error)
{
  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    prompt->id = GST_SAM_QUEUE_ALL;
    return TRUE;
  }
  if (prompt->id) {
    if (find_known (queue, prompt->id) >= 0)
      return TRUE;
    set_not_tracked (error, prompt->id, prompt->id <= queue->last_id);
    return FALSE;
  }
  if (queue->num_known >= queue->max_objects) {
    set_no_slot (error, queue->max_objects);
    return FALSE;
  }
  /* A wish must leave room for the ids that follow. */
  queue->last_id = wish > queue->last_id && wish <= G_MAXINT64 ? wish :
      queue->last_id + 1;
  prompt->id = queue->last_id;
  prompt->fresh = TRUE;
  queue->known[queue->num_known++] = prompt->id;
  return TRUE;
}

guint64
gst_sam_queue_push (GstSamQueue * queue, GstSamPrompt * prompt, guint64 wish,
    GError ** error)
{
  guint64 id = 0;
  gint width, height;

  /* initial-prompt is for the stream that begins, whose caps may be still to
   * come: its pixels are those of the frame that it is applied to. */
  g_mutex_lock (&queue->lock);
  width = prompt->initial ? 0 : queue->width;
  height = prompt->initial ? 0 : queue->height;
  g_mutex_unlock (&queue->lock);

  if (!check_prompt (queue, prompt, width, height, error))
    return 0;

  g_mutex_lock (&queue->lock);
  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    drop_waiting (queue);
    queue->num_known = 0;
  }
  if (queue->length == GST_SAM_QUEUE_SIZE) {
    set_queue_full (error);
  } else if (assign_id (queue, prompt, wish, error)) {
    id = prompt->id;
    if (prompt->kind == GST_SAM_PROMPT_REMOVE)
      forget_known (queue, id);
    prompt->space_width = width;
    prompt->space_height = height;
    *waiting_at (queue, queue->length++) = *prompt;
  }
  g_mutex_unlock (&queue->lock);
  return id;
}

void
gst_sam_queue_set_frame_size (GstSamQueue * queue, gint width, gint height)
{
  g_mutex_lock (&queue->lock);
  queue->width = width;
  queue->height = height;
  g_mutex_unlock (&queue->lock);
}

void
gst_sam_queue_set_max_objects (GstSamQueue * queue, guint max_objects)
{
  g_mutex_lock (&queue->lock);
  queue->max_objects = MIN (max_objects, GST_SAM_MAX_OBJECTS);
  g_mutex_unlock (&queue->lock);
}

gboolean
gst_sam_queue_has_objects (const GstSamQueue * queue)
{
  return queue->num_bound > 0;
}

gboolean
gst_sam_queue_is_idle (GstSamQueue * queue)
{
  gboolean waiting;

  g_mutex_lock (&queue->lock);
  waiting = queue->length > 0;
  g_mutex_unlock (&queue->lock);
  return !waiting && !gst_sam_queue_has_objects (queue);
}

static gint
find_bound (const GstSamQueue * queue, guint64 id)
{
  guint i;

  for (i = 0; i < queue->num_bound; i++) {
    if (queue->bound[i].id == id)
      return i;
  }
  return -1;
}

static void
bind (GstSamQueue * queue, guint64 id, guint64 engine_id)
{
  if (queue->num_bound == GST_SAM_MAX_OBJECTS)
    return;                     /* max_objects forbids it */
  queue->bound[queue->num_bound].id = id;
  queue->bound[queue->num_bound].engine_id = engine_id;
  queue->num_bound++;
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
submit (GstSamQueue * queue, sam_tracker * tracker, const GstSamPrompt * from,
    guint64 engine_id, struct sam_error *why)
{
  struct sam_point point = {.label = from->positive };
  struct sam_prompt prompt = {.size = sizeof (prompt),.id = engine_id };
  gdouble right = 1, bottom = 1;
  guint64 new_id = 0;
  int status;

  if (!from->normalized) {
    right = prompt.space_width =
        from->space_width ? from->space_width : queue->width;
    bottom = prompt.space_height =
        from->space_height ? from->space_height : queue->height;
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
    bind (queue, from->id, new_id);
  return status;
}

static int
apply_one (GstSamQueue * queue, sam_tracker * tracker,
    const GstSamPrompt * prompt, struct sam_error *why)
{
  gint i = find_bound (queue, prompt->id);

  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    sam_tracker_clear (tracker);
    queue->num_bound = 0;
    return SAM_OK;
  }
  if (prompt->kind == GST_SAM_PROMPT_REMOVE) {
    int status;

    /* Its prompt may have been refused, or it was undone: gone all the same. */
    if (i < 0)
      return SAM_OK;
    status = sam_tracker_remove (tracker, queue->bound[i].engine_id, why);
    queue->bound[i] = queue->bound[--queue->num_bound];
    return status == SAM_ENOTFOUND ? SAM_OK : status;
  }
  if (i < 0 && !prompt->fresh)
    return SAM_ENOTFOUND;
  if (prompt->kind == GST_SAM_PROMPT_UNDO)
    return sam_tracker_undo (tracker, queue->bound[i].engine_id, why);
  return submit (queue, tracker, prompt, i < 0 ? 0 :
      queue->bound[i].engine_id, why);
}

typedef enum
{
  POP_NONE,
  POP_ONE,
  POP_UNREAD,                   /* the first one's mask is being read */
} Pop;

/* *mask must be unreferenced where it is being read. */
static Pop
pop (GstSamQueue * queue, GstSamPrompt * prompt, GstMiniObject ** mask)
{
  Pop result = POP_NONE;

  g_mutex_lock (&queue->lock);
  if (queue->length) {
    const GstSamPrompt *first = waiting_at (queue, 0);

    if (first->mask && !gst_sam_masks_is_done (&queue->masks, first->mask)) {
      *mask = gst_mini_object_ref (GST_MINI_OBJECT_CAST (first->mask));
      result = POP_UNREAD;
    } else {
      *prompt = *first;
      queue->head = (queue->head + 1) % GST_SAM_QUEUE_SIZE;
      queue->length--;
      result = POP_ONE;
    }
  }
  g_mutex_unlock (&queue->lock);
  return result;
}

/* Put a prompt back in front; FALSE where others have filled the queue. */
static gboolean
unpop (GstSamQueue * queue, const GstSamPrompt * prompt)
{
  gboolean room;

  g_mutex_lock (&queue->lock);
  room = queue->length < GST_SAM_QUEUE_SIZE;
  if (room) {
    queue->head = (queue->head + GST_SAM_QUEUE_SIZE - 1) % GST_SAM_QUEUE_SIZE;
    queue->waiting[queue->head] = *prompt;
    queue->length++;
  }
  g_mutex_unlock (&queue->lock);
  return room;
}

/* The engine has ids of its own, so that its sentences about them are not for
 * the user. */
static GError *
get_refusal (const GstSamQueue * queue, const GstSamPrompt * prompt, int status,
    const struct sam_error *why)
{
  GError *error = NULL;

  switch (status) {
    case SAM_ENOTFOUND:
      set_not_tracked (&error, prompt->id, TRUE);
      break;
    case SAM_EFULL:
      set_no_slot (&error, queue->max_objects);
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
apply (GstSamQueue * queue, sam_tracker * tracker, GstSamPrompt * prompt,
    GstSamRejectFunc reject, gpointer user)
{
  struct sam_error why = { "" };
  GError *error = NULL;
  int status;

  if (prompt->mask && prompt->mask->error) {
    error = g_error_copy (prompt->mask->error);
  } else {
    status = apply_one (queue, tracker, prompt, &why);
    if (status == SAM_EBUSY && unpop (queue, prompt))
      return FALSE;
    if (status != SAM_OK)
      error = get_refusal (queue, prompt, status, &why);
  }
  if (error) {
    if (prompt->fresh) {
      g_mutex_lock (&queue->lock);
      forget_known (queue, prompt->id);
      g_mutex_unlock (&queue->lock);
    }
    reject (user, prompt, error);
    g_error_free (error);
  }
  gst_sam_prompt_clear (prompt);
  return TRUE;
}

gboolean
gst_sam_queue_apply (GstSamQueue * queue, sam_tracker * tracker, gboolean wait,
    GstSamRejectFunc reject, gpointer user)
{
  GstMiniObject *mask = NULL;
  GstSamPrompt prompt;
  gboolean done = TRUE;
  Pop popped;

  while (done && (popped = pop (queue, &prompt, &mask)) != POP_NONE) {
    if (popped == POP_ONE) {
      if (!apply (queue, tracker, &prompt, reject, user))
        return TRUE;
      continue;
    }
    done = wait && gst_sam_masks_wait (&queue->masks, (GstSamMask *) mask);
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
gst_sam_queue_settle (GstSamQueue * queue, const struct sam_result *result)
{
  guint i = 0;

  while (i < queue->num_bound) {
    if (result_has (result, queue->bound[i].engine_id)) {
      i++;
      continue;
    }
    g_mutex_lock (&queue->lock);
    forget_known (queue, queue->bound[i].id);
    g_mutex_unlock (&queue->lock);
    queue->bound[i] = queue->bound[--queue->num_bound];
  }
}

guint64
gst_sam_queue_get_id (const GstSamQueue * queue, guint64 engine_id)
{
  guint i;

  for (i = 0; i < queue->num_bound; i++) {
    if (queue->bound[i].engine_id == engine_id)
      return queue->bound[i].id;
  }
  return 0;
}

/* They are handed in anew. */
static void
drop_initial (GstSamQueue * queue)
{
  guint i, kept = 0;

  for (i = 0; i < queue->length; i++) {
    GstSamPrompt *prompt = waiting_at (queue, i);

    if (!prompt->initial) {
      *waiting_at (queue, kept++) = *prompt;
      continue;
    }
    if (prompt->fresh)
      forget_known (queue, prompt->id);
    gst_sam_prompt_clear (prompt);
  }
  queue->length = kept;
}

void
gst_sam_queue_reset (GstSamQueue * queue, sam_tracker * tracker)
{
  guint i;

  g_mutex_lock (&queue->lock);
  for (i = 0; i < queue->num_bound; i++)
    forget_known (queue, queue->bound[i].id);
  queue->num_bound = 0;
  drop_initial (queue);
  g_mutex_unlock (&queue->lock);
  if (tracker)
    sam_tracker_clear (tracker);
}

void
gst_sam_queue_stop (GstSamQueue * queue)
{
  g_mutex_lock (&queue->lock);
  drop_waiting (queue);
  queue->num_known = 0;
  queue->num_bound = 0;
  queue->last_id = 0;
  queue->width = queue->height = 0;
  g_mutex_unlock (&queue->lock);
  gst_sam_masks_stop (&queue->masks);
}

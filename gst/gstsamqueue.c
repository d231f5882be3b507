#include "gstsamqueue.h"

#include "gstsamimage.h"
#include "gstsammask.h"

#include <float.h>
#include <string.h>

#define MAX_SIDE 16384          /* of a mask, as the engine takes it */

void
gst_sam_queue_init (GstSamQueue * queue)
{
  g_mutex_init (&queue->lock);
  queue->max_objects = GST_SAM_MAX_OBJECTS;
}

void
gst_sam_queue_clear (GstSamQueue * queue)
{
  gst_sam_queue_stop (queue);
  g_mutex_clear (&queue->lock);
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
      "A prompt is refused: object %" G_GUINT64_FORMAT " is not tracked%s.",
      id, was ? " any more" : "");
}

static void
set_no_slot (GError ** error, guint max_objects)
{
  set_error (error, GST_SAM_REFUSED_NO_SLOT,
      "A prompt is refused: max-objects is %u and as many are tracked.",
      max_objects);
}

static void
set_queue_full (GError ** error)
{
  set_error (error, GST_SAM_REFUSED_QUEUE_FULL,
      "A prompt is refused: %d wait for the next frame already.",
      GST_SAM_QUEUE_SIZE);
}

/* A mask that came as a sample holds what its caps promise. */
static gboolean
check_mask (const GstSamPrompt * prompt, GError ** error)
{
  GstCaps *caps = gst_sample_get_caps (prompt->mask);
  GstBuffer *buffer = gst_sample_get_buffer (prompt->mask);
  GstVideoInfo info;
  GstVideoFrame frame;
  gchar *why;

  if (!caps || !buffer || !gst_caps_is_fixed (caps) ||
      !gst_video_info_from_caps (&info, caps) ||
      GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_GRAY8) {
    set_error (error, GST_SAM_REFUSED_MASK,
        "A prompt is refused: a mask is a sample of video/x-raw, GRAY8.");
    return FALSE;
  }
  if (info.width < 1 || info.height < 1 || info.width > MAX_SIDE ||
      info.height > MAX_SIDE) {
    set_error (error, GST_SAM_REFUSED_MASK,
        "A prompt is refused: its mask has %d x %d pixels, expected 1 to %d "
        "each way.", info.width, info.height, MAX_SIDE);
    return FALSE;
  }
  if (!gst_sam_image_map (&frame, &info, buffer, GST_MAP_READ, &why)) {
    set_error (error, GST_SAM_REFUSED_MASK,
        "A prompt is refused: its mask is not GRAY8 of %d x %d pixels: %s.",
        info.width, info.height, why);
    g_free (why);
    return FALSE;
  }
  gst_video_frame_unmap (&frame);
  return TRUE;
}

/* What can be said of a prompt without the objects. */
static gboolean
check_prompt (GstSamPrompt * prompt, gint width, gint height, GError ** error)
{
  if (prompt->location && !prompt->mask) {
    prompt->mask = gst_sam_mask_load (prompt->location, error);
    if (!prompt->mask)
      return FALSE;
  }
  if (prompt->kind == GST_SAM_PROMPT_MASK)
    return prompt->mask && check_mask (prompt, error);
  return gst_sam_prompt_check (prompt, width, height, error);
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

  g_mutex_lock (&queue->lock);
  width = queue->width;
  height = queue->height;
  g_mutex_unlock (&queue->lock);

  if (!check_prompt (prompt, width, height, error))
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
gst_sam_queue_is_idle (GstSamQueue * queue)
{
  gboolean idle;

  g_mutex_lock (&queue->lock);
  idle = !queue->num_bound && !queue->length;
  g_mutex_unlock (&queue->lock);
  return idle;
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
  struct sam_prompt prompt = {.id = engine_id };
  GstVideoInfo info;
  GstVideoFrame frame;
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
    gchar *why_not;

    gst_video_info_from_caps (&info, gst_sample_get_caps (from->mask));
    if (!gst_sam_image_map (&frame, &info,
            gst_sample_get_buffer (from->mask), GST_MAP_READ, &why_not)) {
      g_snprintf (why->text, sizeof why->text, "its mask changed: %s", why_not);
      g_free (why_not);
      return SAM_EINVAL;
    }
    prompt.mask = GST_VIDEO_FRAME_PLANE_DATA (&frame, 0);
    prompt.mask_width = GST_VIDEO_FRAME_WIDTH (&frame);
    prompt.mask_height = GST_VIDEO_FRAME_HEIGHT (&frame);
    prompt.mask_stride = GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
  }
  status = sam_tracker_prompt (tracker, &prompt, &new_id, why);
  if (prompt.mask)
    gst_video_frame_unmap (&frame);
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

static gboolean
pop (GstSamQueue * queue, GstSamPrompt * prompt)
{
  gboolean any;

  g_mutex_lock (&queue->lock);
  any = queue->length > 0;
  if (any) {
    *prompt = *waiting_at (queue, 0);
    queue->head = (queue->head + 1) % GST_SAM_QUEUE_SIZE;
    queue->length--;
  }
  g_mutex_unlock (&queue->lock);
  return any;
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
static void
refuse (GstSamQueue * queue, const GstSamPrompt * prompt, int status,
    const struct sam_error *why, GstSamRejectFunc reject, gpointer user)
{
  GError *error = NULL;

  if (prompt->fresh) {
    g_mutex_lock (&queue->lock);
    forget_known (queue, prompt->id);
    g_mutex_unlock (&queue->lock);
  }
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
          GST_SAM_REFUSED_GEOMETRY, "A prompt is refused: %s.", why->text);
      break;
  }
  reject (user, prompt, error);
  g_error_free (error);
}

void
gst_sam_queue_apply (GstSamQueue * queue, sam_tracker * tracker,
    GstSamRejectFunc reject, gpointer user)
{
  GstSamPrompt prompt;

  while (pop (queue, &prompt)) {
    struct sam_error why = { "" };
    int status = apply_one (queue, tracker, &prompt, &why);

    /* The tracker takes no more prompts for this frame: the rest waits for the
     * next one. */
    if (status == SAM_EBUSY && unpop (queue, &prompt))
      return;
    if (status != SAM_OK)
      refuse (queue, &prompt, status, &why, reject, user);
    gst_sam_prompt_clear (&prompt);
  }
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

void
gst_sam_queue_reset (GstSamQueue * queue, sam_tracker * tracker)
{
  guint i;

  g_mutex_lock (&queue->lock);
  for (i = 0; i < queue->num_bound; i++)
    forget_known (queue, queue->bound[i].id);
  queue->num_bound = 0;
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
}

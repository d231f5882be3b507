/* SPDX-License-Identifier: MIT */
/* A tracker of the fast model that follows the masks of the model. */

#include "gstsamrunner.h"

#include "common/gstsamframe.h"
#include "gstsamstep.h"

#include <string.h>

void
gst_sam_anchor_clear (GstSamAnchor * anchor)
{
  gst_clear_buffer (&anchor->frame.pixels);
  gst_clear_buffer (&anchor->mask);
  anchor->num_objects = 0;
}

int
gst_sam_runner_open (GstSamRunner * runner, const struct sam_params *params,
    struct sam_error *error)
{
  struct sam_info info = SAM_INFO_INIT;
  int status = sam_tracker_open (&runner->tracker, params, error);

  if (status != SAM_OK)
    return status;
  sam_tracker_info (runner->tracker, &info, NULL);
  runner->side = info.mask_side;
  runner->bits = g_malloc (sam_mask_bytes (runner->side));
  runner->num_objects = 0;
  runner->number = 0;
  gst_sam_late_forget (&runner->late);
  return SAM_OK;
}

void
gst_sam_runner_close (GstSamRunner * runner)
{
  sam_tracker_close (&runner->tracker);
  g_clear_pointer (&runner->bits, g_free);
  runner->num_objects = 0;
}

void
gst_sam_runner_clear (GstSamRunner * runner)
{
  sam_tracker_clear (runner->tracker);
  runner->num_objects = 0;
  gst_sam_late_forget (&runner->late);
}

void
gst_sam_runner_forget_removed (GstSamRunner * runner, GstSamPending * pending)
{
  guint i = 0;

  while (i < runner->num_objects) {
    const GstSamFollowed *followed = &runner->object[i];

    if (gst_sam_pending_is_known (pending, followed->said.id)) {
      i++;
      continue;
    }
    if (followed->engine_id)
      sam_tracker_remove (runner->tracker, followed->engine_id, NULL);
    runner->num_objects--;
    memmove (&runner->object[i], &runner->object[i + 1],
        (runner->num_objects - i) * sizeof runner->object[0]);
  }
}

/* Masks of an anchor */

/* Rows of one object's mask, of a label map. */
typedef struct
{
  const guint8 *labels;
  guint8 *row;
  gint width;
  guint8 slot;
} Rows;

static const uint8_t *
get_row (void *priv, int y)
{
  const Rows *rows = priv;
  const guint8 *from = rows->labels + (gsize) y * rows->width;
  gint x;

  for (x = 0; x < rows->width; x++)
    rows->row[x] = from[x] == rows->slot;
  return rows->row;
}

/* Whether the model has seen it on that frame. */
static gboolean
is_seen (const GstSamObject * object)
{
  return object->area > 0 && object->state != SAM_OBJECT_OCCLUDED &&
      object->state != SAM_OBJECT_LOST;
}

/* Start the object from its mask. */
static int
prompt_mask (GstSamRunner * runner, GstSamFollowed * followed, guint slot,
    Rows * rows, gint height, struct sam_error *error)
{
  struct sam_prompt prompt = SAM_PROMPT_INIT;
  int status;

  rows->slot = slot;
  status = sam_mask_stretch (runner->bits, runner->side, rows->width, height,
      get_row, rows, error);
  if (status != SAM_OK)
    return status;
  prompt.id = followed->engine_id;
  prompt.mask_bits = runner->bits;
  prompt.mask_side = runner->side;
  return sam_tracker_prompt (runner->tracker, &prompt, &followed->engine_id,
      error);
}

/* Returns the number of objects that have a mask. */
static guint
prompt_masks (GstSamRunner * runner, const GstSamAnchor * anchor,
    const GstMapInfo * map, struct sam_error *refused)
{
  Rows rows = {.labels = map->data,.width = anchor->mask_width };
  guint i, seen = 0;

  rows.row = g_malloc (anchor->mask_width);
  for (i = 0; i < anchor->num_objects; i++) {
    GstSamFollowed *followed = &runner->object[i];

    memset (followed, 0, sizeof *followed);
    followed->said = anchor->object[i];
    followed->anchor = anchor->frame.number;
    followed->settled = followed->said.settled;
    if (is_seen (&followed->said) && prompt_mask (runner, followed,
            followed->said.slot, &rows, anchor->mask_height, refused) == SAM_OK)
      seen++;
  }
  runner->num_objects = anchor->num_objects;
  g_free (rows.row);
  return seen;
}

int
gst_sam_runner_begin (GstSamRunner * runner, const GstSamAnchor * anchor,
    struct sam_error *refused, struct sam_error *error)
{
  GstMapInfo map;
  guint seen;

  gst_sam_runner_clear (runner);
  if (!gst_buffer_map (anchor->mask, &map, GST_MAP_READ)) {
    g_snprintf (error->text, sizeof error->text,
        "the memory of a label map cannot be mapped for reading");
    return SAM_EDEVICE;
  }
  seen = prompt_masks (runner, anchor, &map, refused);
  gst_buffer_unmap (anchor->mask, &map);
  runner->number = anchor->frame.number;
  return seen ? gst_sam_runner_step (runner, &anchor->frame, NULL, 0, 0,
      error) : SAM_OK;
}

/* Prompts */

static GstSamFollowed *
find_id (GstSamRunner * runner, guint64 id)
{
  guint i;

  for (i = 0; i < runner->num_objects; i++) {
    if (runner->object[i].said.id == id)
      return &runner->object[i];
  }
  return NULL;
}

/* An object that the model has no slot for yet; NULL: there is no room. */
static GstSamFollowed *
add_object (GstSamRunner * runner, guint64 id)
{
  gboolean taken[SAM_MAX_OBJECTS + 1] = { FALSE, };
  GstSamFollowed *followed;
  guint i, slot = 1;

  if (runner->num_objects == SAM_MAX_OBJECTS)
    return NULL;
  for (i = 0; i < runner->num_objects; i++)
    taken[runner->object[i].said.slot] = TRUE;
  while (taken[slot])           /* as the model will most likely do */
    slot++;
  followed = &runner->object[runner->num_objects++];
  memset (followed, 0, sizeof *followed);
  followed->said.id = id;
  followed->said.slot = slot;
  followed->said.state = SAM_OBJECT_NEW;
  return followed;
}

static const uint8_t *
get_bits_row (void *priv, int y)
{
  const Rows *rows = priv;
  const guint8 *from = rows->labels + (gsize) y * ((rows->width + 7) / 8);
  gint x;

  for (x = 0; x < rows->width; x++)
    rows->row[x] = from[x / 8] >> x % 8 & 1;
  return rows->row;
}

/* A mask was read for the model's input, which may have another size. Returns
 * FALSE if there is none of one object. */
static gboolean
take_mask (GstSamRunner * runner, const GstSamPrompt * from,
    struct sam_prompt *prompt)
{
  const GstSamMask *mask = from->mask;
  Rows rows;
  int status;

  if (mask->error || !mask->bits || (mask->more && !from->value))
    return FALSE;
  rows.labels = mask->bits;
  rows.width = mask->side;
  rows.row = g_malloc (mask->side);
  status = sam_mask_stretch (runner->bits, runner->side, mask->side,
      mask->side, get_bits_row, &rows, NULL);
  g_free (rows.row);
  prompt->mask_bits = runner->bits;
  prompt->mask_side = runner->side;
  return status == SAM_OK;
}

void
gst_sam_runner_prompt (GstSamRunner * runner, const GstSamPrompt * from,
    const gchar * label, const GstSamKept * frame)
{
  gint width = GST_VIDEO_INFO_WIDTH (&frame->info);
  gint height = GST_VIDEO_INFO_HEIGHT (&frame->info);
  GstSamFollowed *followed = find_id (runner, from->id);
  struct sam_prompt prompt = SAM_PROMPT_INIT;
  const GstSamPassed *passed = NULL;
  struct sam_point point;
  guint64 oldest, next;

  if (from->mask && !take_mask (runner, from, &prompt))
    return;
  if (!followed && !(followed = add_object (runner, from->id)))
    return;
  followed->said.label = label;
  if (from->timed && from->running_time < frame->running_time &&
      sam_tracker_frames (runner->tracker, followed->engine_id, &oldest, &next,
          NULL) == SAM_OK)
    passed = gst_sam_late_find (&runner->late, from->running_time, oldest);
  if (passed) {
    prompt.has_frame = TRUE;
    prompt.frame = passed->index;
    width = passed->width;
    height = passed->height;
  }
  gst_sam_pending_describe (from, width, height, &point, &prompt);
  prompt.id = followed->engine_id;
  if (sam_tracker_prompt (runner->tracker, &prompt, &followed->engine_id,
          NULL) == SAM_OK) {
    followed->anchor = frame->number;
    followed->settled = MAX (followed->settled, from->mark);
  } else if (!followed->engine_id && !followed->anchor) {
    runner->num_objects--;      /* it is new, and the model's word will come */
  }
}

void
gst_sam_runner_undo (GstSamRunner * runner, guint64 id)
{
  GstSamFollowed *followed = find_id (runner, id);

  if (followed)
    followed->settled = 0;
}

void
gst_sam_runner_carry (GstSamRunner * runner, const GstSamRunner * from,
    GstBuffer * mask, gint mask_width, gint mask_height)
{
  Rows rows = {.width = mask_width };
  GstMapInfo map;
  guint i;

  if (!mask || !gst_buffer_map (mask, &map, GST_MAP_READ))
    return;
  rows.labels = map.data;
  rows.row = g_malloc (mask_width);
  for (i = 0; i < from->num_objects; i++) {
    const GstSamFollowed *other = &from->object[i];
    GstSamFollowed *followed = find_id (runner, other->said.id);

    if (followed ? followed->settled >= other->settled : !other->settled)
      continue;
    if (!followed && !(followed = add_object (runner, other->said.id)))
      continue;
    followed->anchor = other->anchor;
    followed->settled = other->settled;
    followed->is_told = TRUE;
    if (other->engine_id && other->now.area > 0)
      prompt_mask (runner, followed, other->said.slot, &rows, mask_height,
          NULL);
  }
  g_free (rows.row);
  gst_buffer_unmap (mask, &map);
}

/* Steps */

static GstSamFollowed *
find_followed (GstSamRunner * runner, guint64 engine_id)
{
  guint i;

  for (i = 0; i < runner->num_objects; i++) {
    if (runner->object[i].engine_id == engine_id)
      return &runner->object[i];
  }
  return NULL;
}

static void
take_result (GstSamRunner * runner, const struct sam_result *result)
{
  gint i;

  for (i = 0; i < result->num_objects; i++) {
    const struct sam_object *from = &result->objects[i];
    GstSamFollowed *followed = find_followed (runner, from->id);

    if (!followed)
      continue;
    followed->slot = from->slot;
    followed->now = followed->said;
    followed->now.state = from->state;
    followed->now.x = from->x;
    followed->now.y = from->y;
    followed->now.w = from->width;
    followed->now.h = from->height;
    followed->now.area = from->area;
    followed->now.iou = from->iou;
    followed->now.score = from->score;
    followed->now.behind = from->behind;
  }
}

/* From the slots of the runner's tracker to those of the model. */
static void
translate_slots (const GstSamRunner * runner, guint8 * labels, gsize size)
{
  guint8 slot[SAM_MAX_OBJECTS + 1] = { 0, };
  gsize i;

  for (i = 0; i < runner->num_objects; i++) {
    if (runner->object[i].engine_id)
      slot[runner->object[i].slot] = runner->object[i].said.slot;
  }
  for (i = 0; i < size; i++)
    labels[i] = slot[labels[i]];
}

static gboolean
has_any (const GstSamRunner * runner)
{
  guint i;

  for (i = 0; i < runner->num_objects; i++) {
    if (runner->object[i].engine_id)
      return TRUE;
  }
  return FALSE;
}

/* So that a late prompt finds it. */
static void
note_frame (GstSamRunner * runner, const GstSamKept * frame, guint64 index)
{
  const GstSamMoment moment = {.start = frame->running_time,
    .end = frame->running_time,
    .width = GST_VIDEO_INFO_WIDTH (&frame->info),
    .height = GST_VIDEO_INFO_HEIGHT (&frame->info)
  };

  gst_sam_late_note (&runner->late, index, &moment);
}

static int
run (GstSamRunner * runner, const GstSamKept * frame,
    const struct sam_frame *view, const struct sam_labels *labels,
    struct sam_error *error)
{
  struct sam_result result = SAM_RESULT_INIT;
  const gint64 start = gst_sam_now_ns ();
  int status = sam_tracker_step (runner->tracker, view, labels, &result,
      error);

  runner->ns = gst_sam_now_ns () - start;
  if (status == SAM_OK) {
    take_result (runner, &result);
    note_frame (runner, frame, result.frame_index);
  }
  if (status == SAM_OK && labels)
    translate_slots (runner, labels->data,
        (gsize) labels->stride * labels->height);
  return status;
}

int
gst_sam_runner_step (GstSamRunner * runner, const GstSamKept * frame,
    GstBuffer * mask, gint mask_width, gint mask_height,
    struct sam_error *error)
{
  struct sam_labels labels = { NULL, mask_width, mask_height, mask_width, 0 };
  struct sam_frame view;
  GstVideoFrame pixels;
  GstMapInfo map;
  gchar *why = NULL;
  int status;

  runner->ns = 0;
  runner->number = frame->number;
  if (mask && !gst_buffer_map (mask, &map, GST_MAP_READWRITE)) {
    g_snprintf (error->text, sizeof error->text,
        "the memory of a label map cannot be mapped for writing");
    return SAM_EDEVICE;
  }
  if (mask)
    labels.data = map.data;
  if (!has_any (runner)) {
    status = SAM_OK;
    if (mask)
      memset (map.data, 0, (gsize) mask_width * mask_height);
  } else if (gst_sam_frame_map (&pixels, &frame->info, frame->pixels,
          GST_MAP_READ | GST_VIDEO_FRAME_MAP_FLAG_NO_REF, &why)) {
    gst_sam_frame_describe (&view, &pixels);
    status = run (runner, frame, &view, mask ? &labels : NULL, error);
    gst_video_frame_unmap (&pixels);
  } else {
    status = SAM_EINVAL;
    g_snprintf (error->text, sizeof error->text, "the frame was refused: %s",
        why);
    g_free (why);
  }
  if (mask)
    gst_buffer_unmap (mask, &map);
  return status;
}

/* Lost and found are the model's word; that it is hidden on this frame is the
 * runner's. */
static enum sam_object_state
get_state (const GstSamFollowed * followed)
{
  const enum sam_object_state said = followed->said.state;
  const gboolean is_first = said == SAM_OBJECT_NEW || said == SAM_OBJECT_FOUND;

  if (!followed->engine_id && (said == SAM_OBJECT_LOST || (is_first &&
              !followed->is_told)))
    return said;
  if (!followed->engine_id || followed->now.state == SAM_OBJECT_OCCLUDED ||
      followed->now.state == SAM_OBJECT_LOST)
    return SAM_OBJECT_OCCLUDED;
  return !followed->is_told && is_first ? said : SAM_OBJECT_TRACKED;
}

static void
write_object (GstSamObject * to, const GstSamRunner * runner,
    const GstSamFollowed * followed)
{
  if (followed->engine_id) {
    *to = followed->now;
  } else {
    *to = followed->said;
    to->x = to->y = to->w = to->h = 0;
    to->area = 0;
    to->behind = 0;
  }
  to->state = get_state (followed);
  to->follows = TRUE;
  to->anchor_age = runner->number - followed->anchor;
}

void
gst_sam_runner_write (GstSamRunner * runner, GstSamReport * report)
{
  guint i;

  for (i = 0; i < runner->num_objects; i++) {
    write_object (&report->object[i], runner, &runner->object[i]);
    runner->object[i].is_told = TRUE;
  }
  report->num_objects = runner->num_objects;
}

/* The policy between the tracker and a detector: what it is told after each
 * frame, and what becomes of its decisions. */

#include "gstsamseed.h"

#include "gstsamcuda.h"
#include "gstsamtrackprivate.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* Boxes that come with a frame that was skipped are taken for those of the next
 * one, if that is not later than this many frames. */
#define MAX_CARRIED 3

/* Bytes of a class's name, with the final 0. */
#define MAX_NAME 64

/* ---- Classes */

static const gchar *
intern_name (GQuark quark)
{
  const gchar *name = g_quark_to_string (quark);
  gchar *plain;

  if (strlen (name) < MAX_NAME && g_utf8_validate (name, -1, NULL))
    return name;
  plain = gst_sam_plain_text (name);
  if (strlen (plain) >= MAX_NAME)
    *g_utf8_find_prev_char (plain, plain + MAX_NAME) = 0;
  name = g_intern_string (plain);
  g_free (plain);
  return name;
}

static gint
find_class (GstSamSeed * seed, GQuark quark)
{
  guint i;

  if (!quark)
    return SAM_SEED_NO_CLASS;
  for (i = 0; i < seed->num_classes; i++) {
    if (seed->class_quark[i] == quark)
      return i;
  }
  if (i == SAM_SEED_MAX_CLASSES)
    return SAM_SEED_NO_CLASS;
  seed->class_quark[i] = quark;
  seed->class_name[i] = intern_name (quark);
  seed->num_classes++;
  return i;
}

/* The names in detect-classes get the first numbers. */
static void
allow_classes (GstSamTrack * self, struct sam_seed_settings *settings)
{
  gchar **names = g_strsplit (self->detect_classes ? self->detect_classes : "",
      ",", SAM_SEED_MAX_CLASSES);
  guint i;

  for (i = 0; names[i]; i++) {
    const gchar *name = g_strstrip (names[i]);
    gint class_id = *name ? find_class (self->seed,
        g_quark_from_string (name)) : SAM_SEED_NO_CLASS;

    if (class_id >= 0)
      settings->classes[class_id / 64] |= G_GUINT64_CONSTANT (1) <<
          class_id % 64;
  }
  g_strfreev (names);
}

/* ---- Start and stop */

static gboolean
open_policy (GstSamTrack * self)
{
  struct sam_seed_settings settings;
  struct sam_error error = { "" };
  gchar *why = NULL;
  int status;

  if (!gst_sam_seed_get_settings (self, &settings, &why)) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("%s", why), (NULL));
    g_free (why);
    return FALSE;
  }
  settings.max_objects = self->max_objects;
  allow_classes (self, &settings);
  status = sam_seed_open (&self->seed->policy, &settings, &error);
  if (status != SAM_OK)
    gst_sam_track_post_error (self, status, &error, "sam_seed_open");
  return status == SAM_OK;
}

gboolean
gst_sam_seed_start (GstSamTrack * self)
{
  if (self->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_NONE)
    return TRUE;
  self->seed = g_new0 (GstSamSeed, 1);
  if (open_policy (self))
    return TRUE;
  gst_sam_seed_stop (self);
  return FALSE;
}

void
gst_sam_seed_stop (GstSamTrack * self)
{
  if (!self->seed)
    return;
  sam_seed_close (&self->seed->policy);
  g_clear_pointer (&self->seed, g_free);
}

gboolean
gst_sam_seed_watches (GstSamTrack * self)
{
  return self->seed && self->found->looked;
}

/* ---- What the policy is told */

static void
note_frame (GstSamTrack * self, const GstSamStep * step)
{
  GstSamSeed *seed = self->seed;
  GstSamSeedFrame *frame;
  guint64 oldest, next;

  if (!GST_CLOCK_TIME_IS_VALID (step->running_time) ||
      sam_tracker_frames (self->tracker, 0, &oldest, &next, NULL) != SAM_OK ||
      oldest == next)
    return;
  if (seed->num_frames == SAM_MAX_HISTORY)
    seed->first_frame = (seed->first_frame + 1) % SAM_MAX_HISTORY;
  else
    seed->num_frames++;
  frame = &seed->frame[(seed->first_frame + seed->num_frames - 1) %
      SAM_MAX_HISTORY];
  frame->number = step->number;
  frame->index = next - 1;
  frame->start = step->running_time;
}

/* The first frame that a prompt can name; one that is still to come: none. */
static guint64
get_oldest (GstSamTrack * self, const GstSamStep * step)
{
  const GstSamSeed *seed = self->seed;
  guint64 oldest, next;
  guint i;

  if (sam_tracker_frames (self->tracker, 0, &oldest, &next, NULL) != SAM_OK)
    return step->number + 1;
  for (i = 0; i < seed->num_frames; i++) {
    const GstSamSeedFrame *frame =
        &seed->frame[(seed->first_frame + i) % SAM_MAX_HISTORY];

    if (frame->index >= oldest)
      return frame->number;
  }
  return step->number + 1;
}

static void
take_objects (GstSamTrack * self, const struct sam_result *result,
    struct sam_seed_input *in)
{
  struct sam_object *object = self->seed->object;

  in->objects = object;
  for (; result && in->num_objects < MIN (result->num_objects,
          SAM_MAX_OBJECTS); in->num_objects++) {
    object[in->num_objects] = result->objects[in->num_objects];
    object[in->num_objects].id = gst_sam_pending_find_id (self->pending,
        object[in->num_objects].id);
  }
}

/* A small label map. One in GPU memory stays there: then boxes are compared. */
static void
take_labels (GstSamTrack * self, GstBuffer * mask, struct sam_seed_input *in)
{
  const GstSamMaskPool *pool = &self->masks;
  guint8 *to = self->seed->labels;
  GstMapInfo map;
  gint x, y;

  if (!mask || gst_sam_cuda_is_memory (mask) ||
      !gst_buffer_map (mask, &map, GST_MAP_READ))
    return;
  for (y = 0; y < SAM_SEED_GRID; y++) {
    const guint8 *row = map.data + (gsize) ((2 * y + 1) * pool->height /
        (2 * SAM_SEED_GRID)) * pool->width;

    for (x = 0; x < SAM_SEED_GRID; x++)
      *to++ = row[(2 * x + 1) * pool->width / (2 * SAM_SEED_GRID)];
  }
  gst_buffer_unmap (mask, &map);
  in->labels = self->seed->labels;
}

/* What came with the frame, or shortly before it with one that was skipped. */
static void
take_regions (GstSamTrack * self, const GstSamStep * step,
    struct sam_seed_input *in)
{
  const GstSamFound *found = step->found;
  struct sam_seed_detection *to = self->seed->detection;
  guint i;

  if (!found->looked || step->number - found->number > MAX_CARRIED)
    return;
  for (i = 0; i < found->num; i++) {
    to[i].box = found->find[i].box;
    to[i].score = found->find[i].score;
    to[i].class_id = find_class (self->seed, found->find[i].label);
    to[i].mask = NULL;
  }
  in->has_result = TRUE;
  in->result_frame = step->number;
  in->num_detections = found->num;
  in->detections = to;
}

/* ---- What it decides */

static guint64
push_prompt (GstSamTrack * self, GstSamPrompt * prompt)
{
  GError *error = NULL;
  guint64 id;

  prompt->seeded = TRUE;
  id = gst_sam_pending_push (self->pending, prompt, 0, &error);
  if (error) {
    GST_DEBUG_OBJECT (self, "of the policy: %s", error->message);
    g_error_free (error);
  }
  return id;
}

/* Returns the id of the object, 0 if the prompt was refused. */
static guint64
push_box (GstSamTrack * self, const struct sam_seed_decision *decision,
    const GstSamStep * step)
{
  const gdouble width = GST_VIDEO_INFO_WIDTH (&step->info);
  const gdouble height = GST_VIDEO_INFO_HEIGHT (&step->info);
  const GstSamSeed *seed = self->seed;
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_BOX,.id = decision->id,
    .normalized = TRUE
  };
  guint i;

  prompt.x = decision->box.x0 / width;
  prompt.y = decision->box.y0 / height;
  prompt.w = decision->box.x1 / width - prompt.x;
  prompt.h = decision->box.y1 / height - prompt.y;
  for (i = 0; decision->has_frame && i < seed->num_frames; i++) {
    if (seed->frame[i].number == decision->prompt_frame) {
      prompt.timed = TRUE;
      prompt.running_time = seed->frame[i].start;
    }
  }
  return push_prompt (self, &prompt);
}

static const gchar *
get_event (enum sam_seed_kind kind)
{
  switch (kind) {
    case SAM_SEED_START:
      return "track-born";
    case SAM_SEED_CONFIRM:
      return "track-confirmed";
    case SAM_SEED_SHADOW:
      return "track-lost";
    case SAM_SEED_REACQUIRE:
    case SAM_SEED_RETURN:
      return "track-reacquired";
    case SAM_SEED_REMOVE:
    case SAM_SEED_FORGET:
      return "track-dead";
    default:
      return NULL;
  }
}

static const gchar *
get_class_name (const GstSamSeed * seed, gint class_id)
{
  return class_id >= 0 && class_id < (gint) seed->num_classes ?
      seed->class_name[class_id] : NULL;
}

static void
post_event (GstSamTrack * self, const struct sam_seed_decision *decision,
    guint64 id, GstClockTime running_time)
{
  const gchar *event = get_event (decision->kind);

  if (!event || !id)
    return;
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("samtrack-track",
              "event", G_TYPE_STRING, event,
              "id", G_TYPE_UINT64, id,
              "label", G_TYPE_STRING, get_class_name (self->seed,
                  decision->class_id),
              "reason", G_TYPE_STRING, sam_seed_reason_name (decision->reason),
              "running-time", G_TYPE_UINT64, running_time, NULL)));
}

static void
carry_out (GstSamTrack * self, const struct sam_seed_output *out, gint i,
    const GstSamStep * step)
{
  const struct sam_seed_decision *decision = &out->decisions[i];
  guint64 id = decision->id;

  GST_DEBUG_OBJECT (self, "%s: object %" G_GUINT64_FORMAT ", detection %d, %s",
      sam_seed_kind_name (decision->kind), id, decision->detection,
      sam_seed_reason_name (decision->reason));
  if (decision->kind == SAM_SEED_START) {
    id = push_box (self, decision, step);
    if (id)
      sam_seed_bind (self->seed->policy, i, id, NULL);
  } else if (decision->kind == SAM_SEED_REMOVE) {
    GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_REMOVE,.id = id };

    push_prompt (self, &prompt);
  } else if (decision->kind == SAM_SEED_REACQUIRE ||
      decision->kind == SAM_SEED_RECONDITION) {
    push_box (self, decision, step);
  }
  post_event (self, decision, id, step->running_time);
}

/* ---- A step */

static void
follow_resets (GstSamTrack * self)
{
  const guint resets = gst_sam_pending_get_resets (self->pending);

  if (resets == self->seed->resets)
    return;
  self->seed->resets = resets;
  self->seed->num_frames = 0;
  sam_seed_reset (self->seed->policy);
}

void
gst_sam_seed_step (GstSamTrack * self, GstSamStep * step,
    const struct sam_result *result, GstBuffer * mask)
{
  struct sam_seed_input in = SAM_SEED_INPUT_INIT;
  struct sam_seed_output out;
  struct sam_error error = { "" };
  gint i;

  if (!self->seed)
    return;
  follow_resets (self);
  note_frame (self, step);
  in.frame = step->number;
  in.time_ns = GST_CLOCK_TIME_IS_VALID (step->running_time) ?
      step->running_time : step->number * (GST_SECOND / 30);
  in.width = GST_VIDEO_INFO_WIDTH (&step->info);
  in.height = GST_VIDEO_INFO_HEIGHT (&step->info);
  in.oldest = get_oldest (self, step);
  take_objects (self, result, &in);
  take_labels (self, mask, &in);
  take_regions (self, step, &in);
  if (sam_seed_step (self->seed->policy, &in, &out, &error) != SAM_OK) {
    GST_WARNING_OBJECT (self, "%s", error.text);
    return;
  }
  for (i = 0; i < out.num_decisions; i++)
    carry_out (self, &out, i, step);
  gst_sam_stats_set_seed (self->stats, sam_seed_get_stats (self->seed->policy));
}

/* ---- What is shown */

gboolean
gst_sam_seed_shows (GstSamTrack * self, guint64 id)
{
  struct sam_seed_track track;

  return !self->seed || sam_seed_find (self->seed->policy, id, &track) !=
      SAM_OK || track.is_published;
}

const gchar *
gst_sam_seed_get_label (GstSamTrack * self, guint64 id)
{
  struct sam_seed_track track;

  if (!self->seed || sam_seed_find (self->seed->policy, id, &track) != SAM_OK)
    return NULL;
  return get_class_name (self->seed, track.class_id);
}

void
gst_sam_seed_hide (GstSamTrack * self, const struct sam_result *result,
    GstBuffer * mask)
{
  guint8 shown[256];
  gboolean hides = FALSE;
  GstMapInfo map;
  gsize p;
  gint i;

  if (!self->seed)
    return;
  for (i = 0; i < 256; i++)
    shown[i] = i;
  for (i = 0; i < result->num_objects; i++) {
    if (!gst_sam_seed_shows (self, gst_sam_pending_find_id (self->pending,
                result->objects[i].id))) {
      shown[result->objects[i].slot & 255] = 0;
      hides = TRUE;
    }
  }
  if (!hides || !gst_buffer_map (mask, &map, GST_MAP_READWRITE))
    return;
  for (p = 0; p < map.size; p++)
    map.data[p] = shown[map.data[p]];
  gst_buffer_unmap (mask, &map);
}

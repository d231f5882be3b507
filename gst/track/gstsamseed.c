/* SPDX-License-Identifier: MIT */
/* The policy between the tracker and a detector: what it is told after each
 * frame, and what becomes of its decisions. */

#include "gstsamseed.h"

#include "detect/gstsamclasses.h"
#include "common/gstsamcuda.h"
#include "common/gstsamerror.h"
#include "gstsamtrackprivate.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* Boxes that come with a frame that was skipped are taken for those of the next
 * one, if that is not later than this many frames. */
#define MAX_CARRIED 3

/* When our own detector is late, or samdetect, its boxes are taken for those of
 * the oldest frame that is held, if that is not later than this many frames. */
#define MAX_LATE 90

/* A stream that is late goes without detections, but for at most as many
 * intervals. */
#define MAX_SKIPPED 4

/* Bytes of a class's name, with the final 0. */
#define MAX_NAME 64

/* ---- Classes */

static const gchar *
intern_name (const gchar * name)
{
  gchar *plain;

  if (strlen (name) < MAX_NAME && g_utf8_validate (name, -1, NULL))
    return g_intern_string (name);
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
  seed->class_name[i] = intern_name (g_quark_to_string (quark));
  seed->num_classes++;
  return i;
}

/* @known: the names of the detector's classes. NULL: it is upstream, and the
 * names in detect-classes get the first numbers. */
static gboolean
allow_classes (GstSamTrack * self, gchar ** known,
    struct sam_seed_settings *settings, gchar ** why)
{
  gchar **names = g_strsplit (self->detect_classes ? self->detect_classes : "",
      ",", SAM_SEED_MAX_CLASSES);
  gboolean ok = TRUE;
  guint i;

  for (i = 0; names[i] && ok; i++) {
    const gchar *name = g_strstrip (names[i]);
    guint id = SAM_SEED_MAX_CLASSES;

    if (*name && known)
      ok = gst_sam_classes_find (known, name, &id, why);
    else if (*name)
      id = find_class (self->seed, g_quark_from_string (name));
    if (id < SAM_SEED_MAX_CLASSES)
      settings->classes[id / 64] |= G_GUINT64_CONSTANT (1) << id % 64;
  }
  g_strfreev (names);
  return ok;
}

static void
take_names (GstSamSeed * seed, gchar ** known)
{
  for (; known && known[seed->num_classes] &&
      seed->num_classes < SAM_SEED_MAX_CLASSES; seed->num_classes++)
    seed->class_name[seed->num_classes] =
        intern_name (known[seed->num_classes]);
}

/* ---- Start and stop */

static gboolean
fail_settings (GstSamTrack * self, gchar * why)
{
  GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("%s", why), (NULL));
  g_free (why);
  return FALSE;
}

static gboolean
has_file (const GstSamTrack * self)
{
  return self->detector_file && *self->detector_file;
}

/* Whether seed-options say how late an answer may be. */
static gboolean
has_late_frames (const GstSamTrack * self)
{
  return self->seed_options && (strstr (self->seed_options, "late-frames") ||
      strstr (self->seed_options, "late_frames"));
}

static gboolean
open_policy (GstSamTrack * self, gchar ** known)
{
  struct sam_seed_settings settings;
  struct sam_error error = { "" };
  gchar *why = NULL;
  int status;

  if (!gst_sam_seed_get_settings (self, &settings, &why) ||
      !allow_classes (self, known, &settings, &why))
    return fail_settings (self, why);
  settings.max_objects = self->max_objects;
  if ((self->seed->detect || self->prompt_source ==
          GST_SAM_TRACK_PROMPT_SOURCE_ROI) && !has_late_frames (self))
    settings.late_frames = MAX_LATE;
  take_names (self->seed, known);
  status = sam_seed_open (&self->seed->policy, &settings, &error);
  if (status != SAM_OK)
    gst_sam_track_post_error (self, status, &error, "sam_seed_open");
  return status == SAM_OK;
}

static gboolean
open_detector (GstSamTrack * self)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  int status;

  params.model_file = self->detector_file;
  params.backend = self->detector_backend;
  params.input_size = self->detector_size;
  /* in which its answers were compared with the published ones */
  params.precision = self->precision == SAM_PRECISION_AUTO ?
      SAM_PRECISION_FP32 : self->precision;
  params.threads = self->threads;
  params.log = gst_sam_track_log;
  params.log_priv = self;
  self->seed->detect = gst_sam_detector_new (&params, &status, &error);
  if (!self->seed->detect)
    gst_sam_error_post (GST_ELEMENT (self), status, &error, "sam_detector_open",
        self->detector_file);
  return self->seed->detect != NULL;
}

static gboolean
open_all (GstSamTrack * self)
{
  GError *error = NULL;
  gchar **known = NULL;
  gboolean ok;

  if (self->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_ANALYTICS &&
      !gst_sam_analytics_is_built ())
    return fail_settings (self, g_strdup_printf ("prompt-source is analytics, "
            "which needs a samtrack built with GStreamer 1.24 or later and its "
            "analytics library; this one was built with %d.%d without it.",
            GST_VERSION_MAJOR, GST_VERSION_MINOR));
  if (has_file (self)) {
    if (self->prompt_source != GST_SAM_TRACK_PROMPT_SOURCE_NONE)
      return fail_settings (self, g_strdup_printf (
              "prompt-source is %s and detector-file is set, expected is one "
              "of them.", self->prompt_source ==
              GST_SAM_TRACK_PROMPT_SOURCE_ROI ? "roi" : "analytics"));
    if (!open_detector (self))
      return FALSE;
    known = gst_sam_classes_new (self->detector_labels,
        gst_sam_detector_get_num_classes (self->seed->detect), &error);
    if (!known) {
      fail_settings (self, g_strdup (error->message));
      g_error_free (error);
      return FALSE;
    }
  }
  ok = open_policy (self, known);
  g_strfreev (known);
  return ok;
}

gboolean
gst_sam_seed_start (GstSamTrack * self)
{
  if (self->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_NONE &&
      !has_file (self))
    return TRUE;
  self->seed = g_new0 (GstSamSeed, 1);
  if (open_all (self))
    return TRUE;
  gst_sam_seed_stop (self);
  return FALSE;
}

void
gst_sam_seed_stop (GstSamTrack * self)
{
  if (!self->seed)
    return;
  gst_sam_detector_free (self->seed->detect);
  sam_seed_close (&self->seed->policy);
  g_clear_pointer (&self->seed, g_free);
}

gboolean
gst_sam_seed_watches (GstSamTrack * self)
{
  return self->seed && (self->seed->detect || self->found->looked);
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

/* The first frame that a prompt can name; NULL: none. */
static const GstSamSeedFrame *
get_oldest (GstSamTrack * self)
{
  const GstSamSeed *seed = self->seed;
  guint64 oldest, next;
  guint i;

  if (sam_tracker_frames (self->tracker, 0, &oldest, &next, NULL) != SAM_OK)
    return NULL;
  for (i = 0; i < seed->num_frames; i++) {
    const GstSamSeedFrame *frame =
        &seed->frame[(seed->first_frame + i) % SAM_MAX_HISTORY];

    if (frame->index >= oldest)
      return frame;
  }
  return NULL;
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
    for (x = 0; x < SAM_SEED_GRID; x++)
      *to++ = gst_sam_cell (map.data, pool->width, pool->height, x, y);
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
  in->result_frame = found->age && found->age < found->number ?
      found->number - found->age : step->number;
  self->seed->late |= in->result_frame < step->number;
  in->num_detections = found->num;
  in->detections = to;
}

/* What the detector has found since it was last asked. Returns FALSE if it has
 * failed. */
static gboolean
take_answer (GstSamTrack * self, gboolean wait, struct sam_seed_input *in)
{
  const GstSamAnswer *answer = gst_sam_detector_take (self->seed->detect, wait);

  in->busy = gst_sam_detector_is_busy (self->seed->detect);
  if (!answer)
    return TRUE;
  if (answer->status != SAM_OK) {
    gst_sam_error_post (GST_ELEMENT (self), answer->status, &answer->error,
        "sam_detector_run", self->detector_file);
    return FALSE;
  }
  gst_sam_stats_detector (self->stats, answer->ns);
  if (answer->number <= self->seed->forgotten)
    return TRUE;
  in->has_result = TRUE;
  in->result_frame = answer->number;
  in->num_detections = answer->num;
  in->detections = answer->find;
  self->seed->answer = answer;
  return TRUE;
}

/* Where frames are skipped because the tracker cannot follow, the detector is
 * the first thing to do without. */
static gboolean
is_overloaded (GstSamTrack * self, const GstSamStep * step, gboolean wait)
{
  const GstSamSeed *seed = self->seed;
  guint interval;

  GST_OBJECT_LOCK (self);
  interval = self->interval;
  GST_OBJECT_UNLOCK (self);
  return !wait && seed->last && step->number - seed->last > interval + 1 &&
      gst_sam_pending_has_objects (self->pending) &&
      step->number - seed->asked < (guint64) MAX_SKIPPED *
      self->seed_settings.detect_interval;
}

static void
ask (GstSamTrack * self, const GstSamStep * step)
{
  gchar *why = NULL;

  self->seed->asked = step->number;
  if (gst_sam_detector_ask (self->seed->detect, step->frame, &step->info,
          step->number, &why))
    return;
  GST_WARNING_OBJECT (self, "no detection: %s", why);
  g_free (why);
}

/* ---- What it decides */

static guint64
push_prompt (GstSamTrack * self, GstSamPrompt * prompt)
{
  GError *error = NULL;
  guint64 id;

  prompt->seeded = TRUE;
  id = gst_sam_pending_push (self->pending, prompt, 0, &error);
  if (!id)
    gst_sam_prompt_clear (prompt);
  if (error) {
    GST_DEBUG_OBJECT (self, "of the policy: %s", error->message);
    g_error_free (error);
  }
  return id;
}

/* The running time of the frame that a prompt is for; NONE: the next one. A box
 * of a frame that is not held any more goes to the oldest one that is, as a
 * late click does. */
static GstClockTime
get_prompt_time (GstSamTrack * self, const struct sam_seed_decision *decision)
{
  const GstSamSeed *seed = self->seed;
  const GstSamSeedFrame *oldest = seed->detect || seed->late ?
      get_oldest (self) : NULL;
  guint i;

  for (i = 0; decision->has_frame && i < seed->num_frames; i++) {
    if (seed->frame[i].number == decision->prompt_frame)
      return seed->frame[i].start;
  }
  return oldest ? oldest->start : GST_CLOCK_TIME_NONE;
}

/* The detector's mask of a detection. It covers the frame at any size. */
static GstSample *
get_mask (const GstSamAnswer * answer, guint i)
{
  const gint width = answer->mask_width, height = answer->mask_height;
  GstCaps *caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING,
      "GRAY8", "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, NULL);
  const gint stride = GST_ROUND_UP_4 (width);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, (gsize) stride * height,
      NULL);
  GstSample *sample;
  gint y;

  for (y = 0; y < height; y++)
    gst_buffer_fill (buffer, (gsize) y * stride, answer->found[i].mask +
        (gsize) y * width, width);
  sample = gst_sample_new (buffer, caps, NULL, NULL);
  gst_buffer_unref (buffer);
  gst_caps_unref (caps);
  return sample;
}

static void
set_box (GstSamPrompt * prompt, const struct sam_seed_box *box,
    const GstVideoInfo * info)
{
  const gdouble width = GST_VIDEO_INFO_WIDTH (info);
  const gdouble height = GST_VIDEO_INFO_HEIGHT (info);

  prompt->kind = GST_SAM_PROMPT_BOX;
  prompt->normalized = TRUE;
  prompt->x = box->x0 / width;
  prompt->y = box->y0 / height;
  prompt->w = box->x1 / width - prompt->x;
  prompt->h = box->y1 / height - prompt->y;
}

/* Prompt with the detection, by its mask where the policy trusts that. Returns
 * the id of the object, 0 if the prompt was refused. */
static guint64
push_detection (GstSamTrack * self, const struct sam_seed_decision *decision,
    const GstSamStep * step)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_MASK,.id = decision->id };

  if (decision->use_mask)
    prompt.sample = get_mask (self->seed->answer, decision->detection);
  else
    set_box (&prompt, &decision->box, &step->info);
  prompt.running_time = get_prompt_time (self, decision);
  prompt.timed = GST_CLOCK_TIME_IS_VALID (prompt.running_time);
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

  GST_CAT_LEVEL_LOG (gst_sam_track_debug, decision->kind == SAM_SEED_IGNORE ?
      GST_LEVEL_LOG : GST_LEVEL_DEBUG, self, "%s: object %" G_GUINT64_FORMAT
      ", detection %d, %s", sam_seed_kind_name (decision->kind), id,
      decision->detection, sam_seed_reason_name (decision->reason));
  if (decision->kind == SAM_SEED_START) {
    id = push_detection (self, decision, step);
    if (id)
      sam_seed_bind (self->seed->policy, i, id, NULL);
  } else if (decision->kind == SAM_SEED_REMOVE) {
    GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_REMOVE,.id = id };

    push_prompt (self, &prompt);
  } else if (decision->kind == SAM_SEED_REACQUIRE ||
      (decision->kind == SAM_SEED_RECONDITION && decision->has_frame)) {
    push_detection (self, decision, step);
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
  self->seed->forgotten = self->seed->asked;
  self->seed->cut.has = FALSE;
  self->seed->num_frames = 0;
  sam_seed_reset (self->seed->policy);
}

gboolean
gst_sam_seed_step (GstSamTrack * self, const GstSamStep * step,
    const struct sam_result *result, GstBuffer * mask, gboolean wait)
{
  const GstSamSeedFrame *oldest;
  struct sam_seed_input in = SAM_SEED_INPUT_INIT;
  struct sam_seed_output out;
  struct sam_error error = { "" };
  gint i;

  if (!self->seed)
    return TRUE;
  wait |= self->detect_sync;
  follow_resets (self);
  note_frame (self, step);
  in.frame = step->number;
  in.time_ns = GST_CLOCK_TIME_IS_VALID (step->running_time) ?
      step->running_time : step->number * (GST_SECOND / 30);
  in.width = GST_VIDEO_INFO_WIDTH (&step->info);
  in.height = GST_VIDEO_INFO_HEIGHT (&step->info);
  oldest = get_oldest (self);
  in.oldest = oldest ? oldest->number : step->number + 1;
  take_objects (self, result, &in);
  take_labels (self, mask, &in);
  if (!self->seed->detect)
    take_regions (self, step, &in);
  else if (!take_answer (self, wait, &in))
    return FALSE;
  if (self->seed->detect) {
    in.overloaded = is_overloaded (self, step, wait);
    in.has_cut = gst_sam_cut_look (&self->seed->cut, &step->info, step->frame);
  }
  if (sam_seed_step (self->seed->policy, &in, &out, &error) != SAM_OK) {
    GST_WARNING_OBJECT (self, "%s", error.text);
    return TRUE;
  }
  for (i = 0; i < out.num_decisions; i++)
    carry_out (self, &out, i, step);
  if (self->seed->detect && out.detect != SAM_SEED_REQUEST_NONE)
    ask (self, step);
  self->seed->last = step->number;
  gst_sam_stats_set_seed (self->stats, sam_seed_get_stats (self->seed->policy));
  return TRUE;
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

/* SPDX-License-Identifier: MIT */
/* The policy between the tracker and a detector: what it is told after each
 * frame, and what becomes of its decisions. */

#include "gstsamseed.h"

#include "common/gstsamanalytics.h"
#include "common/gstsamcuda.h"
#include "common/gstsamenums.h"
#include "common/gstsamerror.h"
#include "detect/gstsamclasses.h"
#include "detect/gstsamdetector.h"
#include "common/gstsamcut.h"

#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_sam_track_debug);
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

/* A frame that a prompt of the policy may name. */
typedef struct
{
  guint64 number;               /* in order of arrival */
  guint64 index;                /* the engine's number of it */
  GstClockTime start;           /* running time */
} GstSamSeedFrame;

struct _GstSamSeed
{
  GstSamSeedHost host;
  const GstSamSeedSettings *settings;
  const struct sam_params *params;      /* while it opens */
  sam_tracker *tracker;         /* during a step */
  sam_seed *policy;
  guint resets;                 /* of the prompts, when it began anew */

  /* Classes, in the order in which they appeared. */
  GQuark class_quark[SAM_SEED_MAX_CLASSES];
  const gchar *class_name[SAM_SEED_MAX_CLASSES];        /* interned, UTF-8 */
  guint num_classes;

  GstSamDetector *detect;       /* NULL: the detector is upstream */
  gboolean late;                /* and tells of frames that have passed */
  guint64 asked;                /* number of the last frame it was given */
  guint64 last;                 /* number of the last frame that was seen */
  GstSamCut cut;
  guint64 forgotten;            /* answers up to this frame are of no use */
  guint word_changes;           /* of the prompts, that the detector has */
  const GstSamAnswer *answer;   /* the last one, until the next is asked for */

  GstSamSeedFrame frame[SAM_MAX_HISTORY];       /* a ring */
  guint first_frame, num_frames;

  /* of one step */
  struct sam_object object[SAM_MAX_OBJECTS];    /* with the element's ids */
  struct sam_seed_detection detection[SAM_SEED_MAX_READ];
  guint8 labels[SAM_SEED_GRID * SAM_SEED_GRID];
};

/* ---- Classes */

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
  seed->class_name[i] = gst_sam_classes_intern (g_quark_to_string (quark));
  seed->num_classes++;
  return i;
}

/* @known: the names of the detector's classes. NULL: it is upstream, and the
 * names in detect-classes get the first numbers. */
static gboolean
allow_classes (GstSamSeed * seed, gchar ** known,
    struct sam_seed_settings *settings, gchar ** why)
{
  const gchar *wanted = seed->settings->detect_classes;
  gchar **names = g_strsplit (wanted ? wanted : "", ",", SAM_SEED_MAX_CLASSES);
  gboolean ok = TRUE;
  guint i;

  for (i = 0; names[i] && ok; i++) {
    const gchar *name = g_strstrip (names[i]);
    guint id = SAM_SEED_MAX_CLASSES;

    if (*name && known)
      ok = gst_sam_classes_find (known, name, &id, why);
    else if (*name)
      id = find_class (seed, g_quark_from_string (name));
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
        gst_sam_classes_intern (known[seed->num_classes]);
}

/* ---- Start and stop */

static gboolean
fail_settings (GstSamSeed * seed, gchar * why)
{
  GST_ELEMENT_ERROR (seed->host.element, RESOURCE, SETTINGS, ("%s", why),
      (NULL));
  g_free (why);
  return FALSE;
}

static gboolean
has_file (const GstSamSeedSettings * settings)
{
  return settings->detector_file && *settings->detector_file;
}

static gboolean
open_policy (GstSamSeed * seed, gchar ** known)
{
  const gint source = seed->settings->prompt_source;
  struct sam_seed_settings settings;
  struct sam_error error = { "" };
  gboolean late;
  gchar *why = NULL;
  int status;

  if (!gst_sam_seed_settings_get_policy (seed->settings, &settings, &late,
          &why) ||
      !allow_classes (seed, known, &settings, &why))
    return fail_settings (seed, why);
  settings.max_objects = seed->params->max_objects;
  if ((seed->detect || source == GST_SAM_TRACK_PROMPT_SOURCE_ROI) && !late)
    settings.late_frames = MAX_LATE;
  take_names (seed, known);
  status = sam_seed_open (&seed->policy, &settings, &error);
  if (status != SAM_OK)
    gst_sam_error_post (seed->host.element, status, &error, "sam_seed_open",
        NULL);
  return status == SAM_OK;
}

static gboolean
open_detector (GstSamSeed * seed)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  int status;

  params.model_file = seed->settings->detector_file;
  params.backend = seed->settings->detector_backend;
  params.input_size = seed->settings->detector_size;
  /* in which its answers were compared with the published ones */
  params.precision = seed->params->precision == SAM_PRECISION_AUTO ?
      SAM_PRECISION_FP32 : seed->params->precision;
  params.threads = seed->params->threads;
  params.log = seed->params->log;
  params.log_priv = seed->params->log_priv;
  seed->detect = gst_sam_detector_new (&params, &status, &error);
  if (!seed->detect)
    gst_sam_error_post (seed->host.element, status, &error, "sam_detector_open",
        seed->settings->detector_file);
  return seed->detect != NULL;
}

static gboolean
open_all (GstSamSeed * seed)
{
  const GstSamSeedSettings *settings = seed->settings;
  GError *error = NULL;
  gchar **known = NULL;
  gboolean ok;

  if (settings->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_ANALYTICS &&
      !gst_sam_analytics_is_built ())
    return fail_settings (seed, g_strdup_printf ("prompt-source is analytics, "
            "which needs a samtrack built with GStreamer 1.24 or later and its "
            "analytics library; this one was built with %d.%d without it.",
            GST_VERSION_MAJOR, GST_VERSION_MINOR));
  if (has_file (settings)) {
    if (settings->prompt_source != GST_SAM_TRACK_PROMPT_SOURCE_NONE)
      return fail_settings (seed, g_strdup_printf (
              "prompt-source is %s and detector-file is set, expected is one "
              "of them.", settings->prompt_source ==
              GST_SAM_TRACK_PROMPT_SOURCE_ROI ? "roi" : "analytics"));
    if (!open_detector (seed))
      return FALSE;
    if (!gst_sam_detector_takes_words (seed->detect))
      known = gst_sam_classes_new (settings->detector_labels,
          gst_sam_detector_get_num_classes (seed->detect), &error);
    if (error) {
      fail_settings (seed, g_strdup (error->message));
      g_error_free (error);
      return FALSE;
    }
  }
  ok = open_policy (seed, known);
  g_strfreev (known);
  return ok;
}

gboolean
gst_sam_seed_open (GstSamSeed ** out, const GstSamSeedHost * host,
    const GstSamSeedSettings * settings, const struct sam_params *params)
{
  GstSamSeed *seed;

  *out = NULL;
  gst_sam_pending_set_takes_words (host->pending, FALSE);
  if (settings->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_NONE &&
      !has_file (settings))
    return TRUE;
  *out = seed = g_new0 (GstSamSeed, 1);
  seed->host = *host;
  seed->settings = settings;
  seed->params = params;
  if (open_all (seed)) {
    seed->params = NULL;
    gst_sam_pending_set_takes_words (host->pending,
        gst_sam_detector_takes_words (seed->detect));
    return TRUE;
  }
  gst_sam_seed_close (out);
  return FALSE;
}

void
gst_sam_seed_close (GstSamSeed ** seed)
{
  if (!*seed)
    return;
  gst_sam_detector_free ((*seed)->detect);
  sam_seed_close (&(*seed)->policy);
  g_clear_pointer (seed, g_free);
}

gboolean
gst_sam_seed_has_detector (const GstSamSeed * seed)
{
  return seed && seed->detect;
}

/* ---- What the policy is told */

static void
note_frame (GstSamSeed * seed, const GstSamStep * step)
{
  GstSamSeedFrame *frame;
  guint64 oldest, next;

  if (!GST_CLOCK_TIME_IS_VALID (step->running_time) ||
      sam_tracker_frames (seed->tracker, 0, &oldest, &next, NULL) != SAM_OK ||
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
get_oldest (GstSamSeed * seed)
{
  guint64 oldest, next;
  guint i;

  if (sam_tracker_frames (seed->tracker, 0, &oldest, &next, NULL) != SAM_OK)
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
take_objects (GstSamSeed * seed, const struct sam_result *result,
    struct sam_seed_input *in)
{
  struct sam_object *object = seed->object;

  in->objects = object;
  for (; result && in->num_objects < MIN (result->num_objects,
          SAM_MAX_OBJECTS); in->num_objects++) {
    object[in->num_objects] = result->objects[in->num_objects];
    object[in->num_objects].id = gst_sam_pending_find_id (seed->host.pending,
        object[in->num_objects].id);
  }
}

/* A small label map. One in GPU memory stays there: then boxes are compared. */
static void
take_labels (GstSamSeed * seed, const GstSamSeedInput * input,
    struct sam_seed_input *in)
{
  GstBuffer *mask = input->mask;
  guint8 *to = seed->labels;
  GstMapInfo map;
  gint x, y;

  if (!mask || gst_sam_cuda_is_memory (mask) ||
      !gst_buffer_map (mask, &map, GST_MAP_READ))
    return;
  for (y = 0; y < SAM_SEED_GRID; y++) {
    for (x = 0; x < SAM_SEED_GRID; x++)
      *to++ = gst_sam_cell (map.data, input->mask_width, input->mask_height,
          x, y);
  }
  gst_buffer_unmap (mask, &map);
  in->labels = seed->labels;
}

/* What came with the frame, or shortly before it with one that was skipped. */
static void
take_regions (GstSamSeed * seed, const GstSamStep * step,
    struct sam_seed_input *in)
{
  const GstSamFound *found = step->found;
  struct sam_seed_detection *to = seed->detection;
  guint i;

  if (!found->looked || step->number - found->number > MAX_CARRIED)
    return;
  for (i = 0; i < found->num; i++) {
    to[i].box = found->find[i].box;
    to[i].score = found->find[i].score;
    to[i].class_id = find_class (seed, found->find[i].label);
    to[i].mask = NULL;
  }
  in->has_result = TRUE;
  in->result_frame = found->age && found->age < found->number ?
      found->number - found->age : step->number;
  seed->late |= in->result_frame < step->number;
  in->num_detections = found->num;
  in->detections = to;
}

/* What the detector has found since it was last asked. Returns FALSE if it has
 * failed. */
static gboolean
take_answer (GstSamSeed * seed, gboolean wait, struct sam_seed_input *in)
{
  const GstSamAnswer *answer = gst_sam_detector_take (seed->detect, wait);
  guint i;

  in->busy = gst_sam_detector_is_busy (seed->detect);
  if (!answer)
    return TRUE;
  if (answer->status != SAM_OK) {
    gst_sam_error_post (seed->host.element, answer->status, &answer->error,
        "sam_detector_run", seed->settings->detector_file);
    return FALSE;
  }
  gst_sam_stats_detector (seed->host.stats, answer->ns);
  if (answer->words_refused)
    GST_ELEMENT_WARNING (seed->host.element, RESOURCE, SETTINGS,
        ("The prompt was refused: %s.", answer->why_words.text), (NULL));
  if (answer->number <= seed->forgotten)
    return TRUE;
  in->has_result = TRUE;
  in->result_frame = answer->number;
  in->num_detections = answer->num;
  in->detections = answer->find;
  seed->answer = answer;
  for (i = 0; answer->phrases && i < answer->num; i++)
    answer->find[i].class_id = find_class (seed,
        answer->phrases[answer->find[i].class_id]);
  return TRUE;
}

/* Where frames are skipped because the tracker cannot follow, the detector is
 * the first thing to do without. */
static gboolean
is_overloaded (GstSamSeed * seed, const GstSamSeedInput * input)
{
  const guint64 number = input->step->number;

  return !input->wait && seed->last &&
      number - seed->last > (guint64) input->interval + 1 &&
      gst_sam_pending_has_objects (seed->host.pending) &&
      number - seed->asked < (guint64) MAX_SKIPPED *
      seed->settings->policy.detect_interval;
}

static void
ask (GstSamSeed * seed, const GstSamStep * step)
{
  gchar *why = NULL, *words = NULL;

  seed->asked = step->number;
  if (gst_sam_pending_take_words (seed->host.pending, &seed->word_changes,
          &words))
    gst_sam_detector_set_words (seed->detect, words);
  if (gst_sam_detector_ask (seed->detect, step->frame, &step->info,
          step->number, &why))
    return;
  GST_WARNING_OBJECT (seed->host.element, "no detection: %s", why);
  g_free (why);
}

/* ---- What it decides */

static guint64
push_prompt (GstSamSeed * seed, GstSamPrompt * prompt)
{
  GError *error = NULL;
  guint64 id;

  prompt->seeded = TRUE;
  id = gst_sam_pending_push (seed->host.pending, prompt, 0, &error);
  if (!id)
    gst_sam_prompt_clear (prompt);
  if (error) {
    GST_DEBUG_OBJECT (seed->host.element, "of the policy: %s", error->message);
    g_error_free (error);
  }
  return id;
}

/* The running time of the frame that a prompt is for; NONE: the next one. A box
 * of a frame that is not held any more goes to the oldest one that is, as a
 * late click does. */
static GstClockTime
get_prompt_time (GstSamSeed * seed, const struct sam_seed_decision *decision)
{
  const GstSamSeedFrame *oldest = seed->detect || seed->late ?
      get_oldest (seed) : NULL;
  guint i;

  for (i = 0; decision->has_frame && i < seed->num_frames; i++) {
    if (seed->frame[i].number == decision->prompt_frame)
      return seed->frame[i].start;
  }
  return oldest ? oldest->start : GST_CLOCK_TIME_NONE;
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
push_detection (GstSamSeed * seed, const struct sam_seed_decision *decision,
    const GstSamStep * step)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_MASK,.id = decision->id };

  if (decision->use_mask)
    prompt.sample = gst_sam_answer_get_mask (seed->answer, decision->detection);
  else
    set_box (&prompt, &decision->box, &step->info);
  prompt.running_time = get_prompt_time (seed, decision);
  prompt.timed = GST_CLOCK_TIME_IS_VALID (prompt.running_time);
  return push_prompt (seed, &prompt);
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
post_event (GstSamSeed * seed, const struct sam_seed_decision *decision,
    guint64 id, GstClockTime running_time)
{
  const gchar *event = get_event (decision->kind);

  if (!event || !id)
    return;
  gst_element_post_message (seed->host.element,
      gst_message_new_element (GST_OBJECT (seed->host.element),
          gst_structure_new ("samtrack-track",
              "event", G_TYPE_STRING, event,
              "id", G_TYPE_UINT64, id,
              "label", G_TYPE_STRING, get_class_name (seed,
                  decision->class_id),
              "reason", G_TYPE_STRING, sam_seed_reason_name (decision->reason),
              "running-time", G_TYPE_UINT64, running_time, NULL)));
}

static void
carry_out (GstSamSeed * seed, const struct sam_seed_output *out, gint i,
    const GstSamStep * step)
{
  const struct sam_seed_decision *decision = &out->decisions[i];
  guint64 id = decision->id;

  GST_CAT_LEVEL_LOG (gst_sam_track_debug, decision->kind == SAM_SEED_IGNORE ?
      GST_LEVEL_LOG : GST_LEVEL_DEBUG, seed->host.element, "%s: object %"
      G_GUINT64_FORMAT ", detection %d, %s",
      sam_seed_kind_name (decision->kind), id, decision->detection,
      sam_seed_reason_name (decision->reason));
  if (decision->kind == SAM_SEED_START) {
    id = push_detection (seed, decision, step);
    if (id)
      sam_seed_bind (seed->policy, i, id, NULL);
  } else if (decision->kind == SAM_SEED_REMOVE) {
    GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_REMOVE,.id = id };

    push_prompt (seed, &prompt);
  } else if (decision->kind == SAM_SEED_REACQUIRE ||
      (decision->kind == SAM_SEED_RECONDITION && decision->has_frame)) {
    push_detection (seed, decision, step);
  }
  post_event (seed, decision, id, step->running_time);
}

/* ---- A step */

static void
follow_resets (GstSamSeed * seed)
{
  const guint resets = gst_sam_pending_get_resets (seed->host.pending);

  if (resets == seed->resets)
    return;
  seed->resets = resets;
  seed->forgotten = seed->asked;
  seed->cut.has = FALSE;
  seed->num_frames = 0;
  sam_seed_reset (seed->policy);
}

/* What the policy is told of a frame. Returns FALSE if the detector has
 * failed. */
static gboolean
look (GstSamSeed * seed, const GstSamSeedInput * input,
    struct sam_seed_input *in)
{
  const GstSamStep *step = input->step;
  const GstSamSeedFrame *oldest;

  in->frame = step->number;
  in->time_ns = GST_CLOCK_TIME_IS_VALID (step->running_time) ?
      step->running_time : step->number * (GST_SECOND / 30);
  in->width = GST_VIDEO_INFO_WIDTH (&step->info);
  in->height = GST_VIDEO_INFO_HEIGHT (&step->info);
  oldest = get_oldest (seed);
  in->oldest = oldest ? oldest->number : step->number + 1;
  take_objects (seed, input->result, in);
  take_labels (seed, input, in);
  if (!seed->detect) {
    take_regions (seed, step, in);
    return TRUE;
  }
  if (!take_answer (seed, input->wait, in))
    return FALSE;
  in->overloaded = is_overloaded (seed, input);
  in->has_cut = gst_sam_cut_look (&seed->cut, &step->info, step->frame);
  return TRUE;
}

gboolean
gst_sam_seed_step (GstSamSeed * seed, const GstSamSeedInput * given)
{
  GstSamSeedInput input = *given;
  struct sam_seed_input in = SAM_SEED_INPUT_INIT;
  struct sam_seed_output out;
  struct sam_error error = { "" };
  gint i;

  if (!seed)
    return TRUE;
  input.wait |= seed->settings->detect_sync;
  seed->tracker = input.tracker;
  follow_resets (seed);
  note_frame (seed, input.step);
  if (!look (seed, &input, &in))
    return FALSE;
  if (sam_seed_step (seed->policy, &in, &out, &error) != SAM_OK) {
    GST_WARNING_OBJECT (seed->host.element, "%s", error.text);
    return TRUE;
  }
  for (i = 0; i < out.num_decisions; i++)
    carry_out (seed, &out, i, input.step);
  if (seed->detect && out.detect != SAM_SEED_REQUEST_NONE)
    ask (seed, input.step);
  seed->last = input.step->number;
  gst_sam_stats_set_seed (seed->host.stats, sam_seed_get_stats (seed->policy));
  return TRUE;
}

/* ---- What is shown */

gboolean
gst_sam_seed_shows (GstSamSeed * seed, guint64 id)
{
  struct sam_seed_track track;

  return !seed || sam_seed_find (seed->policy, id, &track) !=
      SAM_OK || track.is_published;
}

const gchar *
gst_sam_seed_get_label (GstSamSeed * seed, guint64 id)
{
  struct sam_seed_track track;

  if (!seed || sam_seed_find (seed->policy, id, &track) != SAM_OK)
    return NULL;
  return get_class_name (seed, track.class_id);
}

void
gst_sam_seed_hide (GstSamSeed * seed, const struct sam_result *result,
    GstBuffer * mask)
{
  guint8 shown[256];
  gboolean hides = FALSE;
  GstMapInfo map;
  gsize p;
  gint i;

  if (!seed)
    return;
  for (i = 0; i < 256; i++)
    shown[i] = i;
  for (i = 0; i < result->num_objects; i++) {
    if (!gst_sam_seed_shows (seed, gst_sam_pending_find_id (seed->host.pending,
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

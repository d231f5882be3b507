/* SPDX-License-Identifier: MIT */
/* The policy between the tracker and a detector: its start and stop, a step,
 * and what is shown. */

#include "gstsamseedprivate.h"

#include "common/gstsamanalytics.h"
#include "common/gstsamenums.h"
#include "common/gstsamerror.h"
#include "detect/gstsamclasses.h"

GST_DEBUG_CATEGORY_EXTERN (gst_sam_track_debug);
#define GST_CAT_DEFAULT gst_sam_track_debug

/* When our own detector is late, or samdetect, its boxes are taken for those of
 * the oldest frame that is held, if that is not later than this many frames. */
#define MAX_LATE 90

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
      !gst_sam_seed_allow_classes (seed, known, &settings, &why))
    return fail_settings (seed, why);
  settings.max_objects = seed->params->max_objects;
  if (gst_sam_detector_takes_words (seed->detect))
    gst_sam_seed_words_suit (&settings);
  seed->score = settings.seed_score;
  if ((seed->detect || source == GST_SAM_TRACK_PROMPT_SOURCE_ROI) && !late)
    settings.late_frames = MAX_LATE;
  gst_sam_seed_take_names (seed, known);
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
  seed->num_fixed = seed->num_classes;
  gst_sam_pending_set_takes_words (seed->host.pending,
      gst_sam_detector_takes_words (seed->detect), known);
  g_strfreev (known);
  return ok;
}

gboolean
gst_sam_seed_open (GstSamSeed ** out, const GstSamSeedHost * host,
    const GstSamSeedSettings * settings, const struct sam_params *params)
{
  GstSamSeed *seed;

  *out = NULL;
  gst_sam_pending_set_takes_words (host->pending, FALSE, NULL);
  if (settings->prompt_source == GST_SAM_TRACK_PROMPT_SOURCE_NONE &&
      !has_file (settings))
    return TRUE;
  *out = seed = g_new0 (GstSamSeed, 1);
  seed->host = *host;
  seed->settings = settings;
  seed->params = params;
  if (open_all (seed)) {
    seed->params = NULL;
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
  g_free ((*seed)->masks);
  gst_sam_seed_words_clear (*seed);
  g_clear_pointer (seed, g_free);
}

gboolean
gst_sam_seed_has_detector (const GstSamSeed * seed)
{
  return seed && seed->detect;
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
  gst_sam_seed_words_hurry (seed);
  gst_sam_seed_note_frame (seed, input.step);
  if (!gst_sam_seed_look (seed, &input, &in))
    return FALSE;
  if (sam_seed_step (seed->policy, &in, &out, &error) != SAM_OK) {
    GST_WARNING_OBJECT (seed->host.element, "%s", error.text);
    return TRUE;
  }
  for (i = 0; i < out.num_decisions; i++)
    gst_sam_seed_carry_out (seed, &out, i, input.step);
  if (seed->detect && out.detect != SAM_SEED_REQUEST_NONE)
    gst_sam_seed_ask (seed, input.step, input.result != NULL);
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
  return gst_sam_seed_get_class_name (seed, track.class_id);
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

/* SPDX-License-Identifier: MIT */
/* The properties of automatic seeding: most are settings of the policy, which
 * tells their ranges and defaults. */

#include "gstsamseed.h"

#include "common/gstsamenums.h"

#include <string.h>

enum
{
  SEED_PROMPT_SOURCE,
  SEED_ROI_EMPTY,
  SEED_DETECTOR_FILE,
  SEED_DETECTOR_LABELS,
  SEED_DETECTOR_BACKEND,
  SEED_DETECTOR_SIZE,
  SEED_DETECT_SYNC,
  SEED_DETECT_CLASSES,
  SEED_ROI,
  SEED_OPTIONS,
  SEED_SETTING,                 /* and those that follow: by setting_names */
};

#define SETTABLE_READY (G_PARAM_READWRITE | GST_PARAM_MUTABLE_READY)

/* Settings of the policy that are properties; seed-options has the others. */
static const gchar *setting_names[] = {
  "detect_interval", "detect_on_loss", "seed_score", "birth_max_iou",
  "birth_min_background", "births_per_tick", "min_area", "max_area",
  "match_iou", "confirm_hits", "confirm_window", "instant_confirm_score",
  "keep_alive", "lost_frames", "shadow_timeout", "recondition_score",
  "publish_tentative",
};

static const struct sam_seed_setting *
find_setting (const gchar * name)
{
  const struct sam_seed_setting *setting;
  gchar *own = g_strdelimit (g_strdup (name), "-", '_');
  gint i;

  for (i = 0; (setting = sam_seed_setting (i)); i++) {
    if (g_str_equal (setting->name, own))
      break;
  }
  g_free (own);
  return setting;
}

static gboolean
is_switch (const struct sam_seed_setting *setting)
{
  return g_str_equal (setting->unit, "boolean");
}

static void
write_setting (struct sam_seed_settings *settings,
    const struct sam_seed_setting *setting, gdouble value)
{
  const gint whole = setting->is_int ? value : 0;
  const gfloat real = value;

  memcpy ((guint8 *) settings + setting->offset,
      setting->is_int ? (gconstpointer) & whole : &real, 4);
}

static gdouble
read_setting (const struct sam_seed_settings *settings,
    const struct sam_seed_setting *setting)
{
  const guint8 *at = (const guint8 *) settings + setting->offset;
  gint whole;
  gfloat real;

  memcpy (&whole, at, sizeof whole);
  memcpy (&real, at, sizeof real);
  return setting->is_int ? whole : real;
}

/* ---- Properties */

static gboolean
get_number (const GValue * value, gdouble * number)
{
  GValue as_double = G_VALUE_INIT;
  gboolean ok;

  if (G_VALUE_HOLDS_STRING (value))
    return FALSE;
  g_value_init (&as_double, G_TYPE_DOUBLE);
  if (G_VALUE_HOLDS_BOOLEAN (value)) {
    g_value_set_double (&as_double, g_value_get_boolean (value));
    ok = TRUE;
  } else {
    ok = g_value_transform (value, &as_double);
  }
  *number = g_value_get_double (&as_double);
  g_value_unset (&as_double);
  return ok;
}

static void
set_roi (GstSamSeedSettings * self, const GValue * value)
{
  float *edge[] = { &self->policy.roi_x0, &self->policy.roi_y0,
    &self->policy.roi_x1, &self->policy.roi_y1
  };
  guint i;

  self->roi_length = gst_value_array_get_size (value);
  for (i = 0; i < MIN (self->roi_length, 4); i++)
    *edge[i] = g_value_get_double (gst_value_array_get_value (value, i));
}

static void
get_roi (const GstSamSeedSettings * self, GValue * value)
{
  const float edge[] = { self->policy.roi_x0,
    self->policy.roi_y0, self->policy.roi_x1,
    self->policy.roi_y1
  };
  guint i;

  for (i = 0; i < MIN (self->roi_length, 4); i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number, edge[i]);
    gst_value_array_append_and_take_value (value, &number);
  }
}

gboolean
gst_sam_seed_settings_set (GstSamSeedSettings * self, guint id,
    const GValue * value)
{
  gdouble number;

  switch (id) {
    case SEED_PROMPT_SOURCE:
      self->prompt_source = g_value_get_enum (value);
      return TRUE;
    case SEED_ROI_EMPTY:
      self->roi_empty = g_value_get_boolean (value);
      return TRUE;
    case SEED_DETECTOR_FILE:
      g_free (self->detector_file);
      self->detector_file = g_value_dup_string (value);
      return TRUE;
    case SEED_DETECTOR_LABELS:
      g_free (self->detector_labels);
      self->detector_labels = g_value_dup_string (value);
      return TRUE;
    case SEED_DETECTOR_BACKEND:
      self->detector_backend = g_value_get_enum (value);
      return TRUE;
    case SEED_DETECTOR_SIZE:
      self->detector_size = g_value_get_uint (value);
      return TRUE;
    case SEED_DETECT_SYNC:
      self->detect_sync = g_value_get_boolean (value);
      return TRUE;
    case SEED_DETECT_CLASSES:
      g_free (self->detect_classes);
      self->detect_classes = g_value_dup_string (value);
      return TRUE;
    case SEED_ROI:
      set_roi (self, value);
      return TRUE;
    case SEED_OPTIONS:
      g_free (self->options);
      self->options = g_value_dup_string (value);
      return TRUE;
    default:
      break;
  }
  id -= SEED_SETTING;
  if (id >= G_N_ELEMENTS (setting_names) || !get_number (value, &number))
    return FALSE;
  write_setting (&self->policy, find_setting (setting_names[id]),
      number);
  return TRUE;
}

gboolean
gst_sam_seed_settings_get (const GstSamSeedSettings * self, guint id,
    GValue * value)
{
  const struct sam_seed_setting *setting;
  gdouble number;

  switch (id) {
    case SEED_PROMPT_SOURCE:
      g_value_set_enum (value, self->prompt_source);
      return TRUE;
    case SEED_ROI_EMPTY:
      g_value_set_boolean (value, self->roi_empty);
      return TRUE;
    case SEED_DETECTOR_FILE:
      g_value_set_string (value, self->detector_file);
      return TRUE;
    case SEED_DETECTOR_LABELS:
      g_value_set_string (value, self->detector_labels);
      return TRUE;
    case SEED_DETECTOR_BACKEND:
      g_value_set_enum (value, self->detector_backend);
      return TRUE;
    case SEED_DETECTOR_SIZE:
      g_value_set_uint (value, self->detector_size);
      return TRUE;
    case SEED_DETECT_SYNC:
      g_value_set_boolean (value, self->detect_sync);
      return TRUE;
    case SEED_DETECT_CLASSES:
      g_value_set_string (value, self->detect_classes);
      return TRUE;
    case SEED_ROI:
      get_roi (self, value);
      return TRUE;
    case SEED_OPTIONS:
      g_value_set_string (value, self->options);
      return TRUE;
    default:
      break;
  }
  id -= SEED_SETTING;
  if (id >= G_N_ELEMENTS (setting_names))
    return FALSE;
  setting = find_setting (setting_names[id]);
  number = read_setting (&self->policy, setting);
  if (is_switch (setting))
    g_value_set_boolean (value, number != 0);
  else if (setting->is_int)
    g_value_set_int (value, number);
  else
    g_value_set_double (value, number);
  return TRUE;
}

static void
install_setting (GObjectClass * klass, guint id, const gchar * setting_name)
{
  const struct sam_seed_setting *s = find_setting (setting_name);
  gchar *name = g_strdelimit (g_strdup (setting_name), "_", '-');
  gchar *nick = g_strdelimit (g_strdup (setting_name), "_", ' ');
  gchar *blurb = g_strdup_printf ("Automatic seeding: %s%s%s%s",
      s->meaning, is_switch (s) ? "" : " (", is_switch (s) ? "" : s->unit,
      is_switch (s) ? "" : ")");
  GParamSpec *spec;

  *nick = g_ascii_toupper (*nick);
  if (is_switch (s))
    spec = g_param_spec_boolean (name, nick, blurb, s->default_value != 0,
        SETTABLE_READY);
  else if (s->is_int)
    spec = g_param_spec_int (name, nick, blurb, s->least, s->most,
        s->default_value, SETTABLE_READY);
  else
    spec = g_param_spec_double (name, nick, blurb, s->least, s->most,
        (gfloat) s->default_value, SETTABLE_READY);
  g_object_class_install_property (klass, id, spec);
  g_free (blurb);
  g_free (nick);
  g_free (name);
}

static void
install_sources (GObjectClass * klass, guint first_id)
{
  /**
   * GstSamTrack:prompt-source:
   *
   * What objects are started from, beside the prompts of users. `roi`: the
   * regions of interest (GstVideoRegionOfInterestMeta) that a detector before
   * this element attaches; a region's type is its class, and a field
   * `confidence` or `score` of its parameters its score, 1 if there is none.
   * `analytics`: its object detections (GstAnalyticsODMtd, from GStreamer 1.24
   * on, if samtrack was built with it).
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_PROMPT_SOURCE,
      g_param_spec_enum ("prompt-source", "Prompt source",
          "Detections that start objects, beside the prompts of users",
          GST_TYPE_SAM_TRACK_PROMPT_SOURCE, GST_SAM_TRACK_PROMPT_SOURCE_NONE,
          SETTABLE_READY));
  /**
   * GstSamTrack:roi-empty:
   *
   * Whether a frame without regions of interest, or without object detections
   * with `analytics`, is one on which the detector found nothing. Set it if the
   * detector looks at every frame. Otherwise such a frame tells nothing: no
   * object is missed on it.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_ROI_EMPTY,
      g_param_spec_boolean ("roi-empty", "ROI empty",
          "Whether a frame without regions of interest is one on which the "
          "detector found nothing", FALSE, SETTABLE_READY));
  /**
   * GstSamTrack:detect-classes:
   *
   * Names of the classes of which objects are started, separated by commas.
   * %NULL: all.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_DETECT_CLASSES,
      g_param_spec_string ("detect-classes", "Detect classes",
          "Classes of which objects are started, for example person,car "
          "(NULL = all)", NULL, SETTABLE_READY));
}

static void
install_detector (GObjectClass * klass, guint first_id)
{
  /**
   * GstSamTrack:detector-file:
   *
   * Weights of a detector that finds the objects: see docs/DETECTORS.md. It
   * runs in a thread of its own at low priority, every
   * #GstSamTrack:detect-interval frames and when nothing is tracked, an object
   * was lost or the scene was cut. Boxes that it found on an earlier frame are
   * prompts for that frame, if #GstSamTrack:history still holds it. One that
   * finds what words name gets them by a prompt: "text,of=a red car. dog".
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_DETECTOR_FILE,
      g_param_spec_string ("detector-file", "Detector file",
          "Weights of a detector that finds the objects, .safetensors "
          "(NULL = no detector)", NULL, SETTABLE_READY));
  /**
   * GstSamTrack:detector-labels:
   *
   * Text file with the names of the detector's classes, one a line. %NULL:
   * those of COCO if there are 80, else numbers from 0.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_DETECTOR_LABELS,
      g_param_spec_string ("detector-labels", "Detector labels",
          "Text file with the names of the detector's classes, one a line "
          "(NULL = those of COCO if there are 80, else numbers)", NULL,
          SETTABLE_READY));
  /**
   * GstSamTrack:detector-backend:
   *
   * Processor that runs the detector. `auto` is the CPU.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_DETECTOR_BACKEND,
      g_param_spec_enum ("detector-backend", "Detector backend",
          "Processor that runs the detector (auto = the CPU)",
          GST_TYPE_SAM_TRACK_BACKEND, SAM_BACKEND_AUTO, SETTABLE_READY));
  /**
   * GstSamTrack:detector-size:
   *
   * Side of the detector's square input, in pixels: of YOLOv10, a multiple of
   * 32 from 320 to 1280. A smaller one is faster and finds less. 0: its own.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_DETECTOR_SIZE,
      g_param_spec_uint ("detector-size", "Detector size",
          "Side of the detector's square input in pixels (0 = its own)", 0,
          2048, 0, SETTABLE_READY));
  /**
   * GstSamTrack:detect-sync:
   *
   * Whether the frame after one that the detector looks at waits for its
   * answer, so that what comes out does not depend on how long it takes. It is
   * always so in a pipeline that is not live.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_DETECT_SYNC,
      g_param_spec_boolean ("detect-sync", "Detect sync",
          "Whether frames wait for the detector in a live pipeline, too", FALSE,
          SETTABLE_READY));
}

static void
install_policy (GObjectClass * klass, guint first_id)
{
  /**
   * GstSamTrack:roi:
   *
   * The part of the frame in which objects are started: left, upper, right and
   * lower edge, as fractions of the frame. The middle of a detection counts.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_ROI,
      gst_param_spec_array ("roi", "ROI",
          "Left, upper, right and lower edge of the part of the frame in which "
          "objects are started, as fractions", g_param_spec_double ("edge",
              "Edge", "An edge, as a fraction of the frame", 0, 1, 0,
              G_PARAM_READWRITE), SETTABLE_READY));
  /**
   * GstSamTrack:seed-options:
   *
   * Further settings of the policy, by their names in docs/DETECTORS.md, for
   * example `prompt-gap=10,reacquire-iou=0.2`.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first_id + SEED_OPTIONS,
      g_param_spec_string ("seed-options", "Seed options",
          "Further settings of automatic seeding, for example "
          "prompt-gap=10,reacquire-iou=0.2", NULL, SETTABLE_READY));
}

void
gst_sam_seed_settings_install (GObjectClass * klass, guint first_id)
{
  guint i;

  install_sources (klass, first_id);
  install_detector (klass, first_id);
  install_policy (klass, first_id);
  for (i = 0; i < G_N_ELEMENTS (setting_names); i++)
    install_setting (klass, first_id + SEED_SETTING + i, setting_names[i]);
}

void
gst_sam_seed_settings_init (GstSamSeedSettings * self)
{
  sam_seed_defaults (&self->policy, sizeof self->policy);
  self->roi_length = 4;
}

void
gst_sam_seed_settings_clear (GstSamSeedSettings * self)
{
  g_clear_pointer (&self->detector_file, g_free);
  g_clear_pointer (&self->detector_labels, g_free);
  g_clear_pointer (&self->detect_classes, g_free);
  g_clear_pointer (&self->options, g_free);
}

/* ---- What they come to */

typedef struct
{
  struct sam_seed_settings *settings;
  gboolean has_late_frames;
  gchar *why;
} Options;

static gboolean
take_option (GQuark field, const GValue * value, gpointer data)
{
  const gchar *name = g_quark_to_string (field);
  const struct sam_seed_setting *setting = find_setting (name);
  Options *options = data;
  gchar *text;
  gdouble number;

  if (!setting || g_str_equal (setting->name, "max_objects")) {
    options->why = g_strdup_printf ("seed-options has a field '%s', expected "
        "are settings of automatic seeding, which docs/DETECTORS.md lists.",
        name);
    return FALSE;
  }
  if (!get_number (value, &number) || (setting->is_int &&
          !(number == (gint) CLAMP (number, G_MININT, G_MAXINT)))) {
    text = gst_value_serialize (value);
    options->why = g_strdup_printf ("seed-options has %s=%s, expected a %s of "
        "%g to %g %s.", name, text ? text : "?",
        setting->is_int ? "whole number" : "number", setting->least,
        setting->most, setting->unit);
    g_free (text);
    return FALSE;
  }
  write_setting (options->settings, setting, number);
  options->has_late_frames |= g_str_equal (setting->name, "late_frames");
  return TRUE;
}

gboolean
gst_sam_seed_settings_get_policy (const GstSamSeedSettings * self,
    struct sam_seed_settings *settings, gboolean * has_late_frames,
    gchar ** why)
{
  const gchar *text = self->options ? self->options : "";
  Options options = {.settings = settings };
  gchar *whole = g_strconcat ("options", *text ? "," : "", text, NULL);
  GstStructure *s = gst_structure_from_string (whole, NULL);

  *settings = self->policy;
  if (self->roi_length != 4)
    options.why = g_strdup_printf ("roi has %u numbers, expected 4: the left, "
        "upper, right and lower edge.", self->roi_length);
  else if (!s)
    options.why = g_strdup_printf ("seed-options is '%s', expected are "
        "settings as name=number, separated by commas.", text);
  else
    gst_structure_foreach (s, take_option, &options);
  gst_clear_structure (&s);
  g_free (whole);
  *has_late_frames = options.has_late_frames;
  *why = options.why;
  return !options.why;
}

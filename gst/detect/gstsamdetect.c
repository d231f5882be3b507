/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samdetect
 * @title: samdetect
 * @see_also: samtrack
 *
 * Finds objects with a detector of the engine, and attaches what it finds to
 * frames as detectors of GStreamer do: a GstVideoRegionOfInterestMeta for each,
 * and object detections of GstAnalytics in builds that have it. samtrack with
 * #GstSamTrack:prompt-source starts objects from either.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! videoconvert ! \
 *   samdetect model-file=yolov10n.safetensors interval=14 ! \
 *   samtrack prompt-source=roi ! samoverlay ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */

#include "gstsamdetect.h"

#include "common/gstsamanalytics.h"
#include "common/gstsamcaps.h"
#include "common/gstsamenums.h"
#include "common/gstsamerror.h"
#include "common/gstsamfilter.h"
#include "common/gstsamframe.h"
#include "common/gstsamfrozen.h"
#include "common/gstsamlive.h"
#include "common/gstsammutex.h"
#include "gstsamclasses.h"
#include "gstsamdetector.h"

#include <string.h>

GST_DEBUG_CATEGORY_STATIC (gst_sam_detect_debug);
#define GST_CAT_DEFAULT gst_sam_detect_debug

enum
{
  PROP_0,
  PROP_MODEL_FILE,
  PROP_LABELS,
  PROP_BACKEND,
  PROP_PRECISION,
  PROP_THREADS,
  PROP_INPUT_SIZE,
  PROP_CLASSES,
  PROP_WORDS,
  PROP_SCORE,
  PROP_INTERVAL,
  PROP_OVERLOAD_POLICY,
  PROP_STATS,
};

#define DEFAULT_SCORE 0.3
#define SETTABLE_READY (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_READY)
#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)

struct _GstSamDetect
{
  GstBaseTransform parent;

  /* properties, guarded by the object lock */
  gchar *model_file, *labels, *classes, *words;
  guint word_changes;           /* how often they were set */
  gint backend, precision;
  guint threads, input_size;    /* MUTABLE_READY up to here */
  gdouble score;
  guint interval;
  gint policy;
  gboolean frozen;              /* MUTABLE_READY properties are read-only */
  guint64 frames, runs, detections;     /* since start */
  gint64 last_ns;               /* of the last run */

  /* unchanged from start to stop */
  GstSamDetector *detector;
  GQuark *names;                /* of classes; 0: not asked for */
  guint num_classes;
  guint words_given;            /* word_changes, of those the detector has */

  /* streaming thread only */
  GstVideoInfo info;
  guint64 number;               /* of the frame, since start */
  guint64 asked;                /* number of the last one it was given, or 0 */
  guint64 forgotten;            /* answers up to this frame are of no use */
  gboolean asked_live, live;
};

#define gst_sam_detect_parent_class parent_class
G_DEFINE_TYPE (GstSamDetect, gst_sam_detect, GST_TYPE_BASE_TRANSFORM);
GST_ELEMENT_REGISTER_DEFINE (samdetect, "samdetect", GST_RANK_NONE,
    GST_TYPE_SAM_DETECT);

static GType
policy_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_DETECT_POLICY_AUTO, "Skip in a live pipeline, else block", "auto"},
    {GST_SAM_DETECT_POLICY_BLOCK, "A frame waits for its detections", "block"},
    {GST_SAM_DETECT_POLICY_SKIP,
          "Frames pass, and detections go with the first one after they were "
          "found", "skip"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamDetectPolicy", values);
}

/* ---- Start and stop */

static void
write_log (void *self, enum sam_log_level level, const char *line)
{
  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, gst_sam_error_get_level (level), self,
      "%s", line);
}

static gboolean
open_detector (GstSamDetect * self)
{
  struct sam_params params = SAM_PARAMS_INIT;
  struct sam_error error = { "" };
  int status;

  if (!self->model_file || !*self->model_file) {
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS,
        ("The property 'model-file' is not set, expected the weights of a "
            "detector."), (NULL));
    return FALSE;
  }
  params.model_file = self->model_file;
  params.backend = self->backend;
  params.input_size = self->input_size;
  /* in which its answers were compared with the published ones */
  params.precision = self->precision == SAM_PRECISION_AUTO ?
      SAM_PRECISION_FP32 : self->precision;
  params.threads = self->threads;
  params.log = write_log;
  params.log_priv = self;
  self->detector = gst_sam_detector_new (&params, &status, &error);
  if (!self->detector)
    gst_sam_error_post (GST_ELEMENT (self), status, &error,
        "sam_detector_open", self->model_file);
  return self->detector != NULL;
}

/* Keep the names of the classes that are asked for. Returns FALSE if one of
 * them is not known. */
static gboolean
choose_classes (GstSamDetect * self, gchar ** names, gchar ** why)
{
  gchar **wanted = g_strsplit (self->classes ? self->classes : "", ",", -1);
  gboolean *chosen = g_new0 (gboolean, self->num_classes), any = FALSE;
  gboolean ok = TRUE;
  guint i, id;

  for (i = 0; wanted[i] && ok; i++) {
    if (!*g_strstrip (wanted[i]))
      continue;
    ok = gst_sam_classes_find (names, wanted[i], &id, why);
    if (ok)
      chosen[id] = any = TRUE;
  }
  self->names = g_new0 (GQuark, self->num_classes);
  for (i = 0; i < self->num_classes && ok; i++) {
    if (!any || chosen[i])
      self->names[i] =
          g_quark_from_static_string (gst_sam_classes_intern (names[i]));
  }
  g_free (chosen);
  g_strfreev (wanted);
  return ok;
}

/* Whether properties that are for another kind of detector are not set. */
static gboolean
check_kind (GstSamDetect * self)
{
  const gboolean by_words = gst_sam_detector_takes_words (self->detector);
  const gchar *other = by_words ? self->classes : self->words;

  self->words_given = self->word_changes - 1;
  if (!other || !*other)
    return TRUE;
  if (by_words)
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("The property 'classes' is "
            "'%s', but this detector finds what 'words' name.", other), (NULL));
  else
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("The property 'words' is "
            "'%s', but this detector finds objects of its %u classes.", other,
            gst_sam_detector_get_num_classes (self->detector)), (NULL));
  return FALSE;
}

static gboolean
read_classes (GstSamDetect * self)
{
  GError *error = NULL;
  gchar *why = NULL, **names;
  gboolean ok = FALSE;

  self->num_classes = 0;
  if (!check_kind (self))
    return FALSE;
  if (gst_sam_detector_takes_words (self->detector))
    return TRUE;
  self->num_classes = gst_sam_detector_get_num_classes (self->detector);
  names = gst_sam_classes_new (self->labels, self->num_classes, &error);
  if (names)
    ok = choose_classes (self, names, &why);
  if (!ok)
    GST_ELEMENT_ERROR (self, RESOURCE, SETTINGS, ("%s", error ?
            error->message : why), (NULL));
  g_clear_error (&error);
  g_free (why);
  g_strfreev (names);
  return ok;
}

static gboolean
gst_sam_detect_stop (GstBaseTransform * base)
{
  GstSamDetect *self = GST_SAM_DETECT (base);

  gst_sam_detector_free (self->detector);
  self->detector = NULL;
  g_clear_pointer (&self->names, g_free);
  gst_sam_object_lock (self);
  self->frozen = FALSE;
  gst_sam_object_unlock (self);
  return TRUE;
}

static gboolean
gst_sam_detect_start (GstBaseTransform * base)
{
  GstSamDetect *self = GST_SAM_DETECT (base);

  gst_video_info_init (&self->info);
  self->number = self->asked = self->forgotten = 0;
  self->asked_live = FALSE;
  gst_sam_object_lock (self);
  self->frozen = TRUE;
  self->frames = self->runs = self->detections = 0;
  self->last_ns = 0;
  gst_sam_object_unlock (self);
  if (open_detector (self) && read_classes (self))
    return TRUE;
  gst_sam_detect_stop (base);
  return FALSE;
}

/* ---- Frames */

/* Answers of frames before are of no use: they have another size, or another
 * stream. */
static void
forget (GstSamDetect * self)
{
  self->forgotten = self->number;
  self->asked = 0;
}

static gboolean
gst_sam_detect_set_caps (GstBaseTransform * base, GstCaps * in, GstCaps * out)
{
  GstSamDetect *self = GST_SAM_DETECT (base);

  forget (self);
  gst_sam_caps_tell (GST_ELEMENT (self), in);
  return gst_sam_caps_parse (&self->info, in);
}

static gboolean
may_block (GstSamDetect * self, gint policy)
{
  if (policy != GST_SAM_DETECT_POLICY_AUTO)
    return policy == GST_SAM_DETECT_POLICY_BLOCK;
  if (!self->asked_live)
    self->live = gst_sam_live_query (GST_BASE_TRANSFORM_SINK_PAD (self));
  self->asked_live = TRUE;
  return !self->live;
}

/* @age: frames since the one that it was found on. Returns FALSE for less than
 * a pixel. */
static gboolean
attach (GstBuffer * buf, const struct sam_seed_detection *find, GQuark label,
    guint age)
{
  const gint x = find->box.x0, y = find->box.y0;
  const gint w = (gint) (find->box.x1 + 0.5f) - x;
  const gint h = (gint) (find->box.y1 + 0.5f) - y;
  GstVideoRegionOfInterestMeta *region;

  if (w < 1 || h < 1)
    return FALSE;
  region = gst_buffer_add_video_region_of_interest_meta_id (buf, label, x, y,
      w, h);
  gst_video_region_of_interest_meta_add_param (region,
      gst_structure_new ("samdetect", "score", G_TYPE_DOUBLE,
          (gdouble) find->score, "class-id", G_TYPE_INT, find->class_id,
          "age", G_TYPE_UINT, age, NULL));
  gst_sam_analytics_add_detection (buf, label, x, y, w, h, find->score);
  return TRUE;
}

/* What the detector calls it; 0: it is not asked for. */
static GQuark
get_label (const GstSamDetect * self, const GstSamAnswer * answer, gint id)
{
  if (answer->phrases)
    return answer->phrases[id];
  return id >= 0 && (guint) id < self->num_classes ? self->names[id] : 0;
}

/* Returns FALSE if the detector has failed. */
static gboolean
take_answer (GstSamDetect * self, GstBuffer * buf, gdouble score, gboolean wait)
{
  const GstSamAnswer *answer = gst_sam_detector_take (self->detector, wait);
  guint i, num = 0;

  if (!answer)
    return TRUE;
  if (answer->status != SAM_OK) {
    gst_sam_error_post (GST_ELEMENT (self), answer->status, &answer->error,
        "sam_detector_run", self->model_file);
    return FALSE;
  }
  if (answer->words_refused)
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS,
        ("The property 'words' is not used: %s.", answer->why_words.text),
        (NULL));
  if (*answer->unknown)
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS, ("The property 'words': the "
            "detector's vocabulary has no piece of %s, so they find nothing.",
            answer->unknown), (NULL));
  for (i = 0; i < answer->num && answer->number > self->forgotten; i++) {
    const struct sam_seed_detection *find = &answer->find[i];
    const GQuark label = get_label (self, answer, find->class_id);

    if (find->score >= score && label)
      num += attach (buf, find, label, self->number - answer->number);
  }
  gst_sam_object_lock (self);
  self->runs++;
  self->detections += num;
  self->last_ns = answer->ns;
  gst_sam_object_unlock (self);
  return TRUE;
}

static gboolean
ask (GstSamDetect * self, GstBuffer * buf)
{
  gchar *why = NULL, *words = NULL;
  gboolean changed;

  gst_sam_object_lock (self);
  changed = self->words_given != self->word_changes;
  self->words_given = self->word_changes;
  if (changed)
    words = g_strdup (self->words);
  gst_sam_object_unlock (self);
  if (changed)
    gst_sam_detector_set_words (self->detector, words);
  if (gst_sam_detector_ask (self->detector, buf, &self->info, self->number,
          NULL, &why)) {
    self->asked = self->number;
    return TRUE;
  }
  GST_ELEMENT_ERROR (self, STREAM, FAILED, ("The frame was refused: %s.", why),
      (NULL));
  g_free (why);
  return FALSE;
}

static GstFlowReturn
gst_sam_detect_transform_ip (GstBaseTransform * base, GstBuffer * buf)
{
  GstSamDetect *self = GST_SAM_DETECT (base);
  gboolean block, due, ok;
  gdouble score;
  guint interval;
  gint policy;

  gst_sam_object_lock (self);
  score = self->score;
  interval = self->interval;
  policy = self->policy;
  self->frames++;
  gst_sam_object_unlock (self);
  self->number++;
  block = may_block (self, policy);
  due = !self->asked || self->number - self->asked > interval;
  due &= !GST_BUFFER_FLAG_IS_SET (buf, GST_BUFFER_FLAG_GAP);
  /* that of an earlier frame, which the one that is due has to wait for */
  ok = take_answer (self, buf, score, block && due);
  if (ok && due && !gst_sam_detector_is_busy (self->detector)) {
    ok = ask (self, buf);
    if (ok && block)
      ok = take_answer (self, buf, score, TRUE);
  }
  return ok ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static gboolean
gst_sam_detect_sink_event (GstBaseTransform * base, GstEvent * event)
{
  GstSamDetect *self = GST_SAM_DETECT (base);

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_FLUSH_START:
      gst_sam_detector_interrupt (self->detector, TRUE);
      break;
    case GST_EVENT_FLUSH_STOP:
      gst_sam_detector_interrupt (self->detector, FALSE);
      forget (self);
      break;
    case GST_EVENT_STREAM_START:
      self->asked_live = FALSE;
      forget (self);
      break;
    default:
      break;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (base, event);
}

static GstStateChangeReturn
gst_sam_detect_change_state (GstElement * element, GstStateChange transition)
{
  GstSamDetect *self = GST_SAM_DETECT (element);

  /* Before the pads are deactivated, which waits for the streaming thread. */
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    gst_sam_detector_interrupt (self->detector, TRUE);
  return GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
}

/* ---- The object */

static void
set_text (gchar ** text, const GValue * value)
{
  g_free (*text);
  *text = g_value_dup_string (value);
}

/* Called with the object lock held. */
static void
set_locked (GstSamDetect * self, guint id, const GValue * value,
    GParamSpec * spec)
{
  switch (id) {
    case PROP_MODEL_FILE:
      set_text (&self->model_file, value);
      break;
    case PROP_LABELS:
      set_text (&self->labels, value);
      break;
    case PROP_BACKEND:
      self->backend = g_value_get_enum (value);
      break;
    case PROP_PRECISION:
      self->precision = g_value_get_enum (value);
      break;
    case PROP_THREADS:
      self->threads = g_value_get_uint (value);
      break;
    case PROP_INPUT_SIZE:
      self->input_size = g_value_get_uint (value);
      break;
    case PROP_CLASSES:
      set_text (&self->classes, value);
      break;
    case PROP_WORDS:
      set_text (&self->words, value);
      self->word_changes++;
      break;
    case PROP_SCORE:
      self->score = g_value_get_double (value);
      break;
    case PROP_INTERVAL:
      self->interval = g_value_get_uint (value);
      break;
    case PROP_OVERLOAD_POLICY:
      self->policy = g_value_get_enum (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, spec);
      break;
  }
}

static void
gst_sam_detect_set_property (GObject * object, guint id, const GValue * value,
    GParamSpec * spec)
{
  GstSamDetect *self = GST_SAM_DETECT (object);
  gboolean refused;

  gst_sam_object_lock (self);
  refused = self->frozen && (spec->flags & GST_PARAM_MUTABLE_READY);
  if (!refused)
    set_locked (self, id, value, spec);
  gst_sam_object_unlock (self);
  if (refused)
    gst_sam_frozen_refuse (GST_ELEMENT (self), spec, value,
        "samdetect-refusal", FALSE);
}

static GstStructure *
new_stats (const GstSamDetect * self)
{
  return gst_structure_new ("samdetect-stats",
      "frames-in", G_TYPE_UINT64, self->frames,
      "runs", G_TYPE_UINT64, self->runs,
      "detections", G_TYPE_UINT64, self->detections,
      "last-ns", G_TYPE_UINT64, (guint64) self->last_ns, NULL);
}

static void
gst_sam_detect_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * spec)
{
  GstSamDetect *self = GST_SAM_DETECT (object);

  gst_sam_object_lock (self);
  switch (id) {
    case PROP_MODEL_FILE:
      g_value_set_string (value, self->model_file);
      break;
    case PROP_LABELS:
      g_value_set_string (value, self->labels);
      break;
    case PROP_BACKEND:
      g_value_set_enum (value, self->backend);
      break;
    case PROP_PRECISION:
      g_value_set_enum (value, self->precision);
      break;
    case PROP_THREADS:
      g_value_set_uint (value, self->threads);
      break;
    case PROP_INPUT_SIZE:
      g_value_set_uint (value, self->input_size);
      break;
    case PROP_CLASSES:
      g_value_set_string (value, self->classes);
      break;
    case PROP_WORDS:
      g_value_set_string (value, self->words);
      break;
    case PROP_SCORE:
      g_value_set_double (value, self->score);
      break;
    case PROP_INTERVAL:
      g_value_set_uint (value, self->interval);
      break;
    case PROP_OVERLOAD_POLICY:
      g_value_set_enum (value, self->policy);
      break;
    case PROP_STATS:
      g_value_take_boxed (value, new_stats (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
      break;
  }
  gst_sam_object_unlock (self);
}

static void
gst_sam_detect_finalize (GObject * object)
{
  GstSamDetect *self = GST_SAM_DETECT (object);

  g_free (self->model_file);
  g_free (self->labels);
  g_free (self->classes);
  g_free (self->words);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
install_model (GObjectClass * klass)
{
  /**
   * GstSamDetect:model-file:
   *
   * Weights of a detector; docs/DETECTORS.md lists the families.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MODEL_FILE,
      g_param_spec_string ("model-file", "Model file",
          "Weights of the detector", NULL, SETTABLE_READY));
  /**
   * GstSamDetect:labels:
   *
   * Text file with the names of its classes, one a line. Without one 80 classes
   * are taken for COCO's, others are numbers from 0.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_LABELS,
      g_param_spec_string ("labels", "Labels",
          "Text file with the names of the classes, one a line", NULL,
          SETTABLE_READY));
  /**
   * GstSamDetect:backend:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_BACKEND,
      g_param_spec_enum ("backend", "Backend",
          "Processor that runs the detector (auto = the CPU)",
          GST_TYPE_SAM_TRACK_BACKEND, SAM_BACKEND_AUTO, SETTABLE_READY));
  /**
   * GstSamDetect:precision:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_PRECISION,
      g_param_spec_enum ("precision", "Precision",
          "Precision of the products (auto = fp32)",
          GST_TYPE_SAM_TRACK_PRECISION, SAM_PRECISION_AUTO, SETTABLE_READY));
  /**
   * GstSamDetect:threads:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_THREADS,
      g_param_spec_uint ("threads", "Threads",
          "Number of threads of the CPU backend (0 = one per processor)", 0,
          SAM_MAX_THREADS, 0, SETTABLE_READY));
  /**
   * GstSamDetect:input-size:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INPUT_SIZE,
      g_param_spec_uint ("input-size", "Input size",
          "Side of the model's square input in pixels (0 = its own)", 0,
          2048, 0, SETTABLE_READY));
}

static void
install_output (GObjectClass * klass)
{
  /**
   * GstSamDetect:classes:
   *
   * Names of the classes to attach, separated by commas.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_CLASSES,
      g_param_spec_string ("classes", "Classes",
          "Names of the classes to attach, separated by commas (NULL = all)",
          NULL, SETTABLE_READY));
  /**
   * GstSamDetect:words:
   *
   * What a detector by words is to find: phrases, each of which ends in a full
   * stop or with the text. The phrase is the type of a region. %NULL: nothing.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_WORDS,
      g_param_spec_string ("words", "Words",
          "What a detector by words is to find, for example a red car. dog "
          "(NULL = nothing)", NULL, SETTABLE));
  /**
   * GstSamDetect:score:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_SCORE,
      g_param_spec_double ("score", "Score",
          "Lowest score of a detection to attach", 0, 1, DEFAULT_SCORE,
          SETTABLE));
  /**
   * GstSamDetect:interval:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INTERVAL,
      g_param_spec_uint ("interval", "Interval",
          "Number of frames to skip between detections", 0, G_MAXINT, 0,
          SETTABLE));
  /**
   * GstSamDetect:overload-policy:
   *
   * Whether a frame waits for its detections. If it does not, they go with the
   * first frame after they were found, with their age in frames, and frames
   * that come while the detector is busy are not looked at.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_OVERLOAD_POLICY,
      g_param_spec_enum ("overload-policy", "Overload policy",
          "Whether a frame waits for its detections", policy_get_type (),
          GST_SAM_DETECT_POLICY_AUTO, SETTABLE));
  /**
   * GstSamDetect:stats:
   *
   * A structure `samdetect-stats`: `frames-in`, `runs` (of the detector),
   * `detections` (that were attached), `last-ns` (time of the last run), all
   * uint64, since start.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics", "Counts since start",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
gst_sam_detect_class_init (GstSamDetectClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *base_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_sam_detect_debug, "samdetect", 0,
      "object detector");

  gobject_class->set_property = gst_sam_detect_set_property;
  gobject_class->get_property = gst_sam_detect_get_property;
  gobject_class->finalize = gst_sam_detect_finalize;
  install_model (gobject_class);
  install_output (gobject_class);

  gst_element_class_set_static_metadata (element_class, "Object detector",
      "Filter/Analyzer/Video",
      "Finds objects, and attaches them as regions of interest",
      "The samtrack authors");
  gst_sam_filter_class_init (base_class, GST_SAM_FRAME_FORMATS, NULL);
  element_class->change_state = GST_DEBUG_FUNCPTR (gst_sam_detect_change_state);

  base_class->start = GST_DEBUG_FUNCPTR (gst_sam_detect_start);
  base_class->stop = GST_DEBUG_FUNCPTR (gst_sam_detect_stop);
  base_class->set_caps = GST_DEBUG_FUNCPTR (gst_sam_detect_set_caps);
  base_class->sink_event = GST_DEBUG_FUNCPTR (gst_sam_detect_sink_event);
  base_class->transform_ip = GST_DEBUG_FUNCPTR (gst_sam_detect_transform_ip);
}

static void
gst_sam_detect_init (GstSamDetect * self)
{
  gst_sam_filter_init (GST_BASE_TRANSFORM (self));
  self->score = DEFAULT_SCORE;
}

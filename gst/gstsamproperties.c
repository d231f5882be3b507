/* The properties of samtrack. */

#include "gstsamtrackprivate.h"

enum
{
  PROP_0,
  PROP_MODEL_FILE,
  PROP_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_PRECISION,
  PROP_THREADS,
  PROP_MAX_OBJECTS,
  PROP_LOST_AFTER,
  PROP_FILL_HOLES,
  PROP_INPUT_SIZE,
  PROP_MEMORY_BUDGET,
  PROP_INTERVAL,
  PROP_MASK_SIZE,
  PROP_OVERLOAD_POLICY,
  PROP_INITIAL_PROMPT,
  PROP_STATS,
  PROP_OBJECTS,
};

#define SETTABLE_READY (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_READY)
#define SETTABLE_PLAYING (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)

#define DEFAULT_MAX_OBJECTS 8
#define DEFAULT_LOST_AFTER 30

static GstStructure *
get_objects (GstSamTrack * self)
{
  GstStructure *s = gst_structure_new_empty ("application/x-samtrack-objects");
  GstSamReport *report = g_new (GstSamReport, 1);
  GValue array = G_VALUE_INIT;

  GST_OBJECT_LOCK (self);
  *report = *self->shown;
  GST_OBJECT_UNLOCK (self);
  gst_sam_report_objects_to_value (report, &array);
  gst_structure_set (s, "width", G_TYPE_INT, report->width,
      "height", G_TYPE_INT, report->height,
      "running-time", G_TYPE_UINT64, report->running_time, NULL);
  gst_structure_take_value (s, "objects", &array);
  g_free (report);
  return s;
}

void
gst_sam_track_set_frozen (GstSamTrack * self, gboolean frozen)
{
  GST_OBJECT_LOCK (self);
  self->frozen = frozen;
  GST_OBJECT_UNLOCK (self);
}

/* The element is started, so @pspec keeps its value. Setting the value that it
 * has is no change. */
static void
refuse_change (GstSamTrack * self, GParamSpec * pspec, const GValue * wanted)
{
  GValue value = G_VALUE_INIT;
  gchar *kept, *refused, *text;

  g_value_init (&value, pspec->value_type);
  g_object_get_property (G_OBJECT (self), pspec->name, &value);
  if (g_param_values_cmp (pspec, &value, wanted)) {
    kept = gst_value_serialize (&value);
    refused = gst_value_serialize (wanted);
    text = g_strdup_printf ("The property '%s' stays %s: it can be set to %s "
        "only in the states NULL and READY.", pspec->name, kept, refused);
    gst_sam_track_post_refusal (self, GST_SAM_REFUSED_STATE, text,
        "property", G_TYPE_STRING, pspec->name, NULL);
    g_free (text);
    g_free (refused);
    g_free (kept);
  }
  g_value_unset (&value);
}

/* Called with the object lock held. */
static void
set_locked (GstSamTrack * self, guint id, const GValue * value,
    GParamSpec * pspec)
{
  switch (id) {
    case PROP_MODEL_FILE:
      g_free (self->model_file);
      self->model_file = g_value_dup_string (value);
      break;
    case PROP_BACKEND:
      self->backend = g_value_get_enum (value);
      break;
    case PROP_CUDA_DEVICE_ID:
      self->cuda_device_id = g_value_get_int (value);
      break;
    case PROP_PRECISION:
      self->precision = g_value_get_enum (value);
      break;
    case PROP_THREADS:
      self->threads = g_value_get_uint (value);
      break;
    case PROP_MAX_OBJECTS:
      self->max_objects = g_value_get_uint (value);
      gst_sam_queue_set_max_objects (self->queue, self->max_objects);
      break;
    case PROP_LOST_AFTER:
      self->lost_after = g_value_get_uint (value);
      break;
    case PROP_FILL_HOLES:
      self->fill_holes = g_value_get_uint (value);
      break;
    case PROP_INPUT_SIZE:
      self->input_size = g_value_get_uint (value);
      break;
    case PROP_MEMORY_BUDGET:
      self->memory_budget = g_value_get_uint (value);
      break;
    case PROP_INTERVAL:
      self->interval = g_value_get_uint (value);
      break;
    case PROP_MASK_SIZE:
      self->mask_size = g_value_get_enum (value);
      break;
    case PROP_OVERLOAD_POLICY:
      self->policy = g_value_get_enum (value);
      break;
    case PROP_INITIAL_PROMPT:
      g_free (self->initial_prompt);
      self->initial_prompt = g_value_dup_string (value);
      gst_sam_queue_forget_masks (self->queue);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, pspec);
      break;
  }
}

static void
gst_sam_track_set_property (GObject * object, guint id, const GValue * value,
    GParamSpec * pspec)
{
  GstSamTrack *self = GST_SAM_TRACK (object);
  gboolean refused;

  GST_OBJECT_LOCK (self);
  refused = self->frozen && (pspec->flags & GST_PARAM_MUTABLE_READY);
  if (!refused)
    set_locked (self, id, value, pspec);
  GST_OBJECT_UNLOCK (self);
  if (refused)
    refuse_change (self, pspec, value);
}

static void
gst_sam_track_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * pspec)
{
  GstSamTrack *self = GST_SAM_TRACK (object);

  if (id == PROP_STATS) {
    g_value_take_boxed (value, gst_sam_stats_to_structure (self->stats));
    return;
  }
  if (id == PROP_OBJECTS) {
    g_value_take_boxed (value, get_objects (self));
    return;
  }
  GST_OBJECT_LOCK (self);
  switch (id) {
    case PROP_MODEL_FILE:
      g_value_set_string (value, self->model_file);
      break;
    case PROP_BACKEND:
      g_value_set_enum (value, self->backend);
      break;
    case PROP_CUDA_DEVICE_ID:
      g_value_set_int (value, self->cuda_device_id);
      break;
    case PROP_PRECISION:
      g_value_set_enum (value, self->precision);
      break;
    case PROP_THREADS:
      g_value_set_uint (value, self->threads);
      break;
    case PROP_MAX_OBJECTS:
      g_value_set_uint (value, self->max_objects);
      break;
    case PROP_LOST_AFTER:
      g_value_set_uint (value, self->lost_after);
      break;
    case PROP_FILL_HOLES:
      g_value_set_uint (value, self->fill_holes);
      break;
    case PROP_INPUT_SIZE:
      g_value_set_uint (value, self->input_size);
      break;
    case PROP_MEMORY_BUDGET:
      g_value_set_uint (value, self->memory_budget);
      break;
    case PROP_INTERVAL:
      g_value_set_uint (value, self->interval);
      break;
    case PROP_MASK_SIZE:
      g_value_set_enum (value, self->mask_size);
      break;
    case PROP_OVERLOAD_POLICY:
      g_value_set_enum (value, self->policy);
      break;
    case PROP_INITIAL_PROMPT:
      g_value_set_string (value, self->initial_prompt);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  GST_OBJECT_UNLOCK (self);
}

static void
install_model_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:model-file:
   *
   * The weights file: `.safetensors` with Meta's or Hugging Face's names, or
   * Meta's `.pt`. Without one the small model that comes with the plugin is
   * used.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MODEL_FILE,
      g_param_spec_string ("model-file", "Model file",
          "Weights of a model of SAM 2's family, .safetensors or .pt "
          "(NULL: the embedded model)", NULL, SETTABLE_READY));
  /**
   * GstSamTrack:backend:
   *
   * What the model runs on.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_BACKEND,
      g_param_spec_enum ("backend", "Backend",
          "What the model runs on", GST_TYPE_SAM_TRACK_BACKEND,
          SAM_BACKEND_AUTO, SETTABLE_READY));
  /**
   * GstSamTrack:cuda-device-id:
   *
   * Which GPU of several, -1 for that of the pipeline's CUDA context, else
   * the first.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_CUDA_DEVICE_ID,
      g_param_spec_int ("cuda-device-id", "CUDA device ID",
          "Which NVIDIA GPU to run on (-1: the pipeline's)", -1, 1024, -1,
          SETTABLE_READY));
  /**
   * GstSamTrack:precision:
   *
   * Precision of the products. Sums are always 32 bits wide.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_PRECISION,
      g_param_spec_enum ("precision", "Precision",
          "Precision of matrix products; sums always have 32 bits",
          GST_TYPE_SAM_TRACK_PRECISION, SAM_PRECISION_AUTO, SETTABLE_READY));
  /**
   * GstSamTrack:threads:
   *
   * Threads of the CPU backend, 0 for as many as there are processors.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_THREADS,
      g_param_spec_uint ("threads", "Threads",
          "Threads of the CPU backend (0: as many as there are processors)", 0,
          SAM_MAX_THREADS, 0, SETTABLE_READY));
  /**
   * GstSamTrack:max-objects:
   *
   * Objects that can be tracked at once. All memory is taken at the start, so
   * that more take more.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MAX_OBJECTS,
      g_param_spec_uint ("max-objects", "Max objects",
          "Objects that can be tracked at once; memory is sized by it", 1,
          GST_SAM_MAX_OBJECTS, DEFAULT_MAX_OBJECTS, SETTABLE_READY));
}

static void
install_tracking_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:lost-after:
   *
   * Tracked frames that an object stays occluded before it counts as lost. It
   * is found again all the same.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_LOST_AFTER,
      g_param_spec_uint ("lost-after", "Lost after",
          "Frames that an object stays occluded before it counts as lost", 1,
          G_MAXINT, DEFAULT_LOST_AFTER, SETTABLE_READY));
  /**
   * GstSamTrack:fill-holes:
   *
   * Holes of a mask up to this area are filled, in pixels of the model's mask,
   * which is a quarter of its input each way. What the model remembers of the
   * object is left as it is.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_FILL_HOLES,
      g_param_spec_uint ("fill-holes", "Fill holes",
          "Largest hole of a mask that is filled, in pixels of the model's "
          "mask (0 = none)", 0, 1 << 20, 0, SETTABLE_READY));
  /**
   * GstSamTrack:input-size:
   *
   * Side of the square that frames are scaled to for the model, in pixels. A
   * smaller one is faster and less exact: SAM 2.1 tiny at 512 does a fifth of
   * its work at 1024. SAM 2 and 2.1 run at multiples of 32 from 64 to 2048;
   * the state change fails with a sentence that names the sides that the model
   * can run.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INPUT_SIZE,
      g_param_spec_uint ("input-size", "Input size",
          "Side of the model's square input in pixels (0 = the model's own)",
          0, 2048, 0, SETTABLE_READY));
  /**
   * GstSamTrack:memory-budget:
   *
   * Most memory that the tracker may take, in MiB: weights, scratch and the
   * state of max-objects objects. The state change fails if it needs more, with
   * a sentence that says how much is missing.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MEMORY_BUDGET,
      g_param_spec_uint ("memory-budget", "Memory budget",
          "Most memory that the tracker may take in MiB (0 = no limit)",
          0, 1 << 24, 0, SETTABLE_READY));
}

static void
install_stream_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:interval:
   *
   * Frames to pass with the last masks, marked stale, between two that are
   * tracked on. 0 tracks on every frame.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INTERVAL,
      g_param_spec_uint ("interval", "Interval",
          "Frames to pass with the last masks between two that are tracked on",
          0, G_MAXINT, 0, SETTABLE_PLAYING));
  /**
   * GstSamTrack:mask-size:
   *
   * Size of the label map in the meta: as the network gives it, or one value
   * per pixel of the frame.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MASK_SIZE,
      g_param_spec_enum ("mask-size", "Mask size",
          "Size of the label map in the meta", GST_TYPE_SAM_TRACK_MASK_SIZE,
          GST_SAM_TRACK_MASK_SIZE_MODEL, SETTABLE_PLAYING));
  /**
   * GstSamTrack:overload-policy:
   *
   * What to do with frames that come too late to be tracked on. Whatever it is,
   * #GstSamTrack:stats and QoS messages count them.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_OVERLOAD_POLICY,
      g_param_spec_enum ("overload-policy", "Overload policy",
          "What to do with frames that come too late to be tracked on",
          GST_TYPE_SAM_TRACK_OVERLOAD_POLICY, GST_SAM_TRACK_OVERLOAD_AUTO,
          SETTABLE_PLAYING));
  /**
   * GstSamTrack:initial-prompt:
   *
   * Prompts for the first frame of every stream, `;` between them:
   * `point,x=,y=[,positive=]`, `box,x=,y=,w=,h=`, `mask,location=FILE.png`,
   * each with `normalized=true` where coordinates run from 0 to 1, and `id=`
   * where several are for one object. Applied again after every seek, and
   * where a segment is played again. Files of masks are read once, until the
   * property is set again or the element stops.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INITIAL_PROMPT,
      g_param_spec_string ("initial-prompt", "Initial prompt",
          "Prompts for the first frame, such as box,x=10,y=20,w=50,h=40; "
          "point,x=9,y=7", NULL, SETTABLE_PLAYING));
}

static void
install_report_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:stats:
   *
   * Counts of frames, percentiles of the time each part takes (over the last
   * 1024 tracked frames, the first of the run apart), bytes planned and used,
   * device and precision.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Counts, times and bytes of this run", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  /**
   * GstSamTrack:objects:
   *
   * The objects as on the last frame that was tracked on, with the fields of
   * the meta.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_OBJECTS,
      g_param_spec_boxed ("objects", "Objects",
          "The objects, as on the last frame that was tracked on",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

void
gst_sam_track_install_properties (GstSamTrackClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);

  gobject_class->set_property = gst_sam_track_set_property;
  gobject_class->get_property = gst_sam_track_get_property;
  install_model_properties (gobject_class);
  install_tracking_properties (gobject_class);
  install_stream_properties (gobject_class);
  install_report_properties (gobject_class);
}

void
gst_sam_track_init_properties (GstSamTrack * self)
{
  self->cuda_device_id = -1;
  self->max_objects = DEFAULT_MAX_OBJECTS;
  self->lost_after = DEFAULT_LOST_AFTER;
}

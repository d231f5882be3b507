/* SPDX-License-Identifier: MIT */
/* The properties of samtrack. */

#include "gstsamtrackprivate.h"

#include "common/gstsamfrozen.h"

enum
{
  PROP_0,
  PROP_MODEL_FILE,
  PROP_FOLLOW,
  PROP_BACKEND,
  PROP_CUDA_DEVICE_ID,
  PROP_PRECISION,
  PROP_THREADS,
  PROP_MAX_OBJECTS,
  PROP_LOST_AFTER,
  PROP_FILL_HOLES,
  PROP_REMOVE_ISLANDS,
  PROP_EDGES,
  PROP_INPUT_SIZE,
  PROP_MEMORY_BUDGET,
  PROP_HISTORY,
  PROP_STRICT,
  PROP_HISTORY_IDLE,
  PROP_INTERVAL,
  PROP_MASK_SIZE,
  PROP_OVERLOAD_POLICY,
  PROP_MAX_WAIT,
  PROP_NAVIGATION,
  PROP_RESET_ON,
  PROP_MASK_TYPE,
  PROP_INITIAL_PROMPT,
  PROP_INITIAL_TRACKS,
  PROP_STATS,
  PROP_OBJECTS,
  PROP_SEEDING,                 /* and those that follow */
};

#define SETTABLE_READY (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_READY)
#define SETTABLE_PLAYING (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)

#define DEFAULT_MAX_OBJECTS 8
#define DEFAULT_HISTORY 8
#define DEFAULT_LOST_AFTER 30

static GstStructure *
get_objects (GstSamTrack * self)
{
  GstStructure *s = gst_structure_new_empty ("application/x-samtrack-objects");
  GstSamReport *report = g_new (GstSamReport, 1);
  GValue array = G_VALUE_INIT;

  gst_sam_object_lock (self);
  *report = *self->shown;
  gst_sam_object_unlock (self);
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
  gst_sam_object_lock (self);
  self->frozen = frozen;
  gst_sam_object_unlock (self);
}

/* Where the value of a text is; NULL: the property is none. */
static gchar **
find_text (GstSamTrack * self, guint id)
{
  switch (id) {
    case PROP_MODEL_FILE:
      return &self->model_file;
    case PROP_FOLLOW:
      return &self->follow_model;
    case PROP_INITIAL_PROMPT:
      return &self->initial_prompt;
    case PROP_INITIAL_TRACKS:
      return &self->initial_tracks;
    default:
      return NULL;
  }
}

/* Where the value of an enumeration or an unsigned number is; NULL: the
 * property is neither. */
static gint *
find_number (GstSamTrack * self, guint id)
{
  switch (id) {
    case PROP_BACKEND:
      return &self->backend;
    case PROP_PRECISION:
      return &self->precision;
    case PROP_THREADS:
      return (gint *) &self->threads;
    case PROP_MAX_OBJECTS:
      return (gint *) &self->max_objects;
    case PROP_LOST_AFTER:
      return (gint *) &self->lost_after;
    case PROP_FILL_HOLES:
      return (gint *) &self->fill_holes;
    case PROP_REMOVE_ISLANDS:
      return (gint *) &self->remove_islands;
    case PROP_EDGES:
      return &self->edges;
    case PROP_INPUT_SIZE:
      return (gint *) &self->input_size;
    case PROP_MEMORY_BUDGET:
      return (gint *) &self->memory_budget;
    case PROP_HISTORY:
      return (gint *) &self->history;
    case PROP_INTERVAL:
      return (gint *) &self->interval;
    case PROP_MASK_SIZE:
      return &self->mask_size;
    case PROP_OVERLOAD_POLICY:
      return &self->policy;
    case PROP_NAVIGATION:
      return &self->navigation_mode;
    case PROP_RESET_ON:
      return &self->reset_on;
    case PROP_MASK_TYPE:
      return &self->mask_type;
    default:
      return NULL;
  }
}

/* Called with the object lock held. */
static void
set_locked (GstSamTrack * self, guint id, const GValue * value,
    GParamSpec * pspec)
{
  gchar **text = find_text (self, id);
  gint *number = find_number (self, id);

  if (number) {
    *number = G_VALUE_HOLDS_ENUM (value) ? g_value_get_enum (value) :
        (gint) g_value_get_uint (value);
    if (id == PROP_MAX_OBJECTS)
      gst_sam_pending_set_max_objects (self->pending, self->max_objects);
    return;
  }
  if (text) {
    g_free (*text);
    *text = g_value_dup_string (value);
    if (id == PROP_INITIAL_PROMPT)
      gst_sam_pending_forget_masks (self->pending);
    return;
  }
  switch (id) {
    case PROP_CUDA_DEVICE_ID:
      self->cuda_device_id = g_value_get_int (value);
      break;
    case PROP_STRICT:
      self->strict = g_value_get_boolean (value);
      break;
    case PROP_HISTORY_IDLE:
      self->history_idle = g_value_get_boolean (value);
      break;
    case PROP_MAX_WAIT:
      self->max_wait = g_value_get_uint64 (value);
      break;
    default:
      if (id < PROP_SEEDING || !gst_sam_seed_settings_set (&self->seeding,
              id - PROP_SEEDING, value))
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

  gst_sam_object_lock (self);
  refused = self->frozen && (pspec->flags & GST_PARAM_MUTABLE_READY);
  if (!refused)
    set_locked (self, id, value, pspec);
  gst_sam_object_unlock (self);
  if (refused)
    gst_sam_frozen_refuse (GST_ELEMENT (self), pspec, value,
        "samtrack-refusal", FALSE);
}

/* Called with the object lock held. */
static void
get_locked (GstSamTrack * self, guint id, GValue * value, GParamSpec * pspec)
{
  const gint *number = find_number (self, id);

  if (number && G_VALUE_HOLDS_ENUM (value)) {
    g_value_set_enum (value, *number);
    return;
  }
  if (number) {
    g_value_set_uint (value, *number);
    return;
  }
  switch (id) {
    case PROP_CUDA_DEVICE_ID:
      g_value_set_int (value, self->cuda_device_id);
      break;
    case PROP_STRICT:
      g_value_set_boolean (value, self->strict);
      break;
    case PROP_HISTORY_IDLE:
      g_value_set_boolean (value, self->history_idle);
      break;
    case PROP_MAX_WAIT:
      g_value_set_uint64 (value, self->max_wait);
      break;
    default:
      if (id < PROP_SEEDING || !gst_sam_seed_settings_get (&self->seeding,
              id - PROP_SEEDING, value))
        G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, pspec);
      break;
  }
}

static void
gst_sam_track_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * pspec)
{
  GstSamTrack *self = GST_SAM_TRACK (object);
  gchar **text = find_text (self, id);

  if (id == PROP_STATS) {
    g_value_take_boxed (value, gst_sam_pending_add_words (self->pending,
            gst_sam_stats_to_structure (self->stats,
                gst_sam_follow_to_structure (self->follow))));
    return;
  }
  if (id == PROP_OBJECTS) {
    g_value_take_boxed (value, get_objects (self));
    return;
  }
  gst_sam_object_lock (self);
  if (text)
    g_value_set_string (value, *text);
  else
    get_locked (self, id, value, pspec);
  gst_sam_object_unlock (self);
}

static void
install_follow_property (GObjectClass * klass)
{
  /**
   * GstSamTrack:follow:
   *
   * A second, faster model, for live pipelines whose model is slower than the
   * stream: it follows the masks of the model and gives every frame masks of
   * its own. When the model has masks of a frame, the fast one begins with them
   * on that frame, replays some of the frames since, and goes on from there;
   * objects, their ids, and whether they are lost are the model's word.
   * `none`; `embedded`, the default model; `auto`, the same while the model
   * takes longer than a frame; or a weights file. Its memory counts against
   * #GstSamTrack:memory-budget. A model that is as fast turns it off (warning).
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_FOLLOW,
      g_param_spec_string ("follow", "Follow",
          "Fast model that follows the masks of a slow one in live pipelines: "
          "none, auto, embedded, or a weights file", "none",
          SETTABLE_READY));
}

static void
install_model_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:model-file:
   *
   * Weights file: `.safetensors` with Meta's or Hugging Face's names, or
   * Meta's `.pt`. %NULL: the small default model that comes with the plugin,
   * samtrack-lite0.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MODEL_FILE,
      g_param_spec_string ("model-file", "Model file",
          "Weights file of a SAM 2, EdgeTAM, EfficientTAM or SAM 3 model, "
          ".safetensors or .pt (NULL = the default model, samtrack-lite0)",
          NULL, SETTABLE_READY));
  /**
   * GstSamTrack:backend:
   *
   * Processor and implementation that run the model.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_BACKEND,
      g_param_spec_enum ("backend", "Backend",
          "Processor that runs the model", GST_TYPE_SAM_TRACK_BACKEND,
          SAM_BACKEND_AUTO, SETTABLE_READY));
  /**
   * GstSamTrack:cuda-device-id:
   *
   * Ordinal of the NVIDIA GPU that runs the model. -1: the GPU of the
   * pipeline's CUDA context if there is one, else the first GPU.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_CUDA_DEVICE_ID,
      g_param_spec_int ("cuda-device-id", "CUDA device ID",
          "NVIDIA GPU to run on (-1 = the pipeline's)", -1, 1024, -1,
          SETTABLE_READY));
  /**
   * GstSamTrack:precision:
   *
   * Precision of matrix products. Sums always have 32 bits.
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
   * Number of threads of the CPU backend. 0: one per processor.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_THREADS,
      g_param_spec_uint ("threads", "Threads",
          "Number of threads of the CPU backend (0 = one per processor)", 0,
          SAM_MAX_THREADS, 0, SETTABLE_READY));
  /**
   * GstSamTrack:max-objects:
   *
   * Maximum number of objects that are tracked at once. Memory for all of
   * them is allocated when the element starts.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MAX_OBJECTS,
      g_param_spec_uint ("max-objects", "Max objects",
          "Maximum number of tracked objects; memory is allocated for all", 1,
          SAM_MAX_OBJECTS, DEFAULT_MAX_OBJECTS, SETTABLE_READY));
}

static void
install_tracking_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:lost-after:
   *
   * Number of tracked frames that an object is occluded until its state is
   * `lost`. A lost object can still be found again.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_LOST_AFTER,
      g_param_spec_uint ("lost-after", "Lost after",
          "Number of frames an object is occluded until it is lost", 1,
          G_MAXINT, DEFAULT_LOST_AFTER, SETTABLE_READY));
  /**
   * GstSamTrack:fill-holes:
   *
   * Largest area of holes that are filled in the masks, in pixels of the
   * model's mask (a quarter of its input each way). The model's memory of the
   * object is not changed. 0: none.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_FILL_HOLES,
      g_param_spec_uint ("fill-holes", "Fill holes",
          "Largest area of holes to fill, in pixels of the model's mask "
          "(0 = none)", 0, 1 << 20, 0, SETTABLE_READY));
  /**
   * GstSamTrack:remove-islands:
   *
   * Largest area of islands that are removed from the masks, in pixels of the
   * model's mask: pieces apart from the rest that have at most half of the mask
   * in all, so that a small object stays. Holes are filled first. The model's
   * memory of the object is not changed. 0: none.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_REMOVE_ISLANDS,
      g_param_spec_uint ("remove-islands", "Remove islands",
          "Largest area of islands to remove, in pixels of the model's mask "
          "(0 = none)", 0, 1 << 20, 0, SETTABLE_READY));
  /**
   * GstSamTrack:edges:
   *
   * Where the edges of masks, boxes and areas are. `luma` moves them to edges
   * of the frame's luma, less than 1.5 pixels of the model's mask away (a
   * quarter of its input each way). The model's memory of the object is not
   * changed. Label maps of the size of the model's mask hardly gain.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_EDGES,
      g_param_spec_enum ("edges", "Edges",
          "Where the edges of masks are drawn", GST_TYPE_SAM_TRACK_EDGES,
          SAM_EDGES_NONE, SETTABLE_READY));
  /**
   * GstSamTrack:input-size:
   *
   * Side of the square that frames are scaled to for the model, in pixels. A
   * smaller one is faster and less exact. SAM 2, 2.1 and EfficientTAM run at
   * multiples of 32 from 64 to 2048, SAM 3 of 336 from 336 to 2016, EdgeTAM
   * of 256 from 256 to 2048; others are refused. 0: the model's own, of the
   * embedded one 448 where BF16 is faster than FP32, else 320.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INPUT_SIZE,
      g_param_spec_uint ("input-size", "Input size",
          "Side of the model's square input in pixels (0 = the model's own)",
          0, 2048, 0, SETTABLE_READY));
}

static void
install_memory_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:memory-budget:
   *
   * Maximum memory of the tracker in MiB: weights, scratch and the state of
   * max-objects objects. If it needs more, the state change fails and the
   * error says how much is missing. 0: no limit.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MEMORY_BUDGET,
      g_param_spec_uint ("memory-budget", "Memory budget",
          "Maximum memory of the tracker in MiB (0 = no limit)",
          0, 1 << 24, 0, SETTABLE_READY));
  /**
   * GstSamTrack:history:
   *
   * Number of tracked frames that a late prompt can still name: their features
   * are kept, which takes memory. A prompt names a frame by its running time;
   * clicks in the video's window name the frame that was shown. The object is
   * tracked again from there, and catches up within a few frames. 0: all
   * prompts are for the next frame.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_HISTORY,
      g_param_spec_uint ("history", "History",
          "Number of tracked frames that a late prompt can still name "
          "(0 = prompts are for the next frame)",
          0, SAM_MAX_HISTORY, DEFAULT_HISTORY, SETTABLE_READY));
}

static void
install_stream_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:history-idle:
   *
   * Whether late prompts can name frames on which nothing was tracked, too:
   * then each frame is scaled to the model's input and kept, which takes some
   * of the processor while nothing is tracked. With #GstSamTrack:navigation it
   * is always done.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_HISTORY_IDLE,
      g_param_spec_boolean ("history-idle", "History while idle",
          "Whether late prompts can also name frames on which nothing was "
          "tracked (always with navigation)", FALSE, SETTABLE_PLAYING));
  /**
   * GstSamTrack:interval:
   *
   * Number of frames to skip between tracked frames. Skipped frames repeat
   * the last masks, marked stale. 0: every frame is tracked.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INTERVAL,
      g_param_spec_uint ("interval", "Interval",
          "Number of frames to skip between tracked frames; skipped frames "
          "repeat the last masks", 0, G_MAXINT, 0, SETTABLE_PLAYING));
  /**
   * GstSamTrack:mask-size:
   *
   * Size of the label map in the meta. `model` is the cheapest; outlines drawn
   * from it are jagged.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MASK_SIZE,
      g_param_spec_enum ("mask-size", "Mask size",
          "Size of the label map in the meta", GST_TYPE_SAM_TRACK_MASK_SIZE,
          GST_SAM_TRACK_MASK_SIZE_AUTO, SETTABLE_PLAYING));
  /**
   * GstSamTrack:overload-policy:
   *
   * Handling of frames that arrive too late to be tracked.
   * #GstSamTrack:stats and QoS messages count them.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_OVERLOAD_POLICY,
      g_param_spec_enum ("overload-policy", "Overload policy",
          "Handling of frames that arrive too late to be tracked",
          GST_TYPE_SAM_TRACK_OVERLOAD_POLICY, GST_SAM_TRACK_OVERLOAD_AUTO,
          SETTABLE_PLAYING));
  /**
   * GstSamTrack:max-wait:
   *
   * Maximum time that a frame waits for its own masks, in nanoseconds, if the
   * pipeline is live and the overload policy is `skip`; the model then runs in
   * its own thread. After that time the frame passes with the last masks,
   * marked stale. While a step of the model takes longer, frames do not wait.
   * -1: half of a frame's duration; all of it where #GstSamTrack:follow gives
   * frames their masks.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MAX_WAIT,
      g_param_spec_uint64 ("max-wait", "Max wait",
          "Maximum time that a live frame waits for its own masks, in "
          "nanoseconds (-1 = half of a frame's duration)", 0, G_MAXUINT64,
          G_MAXUINT64, SETTABLE_PLAYING));
}

static void
install_scene_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:mask-type:
   *
   * Whether the meta has soft masks beside the label map: the field
   * `probability`, a GRAY8 plane of the label map's size per object, in the
   * order of `objects`, one beneath the other. Masks of
   * #GstSamTrack:follow have none.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MASK_TYPE,
      g_param_spec_enum ("mask-type", "Mask type",
          "Whether the meta has soft masks beside the label map",
          GST_TYPE_SAM_TRACK_MASK_TYPE, GST_SAM_TRACK_MASK_TYPE_LABELS,
          SETTABLE_PLAYING));
  /**
   * GstSamTrack:reset-on:
   *
   * Where all objects end within a stream, as they do where one begins or jumps
   * (not with `never`), and #GstSamTrack:initial-prompt is applied again: at
   * scene cuts, which are not seen in GPU memory, or at frames that follow a
   * gap. An element message `samtrack-reset` tells each.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_RESET_ON,
      g_param_spec_enum ("reset-on", "Reset on",
          "Where all objects end within a stream", GST_TYPE_SAM_TRACK_RESET_ON,
          GST_SAM_TRACK_RESET_ON_NONE, SETTABLE_PLAYING));
}

static void
install_prompt_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:strict:
   *
   * Whether the stream ends with an error where a prompt of
   * #GstSamTrack:initial-prompt is refused, or a frame comes that its decoder
   * marked as damaged. By default a refused prompt is a warning, and damaged
   * frames are tracked as others are.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STRICT,
      g_param_spec_boolean ("strict", "Strict",
          "Whether a refused initial prompt or a damaged frame is an error",
          FALSE, SETTABLE_READY));
  /**
   * GstSamTrack:navigation:
   *
   * Handling of mouse, touch and key events of the video sink. A left click
   * adds a point to the current object or starts one, a right click or
   * one with Shift a point that is not on the object. With `points-boxes` a
   * drag draws the box of a new object. A middle click or Delete removes the
   * object under the pointer; `n` makes the next click start another object,
   * `u` undoes the last prompt of the current one, `c` removes all.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_NAVIGATION,
      g_param_spec_enum ("navigation", "Navigation",
          "Handling of mouse, touch and key events of the video sink",
          GST_TYPE_SAM_TRACK_NAVIGATION, GST_SAM_TRACK_NAVIGATION_NONE,
          SETTABLE_PLAYING));
  /**
   * GstSamTrack:initial-prompt:
   *
   * Prompts for the first frame of every stream, separated by `;`:
   * `point,x=,y=[,positive=]`, `box,x=,y=,w=,h=`,
   * `mask,location=FILE.png[,value=]`, each with `label=` for a class.
   * Add `normalized=true` if coordinates run from 0 to 1, and the same `id=`
   * to several prompts for one object. The prompts are applied again after
   * every seek and when a segment is played again. Mask files are read once
   * until the property is set again or the element stops.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INITIAL_PROMPT,
      g_param_spec_string ("initial-prompt", "Initial prompt",
          "Prompts for the first frame, for example "
          "box,x=10,y=20,w=50,h=40;point,x=9,y=7", NULL, SETTABLE_PLAYING));
  /**
   * GstSamTrack:initial-tracks:
   *
   * File that #GstSamTrack::save-tracks has written. Its objects are there from
   * the first frame of every stream on, with the ids that they had; prompts of
   * #GstSamTrack:initial-prompt are applied to them. It is read again after
   * every seek and when a segment is played again. A file that cannot be loaded
   * is an error.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_INITIAL_TRACKS,
      g_param_spec_string ("initial-tracks", "Initial tracks",
          "File of save-tracks whose objects are there from the first frame on",
          NULL, SETTABLE_PLAYING));
}

static void
install_report_properties (GObjectClass * klass)
{
  /**
   * GstSamTrack:stats:
   *
   * Numbers of frames, percentiles of the time of each part (over the last
   * 1024 tracked frames, without the first), bytes planned and used, device
   * and precision.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Frame counts, times and memory use", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  /**
   * GstSamTrack:objects:
   *
   * The objects on the last tracked frame, with the fields of the meta.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_OBJECTS,
      g_param_spec_boxed ("objects", "Objects",
          "The objects on the last tracked frame",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

void
gst_sam_track_install_properties (GstSamTrackClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);

  gobject_class->set_property = gst_sam_track_set_property;
  gobject_class->get_property = gst_sam_track_get_property;
  install_model_properties (gobject_class);
  install_follow_property (gobject_class);
  install_tracking_properties (gobject_class);
  install_memory_properties (gobject_class);
  install_stream_properties (gobject_class);
  install_scene_properties (gobject_class);
  install_prompt_properties (gobject_class);
  install_report_properties (gobject_class);
  gst_sam_seed_settings_install (gobject_class, PROP_SEEDING);
}

void
gst_sam_track_init_properties (GstSamTrack * self)
{
  self->follow_model = g_strdup ("none");
  self->cuda_device_id = -1;
  self->max_wait = GST_CLOCK_TIME_NONE;
  self->mask_size = GST_SAM_TRACK_MASK_SIZE_AUTO;
  self->max_objects = DEFAULT_MAX_OBJECTS;
  self->lost_after = DEFAULT_LOST_AFTER;
  self->history = DEFAULT_HISTORY;
  gst_sam_seed_settings_init (&self->seeding);
}

/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samscene
 * @title: samscene
 *
 * Draws things that move in front of a landscape, and attaches the truth about
 * them: a GstSamSceneMeta with the label map of the frame. Every frame is a
 * function of the seed and its time alone.
 *
 * ## Example
 * |[
 * gst-launch-1.0 samscene ! videoconvert ! autovideosink
 * ]|
 */

#include "gstsamscene.h"

#include "gstsamscenemeta.h"

GST_DEBUG_CATEGORY_STATIC (gst_sam_scene_debug);
#define GST_CAT_DEFAULT gst_sam_scene_debug

#define MAX_PIXELS (1 << 26)

enum
{
  PROP_0,
  PROP_SEED,
  PROP_IS_LIVE,
  PROP_FLAT,
};

struct _GstSamScene
{
  GstPushSrc parent;

  guint64 seed;
  gboolean flat;

  GstVideoInfo info;            /* protected by the object lock */
  Scene *scene;                 /* streaming thread */
  guint64 num_frames;           /* since the caps changed */
  GstClockTime base_time;       /* of the first of them */
};

#define gst_sam_scene_parent_class parent_class
G_DEFINE_TYPE (GstSamScene, gst_sam_scene, GST_TYPE_PUSH_SRC);
GST_ELEMENT_REGISTER_DEFINE (samscene, "samscene", GST_RANK_NONE,
    GST_TYPE_SAM_SCENE);

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src",
    GST_PAD_SRC, GST_PAD_ALWAYS,
    GST_STATIC_CAPS ("video/x-raw, format = RGBx, "
        "width = [ 1, 16384 ], height = [ 1, 16384 ], "
        "framerate = [ 1/2147483647, 2147483647/1 ]"));

static void
gst_sam_scene_set_property (GObject * object, guint id, const GValue * value,
    GParamSpec * pspec)
{
  GstSamScene *self = GST_SAM_SCENE (object);

  switch (id) {
    case PROP_SEED:
      self->seed = g_value_get_uint64 (value);
      break;
    case PROP_IS_LIVE:
      gst_base_src_set_live (GST_BASE_SRC (self), g_value_get_boolean (value));
      break;
    case PROP_FLAT:
      self->flat = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

static void
gst_sam_scene_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * pspec)
{
  GstSamScene *self = GST_SAM_SCENE (object);

  switch (id) {
    case PROP_SEED:
      g_value_set_uint64 (value, self->seed);
      break;
    case PROP_IS_LIVE:
      g_value_set_boolean (value, gst_base_src_is_live (GST_BASE_SRC (self)));
      break;
    case PROP_FLAT:
      g_value_set_boolean (value, self->flat);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
  }
}

static gboolean
gst_sam_scene_start (GstBaseSrc * src)
{
  GstSamScene *self = GST_SAM_SCENE (src);

  self->num_frames = 0;
  self->base_time = 0;
  GST_OBJECT_LOCK (self);
  gst_video_info_init (&self->info);
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

static gboolean
gst_sam_scene_stop (GstBaseSrc * src)
{
  g_clear_pointer (&GST_SAM_SCENE (src)->scene, scene_free);
  return TRUE;
}

static GstCaps *
gst_sam_scene_fixate (GstBaseSrc * src, GstCaps * caps)
{
  GstStructure *s;

  caps = gst_caps_truncate (gst_caps_make_writable (caps));
  s = gst_caps_get_structure (caps, 0);
  gst_structure_fixate_field_nearest_int (s, "width", 640);
  gst_structure_fixate_field_nearest_int (s, "height", 360);
  gst_structure_fixate_field_nearest_fraction (s, "framerate", 30, 1);
  return GST_BASE_SRC_CLASS (parent_class)->fixate (src, caps);
}

static GstClockTime
get_time (const GstSamScene * self, guint64 frame)
{
  return self->base_time + gst_util_uint64_scale (frame,
      GST_SECOND * (guint64) self->info.fps_d, self->info.fps_n);
}

static gboolean
gst_sam_scene_set_caps (GstBaseSrc * src, GstCaps * caps)
{
  GstSamScene *self = GST_SAM_SCENE (src);
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, caps) || info.fps_n < 1) {
    GST_ELEMENT_ERROR (self, CORE, NEGOTIATION, (NULL),
        ("the caps %" GST_PTR_FORMAT " are not video with a frame rate", caps));
    return FALSE;
  }
  if ((gint64) info.width * info.height > MAX_PIXELS) {
    GST_ELEMENT_ERROR (self, STREAM, FORMAT,
        ("The picture is too large: %d x %d px.", info.width, info.height),
        ("width x height is %" G_GINT64_FORMAT ", at most %d",
            (gint64) info.width * info.height, MAX_PIXELS));
    return FALSE;
  }
  if (self->num_frames > 0) {
    self->base_time = get_time (self, self->num_frames);
    self->num_frames = 0;
  }
  g_clear_pointer (&self->scene, scene_free);
  self->scene = scene_new (self->seed, info.width, info.height, self->flat);
  GST_OBJECT_LOCK (self);
  self->info = info;
  GST_OBJECT_UNLOCK (self);
  gst_base_src_set_blocksize (src, info.size);
  return TRUE;
}

static gboolean
gst_sam_scene_decide_allocation (GstBaseSrc * src, GstQuery * query)
{
  GstSamScene *self = GST_SAM_SCENE (src);
  GstBufferPool *pool = NULL;
  guint size = self->info.size, min = 0, max = 0;
  const gboolean update = gst_query_get_n_allocation_pools (query) > 0;
  GstStructure *config;
  GstCaps *caps;

  if (update) {
    gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &min, &max);
    size = MAX (size, self->info.size);
  }
  if (!pool)
    pool = gst_video_buffer_pool_new ();
  gst_query_parse_allocation (query, &caps, NULL);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, min, max);
  if (gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL))
    gst_buffer_pool_config_add_option (config,
        GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_set_config (pool, config);
  if (update)
    gst_query_set_nth_allocation_pool (query, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool (query, pool, size, min, max);
  gst_object_unref (pool);
  return GST_BASE_SRC_CLASS (parent_class)->decide_allocation (src, query);
}

/* Of so many frames, ns; NONE: the rate is not known yet. */
static GstClockTime
get_duration (GstSamScene * self, guint64 frames)
{
  GstClockTime duration = GST_CLOCK_TIME_NONE;

  GST_OBJECT_LOCK (self);
  if (self->info.fps_n > 0)
    duration = gst_util_uint64_scale (frames, GST_SECOND * self->info.fps_d,
        self->info.fps_n);
  GST_OBJECT_UNLOCK (self);
  return duration;
}

/* With num-buffers the stream has an end. */
static gboolean
answer_duration (GstBaseSrc * src, GstQuery * query)
{
  GstClockTime duration;
  GstFormat format;
  gint frames;

  gst_query_parse_duration (query, &format, NULL);
  g_object_get (src, "num-buffers", &frames, NULL);
  if (format != GST_FORMAT_TIME || frames < 0)
    return FALSE;
  duration = get_duration (GST_SAM_SCENE (src), frames);
  gst_query_set_duration (query, format, duration);
  return GST_CLOCK_TIME_IS_VALID (duration);
}

static gboolean
gst_sam_scene_query (GstBaseSrc * src, GstQuery * query)
{
  GstClockTime frame;

  if (GST_QUERY_TYPE (query) == GST_QUERY_DURATION &&
      answer_duration (src, query))
    return TRUE;
  if (GST_QUERY_TYPE (query) != GST_QUERY_LATENCY)
    return GST_BASE_SRC_CLASS (parent_class)->query (src, query);
  frame = get_duration (GST_SAM_SCENE (src), 1);
  if (!GST_CLOCK_TIME_IS_VALID (frame))
    return FALSE;
  gst_query_set_latency (query, gst_base_src_is_live (src), frame,
      GST_CLOCK_TIME_NONE);
  return TRUE;
}

static gboolean
gst_sam_scene_is_seekable (GstBaseSrc * src)
{
  return TRUE;
}

/* A seek backwards is refused here, before anything is flushed: GstBaseSrc
 * sends no new segment after a do_seek that fails, though it has flushed the
 * old one. */
static gboolean
gst_sam_scene_event (GstBaseSrc * src, GstEvent * event)
{
  gdouble rate = 1;

  if (GST_EVENT_TYPE (event) == GST_EVENT_SEEK)
    gst_event_parse_seek (event, &rate, NULL, NULL, NULL, NULL, NULL, NULL);
  if (rate < 0)
    return FALSE;
  return GST_BASE_SRC_CLASS (gst_sam_scene_parent_class)->event (src, event);
}

/* A frame is a function of its time alone. */
static gboolean
gst_sam_scene_do_seek (GstBaseSrc * src, GstSegment * segment)
{
  GstSamScene *self = GST_SAM_SCENE (src);

  if (segment->format != GST_FORMAT_TIME)
    return FALSE;
  segment->time = segment->start;
  self->base_time = segment->position;
  self->num_frames = 0;
  return TRUE;
}

/* A live frame waits for its time. */
static void
gst_sam_scene_get_times (GstBaseSrc * src, GstBuffer * buffer,
    GstClockTime * start, GstClockTime * end)
{
  *start = *end = GST_CLOCK_TIME_NONE;
  if (gst_base_src_is_live (src) && GST_BUFFER_PTS_IS_VALID (buffer)) {
    *start = GST_BUFFER_PTS (buffer);
    *end = *start + GST_BUFFER_DURATION (buffer);
  }
}

static GstFlowReturn
gst_sam_scene_fill (GstPushSrc * src, GstBuffer * buffer)
{
  GstSamScene *self = GST_SAM_SCENE (src);
  const gsize size = (gsize) self->info.width * self->info.height;
  SceneFrame frame = { 0 };
  GstVideoFrame video;
  GstBuffer *labels;
  GstMapInfo map;

  if (!self->scene)
    return GST_FLOW_NOT_NEGOTIATED;
  if (!gst_video_frame_map (&video, &self->info, buffer, GST_MAP_WRITE)) {
    GST_ELEMENT_ERROR (self, RESOURCE, WRITE, (NULL),
        ("a buffer of %" G_GSIZE_FORMAT " bytes cannot be mapped",
            gst_buffer_get_size (buffer)));
    return GST_FLOW_ERROR;
  }
  GST_BUFFER_PTS (buffer) = get_time (self, self->num_frames);
  GST_BUFFER_DTS (buffer) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (buffer) = get_time (self, self->num_frames + 1) -
      GST_BUFFER_PTS (buffer);
  GST_BUFFER_OFFSET (buffer) = self->num_frames;
  GST_BUFFER_OFFSET_END (buffer) = self->num_frames + 1;
  labels = gst_buffer_new_allocate (NULL, size, NULL);
  gst_buffer_map (labels, &map, GST_MAP_WRITE);
  frame.pixels = GST_VIDEO_FRAME_PLANE_DATA (&video, 0);
  frame.stride = GST_VIDEO_FRAME_PLANE_STRIDE (&video, 0);
  frame.labels = map.data;
  scene_draw (self->scene, (gdouble) GST_BUFFER_PTS (buffer) / GST_SECOND,
      &frame);
  gst_buffer_unmap (labels, &map);
  gst_video_frame_unmap (&video);
  gst_sam_scene_meta_add (buffer, &self->info, labels, &frame);
  self->num_frames++;
  return GST_FLOW_OK;
}

static void
gst_sam_scene_class_init (GstSamSceneClass * klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *src_class = GST_BASE_SRC_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
      GST_PARAM_MUTABLE_READY;

  GST_DEBUG_CATEGORY_INIT (gst_sam_scene_debug, "samscene", 0, "scene");
  object_class->set_property = gst_sam_scene_set_property;
  object_class->get_property = gst_sam_scene_get_property;
  g_object_class_install_property (object_class, PROP_SEED,
      g_param_spec_uint64 ("seed", "Seed", "Which of the scenes to draw", 0,
          G_MAXUINT64, 0, flags));
  g_object_class_install_property (object_class, PROP_IS_LIVE,
      g_param_spec_boolean ("is-live", "Is live",
          "Whether to act as a live source", FALSE,
          flags));
  g_object_class_install_property (object_class, PROP_FLAT,
      g_param_spec_boolean ("flat", "Flat",
          "Draw each thing in one colour on black, for tests", FALSE, flags));
  gst_element_class_set_static_metadata (element_class, "Scene",
      "Source/Video", "Draws moving things and says where they are",
      "samtrack");
  gst_element_class_add_static_pad_template (element_class, &src_template);
  src_class->start = gst_sam_scene_start;
  src_class->stop = gst_sam_scene_stop;
  src_class->fixate = gst_sam_scene_fixate;
  src_class->set_caps = gst_sam_scene_set_caps;
  src_class->decide_allocation = gst_sam_scene_decide_allocation;
  src_class->query = gst_sam_scene_query;
  src_class->is_seekable = gst_sam_scene_is_seekable;
  src_class->event = gst_sam_scene_event;
  src_class->do_seek = gst_sam_scene_do_seek;
  src_class->get_times = gst_sam_scene_get_times;
  GST_PUSH_SRC_CLASS (klass)->fill = gst_sam_scene_fill;
}

static void
gst_sam_scene_init (GstSamScene * self)
{
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samzones
 * @title: samzones
 * @see_also: samtrack, samexport
 *
 * Tells which objects of #samtrack enter and leave zones, stay in them, and
 * cross lines, by the share of their masks that is inside. Each event is an
 * element message `samzones-event`, and is in the field `zone-events` of the
 * frame's GstSamTrackMeta, which #samexport writes. Pixels are not mapped.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -m v4l2src ! videoconvert ! \
 *   samtrack initial-prompt="point,x=0.5,y=0.5,normalized=true" ! samzones \
 *   zones="zone,name=door,points=0:0 99:0 99:99 0:99,dwell=5" ! \
 *   samexport location=events.jsonl ! fakesink
 * ]|
 *
 * Since: 0.1
 */

#include "gstsamzones.h"

#include "common/gstsamallocation.h"
#include "common/gstsamflush.h"
#include "common/gstsammutex.h"
#include "common/gstsamtext.h"
#include "gstsamzonewatch.h"

#include <string.h>

GST_DEBUG_CATEGORY_STATIC (gst_sam_zones_debug);
#define GST_CAT_DEFAULT gst_sam_zones_debug

enum
{
  PROP_0,
  PROP_ZONES,
  PROP_ZONES_FILE,
  PROP_TRACKER,
  PROP_THRESHOLD,
  PROP_HYSTERESIS,
  PROP_DWELL,
  PROP_STATS,
  PROP_LIST,
};

enum
{
  SIGNAL_CHECK,
  NUM_SIGNALS
};

static guint signals[NUM_SIGNALS];

#define DEFAULT_THRESHOLD 0.5
#define DEFAULT_HYSTERESIS 0.1
#define MAX_DWELL 1e7           /* seconds */
#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)

struct _GstSamZones
{
  GstBaseTransform parent;

  /* guarded by the object lock */
  gchar *zones, *zones_file, *tracker;
  GstSamZoneParams params;
  gboolean started;
  GstSamZoneList *waiting;      /* for the next frame; NULL: none */
  GstSamZoneWatch *watch;       /* NULL: not started */
  guint64 num_frames, num_events;       /* since start */

  /* streaming thread only */
  GstSamZoneList *list;         /* that the watch has */
  GstSamZoneMap *map;
  gboolean drawn;               /* the map is of the list */
  GstSamReport *report;
  GArray *events;               /* of GstSamZoneEvent */
  gint width, height;           /* of the frame */
  GstClockTime running_time, stream_time;       /* of the last frame */
  guint age;                    /* of its masks */
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink",
    GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src",
    GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));

#define gst_sam_zones_parent_class parent_class
G_DEFINE_TYPE (GstSamZones, gst_sam_zones, GST_TYPE_BASE_TRANSFORM);
GST_ELEMENT_REGISTER_DEFINE (samzones, "samzones", GST_RANK_NONE,
    GST_TYPE_SAM_ZONES);

/* ---- Zones */

/* The zones of both properties, or of @instead and the file. Returns NULL, and
 * sets *why, if one is bad. */
static GstSamZoneList *
read_zones (GstSamZones * self, const gchar * instead, gchar ** why)
{
  GstSamZoneList *list = gst_sam_zone_list_new ();
  gchar *text, *file;

  gst_sam_object_lock (self);
  text = g_strdup (instead ? instead : self->zones);
  file = g_strdup (self->zones_file);
  gst_sam_object_unlock (self);
  *why = text ? gst_sam_zone_list_parse (list, text) : NULL;
  if (!*why && file && *file)
    *why = gst_sam_zone_list_read (list, file);
  g_free (file);
  g_free (text);
  if (!*why)
    return list;
  gst_sam_zone_list_free (list);
  return NULL;
}

/* Have the next frame look at the zones that are set now. Bad ones are told,
 * and those before stay. */
static void
change_zones (GstSamZones * self)
{
  GstSamZoneList *list, *unused;
  gchar *why, *text;

  list = read_zones (self, NULL, &why);
  if (!list) {
    text = g_strdup_printf ("%s The zones before stay.", why);
    gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_WARNING,
        GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        gst_sam_plain_text (text), NULL, __FILE__, GST_FUNCTION, __LINE__);
    g_free (text);
    g_free (why);
    return;
  }
  gst_sam_object_lock (self);
  unused = self->started ? self->waiting : list;
  if (self->started)
    self->waiting = list;
  gst_sam_object_unlock (self);
  gst_sam_zone_list_free (unused);
}

static gchar *
gst_sam_zones_check (GstSamZones * self, const gchar * text)
{
  GstSamZoneList *list;
  gchar *why = NULL, *said;

  list = read_zones (self, text ? text : "", &why);
  gst_sam_zone_list_free (list);
  said = why ? gst_sam_plain_text (why) : NULL;
  g_free (why);
  return said;
}

/* Those that the next frame is looked at with. */
static GstStructure *
get_list (GstSamZones * self)
{
  GstStructure *s = gst_structure_new_empty ("samzones-list");
  GValue array = G_VALUE_INIT;

  gst_sam_object_lock (self);
  gst_sam_zone_list_to_value (self->waiting ? self->waiting : self->watch ?
      gst_sam_zone_watch_get_zones (self->watch) : NULL, &array);
  gst_sam_object_unlock (self);
  gst_structure_take_value (s, "zones", &array);
  return s;
}

/* ---- Events */

/* A structure for the field, and a message with the times as well. */
static void
post_event (GstSamZones * self, const GstSamZoneEvent * event,
    GValue * array)
{
  GstStructure *field = gst_sam_zone_event_to_structure (event);
  GstStructure *s = gst_structure_copy (field);
  GValue value = G_VALUE_INIT;

  gst_structure_set (s, "running-time", G_TYPE_UINT64, self->running_time,
      "stream-time", G_TYPE_UINT64, self->stream_time,
      "age", G_TYPE_UINT, self->age, NULL);
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self), s));
  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, field);
  gst_value_array_append_and_take_value (array, &value);
}

/* @meta: (nullable): of the frame. Another samzones may have been there. */
static void
post_events (GstSamZones * self, GstMeta * meta)
{
  GstStructure *s = meta ? gst_custom_meta_get_structure ((GstCustomMeta *)
      meta) : NULL;
  const GValue *there = s ? gst_structure_get_value (s, "zone-events") : NULL;
  GValue array = G_VALUE_INIT;
  guint i;

  if (!self->events->len)
    return;
  g_value_init (&array, GST_TYPE_ARRAY);
  if (there && GST_VALUE_HOLDS_ARRAY (there))
    g_value_copy (there, &array);
  for (i = 0; i < self->events->len; i++)
    post_event (self, &g_array_index (self->events, GstSamZoneEvent, i),
        &array);
  if (s)
    gst_structure_take_value (s, "zone-events", &array);
  else
    g_value_unset (&array);
  gst_sam_object_lock (self);
  self->num_events += self->events->len;
  gst_sam_object_unlock (self);
  g_array_set_size (self->events, 0);
}

/* ---- Start and stop */

static gboolean
gst_sam_zones_stop (GstBaseTransform * base)
{
  GstSamZones *self = GST_SAM_ZONES (base);

  gst_sam_object_lock (self);
  self->started = FALSE;
  g_clear_pointer (&self->waiting, gst_sam_zone_list_free);
  g_clear_pointer (&self->watch, gst_sam_zone_watch_free);
  gst_sam_object_unlock (self);
  g_clear_pointer (&self->list, gst_sam_zone_list_free);
  if (self->map)
    gst_sam_zone_map_clear (self->map);
  g_clear_pointer (&self->map, g_free);
  g_clear_pointer (&self->report, g_free);
  g_clear_pointer (&self->events, g_array_unref);
  return TRUE;
}

static gboolean
gst_sam_zones_start (GstBaseTransform * base)
{
  GstSamZones *self = GST_SAM_ZONES (base);
  GstSamZoneWatch *watch;
  gchar *why;

  self->list = read_zones (self, NULL, &why);
  if (!self->list) {
    gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR,
        GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        gst_sam_plain_text (why), NULL, __FILE__, GST_FUNCTION, __LINE__);
    g_free (why);
    return FALSE;
  }
  self->events = g_array_new (FALSE, FALSE, sizeof (GstSamZoneEvent));
  self->map = g_try_new0 (GstSamZoneMap, 1);
  self->report = g_try_new0 (GstSamReport, 1);
  watch = gst_sam_zone_watch_new ();
  if (!watch || !self->map || !self->report) {
    gst_sam_zone_watch_free (watch);
    gst_sam_zones_stop (base);
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT,
        ("There is no memory for the zones."), (NULL));
    return FALSE;
  }
  gst_sam_zone_watch_set_zones (watch, self->list, self->events);
  self->drawn = FALSE;
  self->width = self->height = 0;
  self->running_time = self->stream_time = GST_CLOCK_TIME_NONE;
  self->age = 0;
  gst_sam_object_lock (self);
  self->watch = watch;
  self->num_frames = self->num_events = 0;
  self->started = TRUE;
  gst_sam_object_unlock (self);
  return TRUE;
}

/* ---- Frames */

static gboolean
gst_sam_zones_set_caps (GstBaseTransform * base, GstCaps * in, GstCaps * out)
{
  GstSamZones *self = GST_SAM_ZONES (base);
  const GstStructure *s = gst_caps_get_structure (in, 0);

  self->drawn = FALSE;
  return gst_structure_get (s, "width", G_TYPE_INT, &self->width, "height",
      G_TYPE_INT, &self->height, NULL) && self->width > 0 && self->height > 0;
}

/* Use the zones that were set since the last frame. */
static void
take_zones (GstSamZones * self)
{
  GstSamZoneList *old = self->list;

  gst_sam_object_lock (self);
  if (self->waiting) {
    gst_sam_zone_watch_set_zones (self->watch, self->waiting, self->events);
    self->list = self->waiting;
    self->waiting = NULL;
  }
  gst_sam_object_unlock (self);
  if (self->list == old)
    return;
  self->drawn = FALSE;
  post_events (self, NULL);     /* they refer to the old list */
  gst_sam_zone_list_free (old);
}

/* What is outside of every frame is hardly meant. */
static void
warn_of_empty_zones (GstSamZones * self)
{
  gchar *name;
  guint i;

  for (i = 0; i < self->map->num; i++) {
    if (self->map->zone[i].bits || self->list->zone[i].is_line)
      continue;
    name = gst_sam_plain_text (self->list->zone[i].name);
    GST_ELEMENT_WARNING (self, RESOURCE, SETTINGS, ("The zone '%s' has no "
            "pixel of the frame, which has %d x %d.", name, self->width,
            self->height), (NULL));
    g_free (name);
  }
}

static gboolean
draw_zones (GstSamZones * self)
{
  const GstSamReport *report = self->report;
  const gboolean first = !self->drawn;

  if (self->drawn && self->map->width == report->mask_width &&
      self->map->height == report->mask_height)
    return TRUE;
  self->drawn = gst_sam_zone_map_draw (self->map, self->list,
      report->mask_width, report->mask_height, self->width, self->height);
  if (!self->drawn)
    GST_ELEMENT_ERROR (self, RESOURCE, NO_SPACE_LEFT, ("There is no memory for "
            "%u zones of %d x %d pixels.", self->list->num, report->mask_width,
            report->mask_height), (NULL));
  else if (first)
    warn_of_empty_zones (self);
  return self->drawn;
}

/* Count the pixels of the label map, if there is one. Returns FALSE if memory
 * runs out. */
static gboolean
count_pixels (GstSamZones * self, gboolean * counted)
{
  const GstSamReport *report = self->report;
  GstMapInfo info;

  *counted = FALSE;
  if (!report->mask || !self->list->num || report->mask_width > SAM_MAX_SIDE ||
      report->mask_height > SAM_MAX_SIDE ||
      gst_buffer_get_size (report->mask) < (gsize) report->mask_width *
      report->mask_height)
    return TRUE;
  if (!draw_zones (self))
    return FALSE;
  if (!gst_buffer_map (report->mask, &info, GST_MAP_READ)) {
    GST_WARNING_OBJECT (self, "the label map cannot be read");
    return TRUE;
  }
  gst_sam_zone_map_count (self->map, info.data);
  gst_buffer_unmap (report->mask, &info);
  *counted = TRUE;
  return TRUE;
}

/* Returns NULL if the frame has no meta of the tracker. */
static GstMeta *
read_meta (GstSamZones * self, GstBuffer * buf)
{
  const GType api = gst_meta_get_info (GST_SAM_META_NAME)->api;
  gpointer state = NULL;
  gboolean wanted;
  GstMeta *meta;

  while ((meta = gst_buffer_iterate_meta_filtered (buf, &state, api))) {
    const GstStructure *s = gst_custom_meta_get_structure ((GstCustomMeta *)
        meta);

    gst_sam_object_lock (self);
    wanted = !self->tracker || !*self->tracker || !g_strcmp0 (self->tracker,
        gst_structure_get_string (s, "source"));
    gst_sam_object_unlock (self);
    if (wanted && gst_sam_meta_read (self->report, meta))
      return meta;
  }
  return NULL;
}

static void
set_times (GstSamZones * self, GstBuffer * buf)
{
  const GstSegment *segment = &GST_BASE_TRANSFORM (self)->segment;

  self->running_time = self->stream_time = GST_CLOCK_TIME_NONE;
  if (segment->format != GST_FORMAT_TIME)
    return;
  self->running_time = gst_segment_to_running_time (segment, GST_FORMAT_TIME,
      GST_BUFFER_PTS (buf));
  self->stream_time = gst_segment_to_stream_time (segment, GST_FORMAT_TIME,
      GST_BUFFER_PTS (buf));
}

static GstFlowReturn
gst_sam_zones_transform_ip (GstBaseTransform * base, GstBuffer * buf)
{
  GstSamZones *self = GST_SAM_ZONES (base);
  gboolean counted;
  GstMeta *meta;

  set_times (self, buf);
  take_zones (self);
  meta = read_meta (self, buf);
  if (!meta)
    return GST_FLOW_OK;
  self->age = self->report->age;
  if (!count_pixels (self, &counted))
    return GST_FLOW_ERROR;
  gst_sam_object_lock (self);
  self->num_frames++;
  gst_sam_zone_watch_look (self->watch, self->report, counted ? self->map :
      NULL, &self->params, self->running_time, self->events);
  gst_sam_object_unlock (self);
  post_events (self, meta);
  return GST_FLOW_OK;
}

/* All that are inside leave; the message has the times of the last frame. */
static void
end (GstSamZones * self, GstSamZoneReason reason)
{
  if (!self->watch)
    return;
  gst_sam_object_lock (self);
  gst_sam_zone_watch_end (self->watch, reason, self->events);
  gst_sam_object_unlock (self);
  post_events (self, NULL);
}

static GstStructure *
get_stats (GstSamZones * self)
{
  GstStructure *s = gst_structure_new_empty ("samzones-stats");
  GValue array = G_VALUE_INIT;

  gst_sam_object_lock (self);
  gst_structure_set (s, "frames", G_TYPE_UINT64, self->num_frames,
      "events", G_TYPE_UINT64, self->num_events, NULL);
  if (self->watch)
    gst_sam_zone_watch_to_value (self->watch, &array);
  else
    g_value_init (&array, GST_TYPE_ARRAY);
  gst_sam_object_unlock (self);
  gst_structure_take_value (s, "zones", &array);
  return s;
}

static gboolean
gst_sam_zones_sink_event (GstBaseTransform * base, GstEvent * event)
{
  GstSamZones *self = GST_SAM_ZONES (base);

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_FLUSH_STOP:
      end (self, GST_SAM_ZONE_FLUSHED);
      break;
    case GST_EVENT_STREAM_START:
      end (self, GST_SAM_ZONE_ENDED);
      break;
    case GST_EVENT_EOS:
      end (self, GST_SAM_ZONE_ENDED);
      gst_element_post_message (GST_ELEMENT (self),
          gst_message_new_element (GST_OBJECT (self), get_stats (self)));
      break;
    default:
      break;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (base, event);
}

/* ---- The object */

static void
set_text (gchar ** text, const GValue * value)
{
  g_free (*text);
  *text = g_value_dup_string (value);
}

static void
gst_sam_zones_set_property (GObject * object, guint id, const GValue * value,
    GParamSpec * spec)
{
  GstSamZones *self = GST_SAM_ZONES (object);
  gboolean changed = FALSE;

  gst_sam_object_lock (self);
  switch (id) {
    case PROP_ZONES:
    case PROP_ZONES_FILE:
      set_text (id == PROP_ZONES ? &self->zones : &self->zones_file, value);
      changed = self->started;
      break;
    case PROP_TRACKER:
      set_text (&self->tracker, value);
      break;
    case PROP_THRESHOLD:
      self->params.threshold = g_value_get_double (value);
      break;
    case PROP_HYSTERESIS:
      self->params.hysteresis = g_value_get_double (value);
      break;
    case PROP_DWELL:
      self->params.dwell = g_value_get_double (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, spec);
      break;
  }
  gst_sam_object_unlock (self);
  if (changed)
    change_zones (self);
}

static void
gst_sam_zones_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * spec)
{
  GstSamZones *self = GST_SAM_ZONES (object);

  if (id == PROP_STATS || id == PROP_LIST) {
    g_value_take_boxed (value, (id == PROP_STATS ? get_stats : get_list)
        (self));
    return;
  }
  gst_sam_object_lock (self);
  switch (id) {
    case PROP_ZONES:
      g_value_set_string (value, self->zones);
      break;
    case PROP_ZONES_FILE:
      g_value_set_string (value, self->zones_file);
      break;
    case PROP_TRACKER:
      g_value_set_string (value, self->tracker);
      break;
    case PROP_THRESHOLD:
      g_value_set_double (value, self->params.threshold);
      break;
    case PROP_HYSTERESIS:
      g_value_set_double (value, self->params.hysteresis);
      break;
    case PROP_DWELL:
      g_value_set_double (value, self->params.dwell);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
      break;
  }
  gst_sam_object_unlock (self);
}

static void
gst_sam_zones_finalize (GObject * object)
{
  GstSamZones *self = GST_SAM_ZONES (object);

  g_free (self->zones);
  g_free (self->zones_file);
  g_free (self->tracker);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
install_zones (GObjectClass * klass)
{
  /**
   * GstSamZones:zones:
   *
   * Polygons and lines: docs/GSTREAMER.md has the form. May change while the
   * stream runs; objects stay inside zones that keep their name.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_ZONES,
      g_param_spec_string ("zones", "Zones",
          "Polygons and lines: zone,name=,points=X:Y X:Y X:Y...; "
          "line,name=,points=X:Y X:Y; ...", NULL, SETTABLE));
  /**
   * GstSamZones:zones-file:
   *
   * JSON file with more zones. It is read at the start, and when it is set.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_ZONES_FILE,
      g_param_spec_string ("zones-file", "Zones file",
          "JSON file with more zones, read when it is set", NULL, SETTABLE));
  /**
   * GstSamZones:tracker:
   *
   * Name of the #samtrack whose objects count. If it is not set, those of the
   * first one in the pipeline do.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_TRACKER,
      g_param_spec_string ("tracker", "Tracker",
          "Name of the samtrack whose objects count (NULL = the first)", NULL,
          SETTABLE));
}

static void
install_decisions (GObjectClass * klass)
{
  /**
   * GstSamZones:threshold:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_THRESHOLD,
      g_param_spec_double ("threshold", "Threshold",
          "Share of the mask inside a zone from which the object is in it",
          0.001, 1, DEFAULT_THRESHOLD, SETTABLE));
  /**
   * GstSamZones:hysteresis:
   *
   * An object leaves a zone when less than #GstSamZones:threshold minus this
   * of its mask is inside, and has crossed a line when half of the mask and
   * half of this are behind it.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_HYSTERESIS,
      g_param_spec_double ("hysteresis", "Hysteresis",
          "Share of the mask by which the threshold to leave is lower", 0, 1,
          DEFAULT_HYSTERESIS, SETTABLE));
  /**
   * GstSamZones:dwell:
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_DWELL,
      g_param_spec_double ("dwell", "Dwell",
          "Seconds inside a zone after which an object's stay is told "
          "(0 = it is not)", 0, MAX_DWELL, 0, SETTABLE));
  /**
   * GstSamZones:stats:
   *
   * A structure `samzones-stats`: docs/GSTREAMER.md lists the fields.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Numbers of objects in each zone, and of events by class",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
install_list (GObjectClass * klass)
{
  /**
   * GstSamZones:list:
   *
   * A structure `samzones-list`: docs/GSTREAMER.md lists the fields.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_LIST,
      g_param_spec_boxed ("list", "List", "The zones and lines of both "
          "properties, with their points", GST_TYPE_STRUCTURE,
          G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
  /**
   * GstSamZones::check:
   * @zones: (element)
   * @text: zones, as of the property
   *
   * Tells what would become of other zones, and changes nothing.
   *
   * Returns: (nullable): %NULL if #GstSamZones:zones may have that text beside
   * #GstSamZones:zones-file, else a sentence that tells why not.
   *
   * Since: 0.1
   */
  signals[SIGNAL_CHECK] = g_signal_new_class_handler ("check",
      G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION,
      G_CALLBACK (gst_sam_zones_check), NULL, NULL, NULL, G_TYPE_STRING, 1,
      G_TYPE_STRING);
}

static void
gst_sam_zones_class_init (GstSamZonesClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *base_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_sam_zones_debug, "samzones", 0,
      "zones of object masks");

  gobject_class->set_property = gst_sam_zones_set_property;
  gobject_class->get_property = gst_sam_zones_get_property;
  gobject_class->finalize = gst_sam_zones_finalize;
  install_zones (gobject_class);
  install_decisions (gobject_class);
  install_list (gobject_class);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Object mask zones",
      "Filter/Analyzer/Video",
      "Tells which masks enter and leave zones and cross lines",
      "The samtrack authors");

  base_class->start = GST_DEBUG_FUNCPTR (gst_sam_zones_start);
  base_class->stop = GST_DEBUG_FUNCPTR (gst_sam_zones_stop);
  base_class->set_caps = GST_DEBUG_FUNCPTR (gst_sam_zones_set_caps);
  base_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_sam_allocation_propose);
  base_class->sink_event = GST_DEBUG_FUNCPTR (gst_sam_zones_sink_event);
  base_class->transform_ip = GST_DEBUG_FUNCPTR (gst_sam_zones_transform_ip);
}

static void
gst_sam_zones_init (GstSamZones * self)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);

  /* The meta of a frame may get a field. */
  gst_base_transform_set_in_place (base, TRUE);
  gst_base_transform_set_passthrough (base, FALSE);
  gst_sam_flush_install (base);
  self->params.threshold = DEFAULT_THRESHOLD;
  self->params.hysteresis = DEFAULT_HYSTERESIS;
}

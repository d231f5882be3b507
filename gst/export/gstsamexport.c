/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samexport
 * @title: samexport
 * @see_also: samtrack
 *
 * Writes what #samtrack found, from the GstSamTrackMeta of each frame: JSON
 * lines, a COCO file, PNGs as in the DAVIS data set, or text of the
 * MOT challenge; to a file, to standard output, or to an MQTT broker. Frames
 * pass unchanged and are not mapped.
 *
 * A thread of its own writes. A full disk, a slow reader or a lost broker does
 * not stop the stream: what cannot be written is counted in #GstSamExport:stats
 * and told by a warning message per outage.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! videoconvert ! \
 *   samtrack initial-prompt="box,x=100,y=80,w=120,h=220" ! \
 *   samexport location=masks.jsonl ! fakesink
 * ]| Write a line of JSON per frame.
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! \
 *   samtrack initial-prompt="point,x=0.5,y=0.5,normalized=true" ! \
 *   samexport mqtt-uri=mqtt://broker.local/cameras/door ! fakesink
 * ]| Publish the lines at an MQTT broker.
 *
 * Since: 0.1
 */

#include "gstsamexport.h"

#include "common/gstsamallocation.h"
#include "common/gstsamcaps.h"
#include "common/gstsamenums.h"
#include "common/gstsamflush.h"
#include "common/gstsamfrozen.h"
#include "common/gstsamlive.h"
#include "common/gstsammutex.h"
#include "common/gstsamtext.h"
#include "gstsamkafka.h"
#include "gstsammqtt.h"
#include "record/gstsamwriter.h"

#include <string.h>

GST_DEBUG_CATEGORY_STATIC (gst_sam_export_debug);
#define GST_CAT_DEFAULT gst_sam_export_debug

/**
 * GstSamExportFormat:
 * @GST_SAM_EXPORT_FORMAT_JSON_LINES: one JSON object per frame and line
 * @GST_SAM_EXPORT_FORMAT_COCO: a COCO file, an annotation per object and frame
 * @GST_SAM_EXPORT_FORMAT_DAVIS: a PNG with a palette per frame
 * @GST_SAM_EXPORT_FORMAT_MOT: text of the MOT challenge
 * @GST_SAM_EXPORT_FORMAT_YOLO: labels of YOLO's segmentation
 * @GST_SAM_EXPORT_FORMAT_COCO_VIDEO: a COCO file of videos, as YouTube-VIS has
 * it
 *
 * Form in which frames are written.
 */
typedef enum
{
  GST_SAM_EXPORT_FORMAT_JSON_LINES,
  GST_SAM_EXPORT_FORMAT_COCO,
  GST_SAM_EXPORT_FORMAT_DAVIS,
  GST_SAM_EXPORT_FORMAT_MOT,
  GST_SAM_EXPORT_FORMAT_YOLO,
  GST_SAM_EXPORT_FORMAT_COCO_VIDEO,
} GstSamExportFormat;

/**
 * GstSamExportOverload:
 * @GST_SAM_EXPORT_OVERLOAD_AUTO: drop in a live pipeline, else block
 * @GST_SAM_EXPORT_OVERLOAD_BLOCK: a frame waits for room in the queue while
 * data moves, at most a second after it has stopped
 * @GST_SAM_EXPORT_OVERLOAD_DROP: a frame passes at once and is not written
 *
 * Handling of frames that come faster than they can be written.
 */
typedef enum
{
  GST_SAM_EXPORT_OVERLOAD_AUTO,
  GST_SAM_EXPORT_OVERLOAD_BLOCK,
  GST_SAM_EXPORT_OVERLOAD_DROP,
} GstSamExportOverload;

enum
{
  PROP_0,
  PROP_FORMAT,
  PROP_LOCATION,
  PROP_MASK_SIZE,
  PROP_TRACKER,
  PROP_RUN,
  PROP_VOLATILE,
  PROP_ATOMIC,
  PROP_QUEUE_SIZE,
  PROP_OVERLOAD_POLICY,
  PROP_STRICT,
  PROP_MQTT_URI,
  PROP_MQTT_TOPIC,
  PROP_MQTT_USER,
  PROP_MQTT_PASSWORD,
  PROP_MQTT_QOS,
  PROP_MQTT_BUFFER_SIZE,
  PROP_KAFKA_URI,
  PROP_KAFKA_KEY,
  PROP_STATS,
};

#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_READY)

#define DEFAULT_QUEUE_SIZE 64
#define DEFAULT_MQTT_BUFFER (16 << 20)

struct _GstSamExport
{
  GstBaseTransform parent;

  /* properties, guarded by the object lock */
  gboolean frozen;              /* they are read-only */
  gint format;
  gint mask_size;
  gint policy;
  gchar *location;
  gchar *tracker;
  gchar *run;                   /* NULL: one of our own */
  gboolean volatile_fields, atomic;
  gchar *mqtt_uri, *mqtt_topic, *mqtt_user, *mqtt_password;
  gint mqtt_qos;
  guint64 mqtt_buffer;          /* bytes */
  gchar *kafka_uri, *kafka_key;
  guint queue_size;

  GstSamTally tally;
  GstSamWriter writer;

  /* streaming thread only */
  GstVideoInfo info;
  guint64 frame;                /* index of the next one */
  guint stream;                 /* index of this one */
  guint64 stream_start;         /* index of its first frame */
  gboolean asked, live;
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink",
    GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src",
    GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));

#define gst_sam_export_parent_class parent_class
G_DEFINE_TYPE (GstSamExport, gst_sam_export, GST_TYPE_BASE_TRANSFORM);
GST_ELEMENT_REGISTER_DEFINE (samexport, "samexport", GST_RANK_NONE,
    GST_TYPE_SAM_EXPORT);

/* ---- Start and stop */

/* While frozen, from start to stop, properties keep their values and may be
 * read without the lock. */
static void
set_frozen (GstSamExport * self, gboolean frozen)
{
  gst_sam_object_lock (self);
  self->frozen = frozen;
  gst_sam_object_unlock (self);
}

static gboolean
is_set (const gchar * text)
{
  return text && *text;
}

static gboolean
refuse (GError ** error, const gchar * text)
{
  g_set_error_literal (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      text);
  return FALSE;
}

/* Whether the properties go together. */
static gboolean
check_settings (GstSamExport * self, GError ** error)
{
  const gboolean folder = self->format == GST_SAM_EXPORT_FORMAT_DAVIS ||
      self->format == GST_SAM_EXPORT_FORMAT_YOLO;
  const gboolean coco = self->format == GST_SAM_EXPORT_FORMAT_COCO ||
      self->format == GST_SAM_EXPORT_FORMAT_COCO_VIDEO;
  const gboolean broker = is_set (self->mqtt_uri) || is_set (self->kafka_uri);

  if (!is_set (self->location) && !broker)
    return refuse (error, "None of the properties 'location', 'mqtt-uri' and "
        "'kafka-uri' is set, expected one of them.");
  if (!!is_set (self->location) + !!is_set (self->mqtt_uri) +
      !!is_set (self->kafka_uri) > 1)
    return refuse (error, "Both of the properties 'location' and 'mqtt-uri' "
        "are set, or of these and 'kafka-uri', expected one of them.");
  if (broker && self->format != GST_SAM_EXPORT_FORMAT_JSON_LINES)
    return refuse (error, "The property 'mqtt-uri' or 'kafka-uri' is set, "
        "which expects the format 'json-lines'.");
  if (self->atomic && (broker || folder))
    return refuse (error, "The property 'atomic' is set, which expects a file, "
        "not the formats 'davis' and 'yolo' or a broker.");
  if (folder && !strcmp (self->location, "-"))
    return refuse (error, "The property 'location' is '-', but the formats "
        "'davis' and 'yolo' expect a folder.");
  if (self->mask_size == GST_SAM_EXPORT_MASK_SIZE_NONE && (folder || coco))
    return refuse (error, "The property 'mask-size' is 'none', but the formats "
        "'coco', 'coco-video', 'davis' and 'yolo' consist of masks.");
  return TRUE;
}

/* @run: key of the messages, where there is no other one. */
static GstSamOutput *
open_kafka (GstSamExport * self, const gchar * run, GError ** error)
{
  const GstSamKafkaParams params = { self->kafka_uri,
    is_set (self->kafka_key) ? self->kafka_key : run, self->mqtt_buffer,
    gst_sam_writer_wake, &self->writer
  };

  return gst_sam_output_new_kafka (&params, &self->tally, error);
}

static GstSamOutput *
open_output (GstSamExport * self, const gchar * run, GError ** error)
{
  GstSamMqttParams params;

  if (is_set (self->location))
    return self->atomic ? gst_sam_output_new_atomic (self->location,
        &self->tally, error) : gst_sam_output_new_file (self->location,
        &self->tally, error);
  if (is_set (self->kafka_uri))
    return open_kafka (self, run, error);
  params.uri = self->mqtt_uri;
  params.topic = self->mqtt_topic;
  params.user = self->mqtt_user;
  params.password = self->mqtt_password;
  params.qos = self->mqtt_qos;
  params.buffer = self->mqtt_buffer;
  params.wake = gst_sam_writer_wake;
  params.data = &self->writer;
  return gst_sam_output_new_mqtt (&params, &self->tally, error);
}

static GstSamFormat *
open_format (GstSamExport * self, GError ** error)
{
  const gboolean video = self->format == GST_SAM_EXPORT_FORMAT_COCO_VIDEO;
  GstSamFormat *format;
  GstSamOutput *output;
  gchar *run;

  if (video || self->format == GST_SAM_EXPORT_FORMAT_COCO)
    return gst_sam_format_new_coco (self->location, video, self->mask_size,
        &self->tally, error);
  if (self->format == GST_SAM_EXPORT_FORMAT_DAVIS)
    return gst_sam_format_new_davis (self->location, self->mask_size,
        &self->tally, error);
  if (self->format == GST_SAM_EXPORT_FORMAT_YOLO)
    return gst_sam_format_new_yolo (self->location, self->mask_size,
        &self->tally, error);
  run = self->run ? g_strdup (self->run) : g_strdup_printf ("%08x%08x",
      g_random_int (), g_random_int ());
  output = open_output (self, run, error);
  if (!output)
    format = NULL;
  else if (self->format == GST_SAM_EXPORT_FORMAT_MOT)
    format = gst_sam_format_new_mot (output, self->location, self->atomic,
        &self->tally);
  else
    format = gst_sam_format_new_json (output, self->mask_size, run,
        !self->volatile_fields);
  g_free (run);
  return format;
}

static gboolean
gst_sam_export_start (GstBaseTransform * base)
{
  GstSamExport *self = GST_SAM_EXPORT (base);
  GstSamFormat *format = NULL;
  GError *error = NULL;

  set_frozen (self, TRUE);
  gst_video_info_init (&self->info);
  self->frame = self->stream_start = 0;
  self->stream = 0;
  self->asked = FALSE;
  gst_sam_tally_start (&self->tally);
  if (check_settings (self, &error))
    format = open_format (self, &error);
  if (format && gst_sam_writer_start (&self->writer, format,
          is_set (self->location) ? self->location : is_set (self->kafka_uri) ?
          self->kafka_uri : self->mqtt_uri,
          self->queue_size, &error))
    return TRUE;
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR,
      error->domain, error->code, gst_sam_plain_text (error->message), NULL,
      __FILE__, GST_FUNCTION, __LINE__);
  g_error_free (error);
  set_frozen (self, FALSE);
  return FALSE;
}

static gboolean
gst_sam_export_stop (GstBaseTransform * base)
{
  GstSamExport *self = GST_SAM_EXPORT (base);

  gst_sam_writer_stop (&self->writer);
  set_frozen (self, FALSE);
  return TRUE;
}

/* ---- Frames */

static gboolean
gst_sam_export_set_caps (GstBaseTransform * base, GstCaps * in, GstCaps * out)
{
  GstSamExport *self = GST_SAM_EXPORT (base);

  /* Only the size is used, and only of frames without a meta. */
  if (!gst_sam_caps_parse (&self->info, in))
    gst_video_info_init (&self->info);
  return TRUE;
}

/* Whether frames wait for room in the queue. */
static gboolean
may_wait (GstSamExport * self)
{
  if (self->policy != GST_SAM_EXPORT_OVERLOAD_AUTO)
    return self->policy == GST_SAM_EXPORT_OVERLOAD_BLOCK;
  if (!self->asked) {
    self->live = gst_sam_live_query (GST_BASE_TRANSFORM_SINK_PAD (self));
    self->asked = TRUE;
  }
  return !self->live;
}

static GstFlowReturn
gst_sam_export_transform_ip (GstBaseTransform * base, GstBuffer * buf)
{
  GstSamExport *self = GST_SAM_EXPORT (base);
  const guint64 frame = self->frame++;
  GstSamRecord *record;

  if (gst_sam_tally_has_failed (&self->tally))
    return GST_FLOW_ERROR;
  gst_sam_tally_add_frame (&self->tally, base->segment.format ==
      GST_FORMAT_TIME ? gst_segment_to_stream_time (&base->segment,
          GST_FORMAT_TIME, GST_BUFFER_PTS (buf)) : GST_CLOCK_TIME_NONE);
  record = gst_sam_writer_begin (&self->writer, may_wait (self));
  if (!record)
    return GST_FLOW_OK;
  record->frame = frame;
  record->stream = self->stream;
  record->width = GST_VIDEO_INFO_WIDTH (&self->info);
  record->height = GST_VIDEO_INFO_HEIGHT (&self->info);
  gst_sam_record_set_times (record, buf, &base->segment);
  gst_sam_record_set_metas (record, buf, self->tracker);
  gst_sam_writer_commit (&self->writer);
  return GST_FLOW_OK;
}

/* What gst-launch-1.0 -m shows at the end, and an application may log. */
static void
post_stats (GstSamExport * self)
{
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_sam_tally_to_structure (&self->tally, "samexport-stats")));
}

static void
begin_stream (GstSamExport * self)
{
  if (self->frame == self->stream_start)
    return;
  self->stream++;
  self->stream_start = self->frame;
  self->asked = FALSE;
}

static void
gst_sam_export_reopen (GstSamExport * self)
{
  gst_sam_writer_reopen (&self->writer);
}

static gboolean
gst_sam_export_sink_event (GstBaseTransform * base, GstEvent * event)
{
  GstSamExport *self = GST_SAM_EXPORT (base);

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_STREAM_START:
      begin_stream (self);
      break;
    case GST_EVENT_FLUSH_START:
      gst_sam_writer_set_flushing (&self->writer, TRUE);
      break;
    case GST_EVENT_FLUSH_STOP:
      gst_sam_writer_set_flushing (&self->writer, FALSE);
      begin_stream (self);
      break;
    case GST_EVENT_CUSTOM_DOWNSTREAM:
    case GST_EVENT_CUSTOM_DOWNSTREAM_OOB:
      if (gst_event_has_name (event, "samexport-reopen"))
        gst_sam_export_reopen (self);
      break;
    case GST_EVENT_EOS:
      gst_sam_writer_drain (&self->writer);
      gst_sam_tally_end (&self->tally);
      post_stats (self);
      break;
    default:
      break;
  }
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (base, event);
}

static GstStateChangeReturn
gst_sam_export_change_state (GstElement * element, GstStateChange transition)
{
  GstSamExport *self = GST_SAM_EXPORT (element);

  /* Before the pads are deactivated, which waits for the streaming thread. */
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    gst_sam_writer_set_flushing (&self->writer, TRUE);
  return GST_ELEMENT_CLASS (parent_class)->change_state (element, transition);
}

/* ---- Properties */

static GType
format_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_EXPORT_FORMAT_JSON_LINES, "A JSON object per frame and line",
        "json-lines"},
    {GST_SAM_EXPORT_FORMAT_COCO,
        "A COCO file: an annotation per object and frame, with track_id",
        "coco"},
    {GST_SAM_EXPORT_FORMAT_COCO_VIDEO,
        "A COCO file of videos, as YouTube-VIS has it", "coco-video"},
    {GST_SAM_EXPORT_FORMAT_DAVIS,
        "A new folder of PNGs with a palette, as DAVIS has it", "davis"},
    {GST_SAM_EXPORT_FORMAT_MOT, "Text of the MOT challenge", "mot"},
    {GST_SAM_EXPORT_FORMAT_YOLO, "Labels of YOLO's segmentation", "yolo"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamExportFormat", values);
}

static GType
mask_size_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_EXPORT_MASK_SIZE_NONE, "No masks", "none"},
    {GST_SAM_EXPORT_MASK_SIZE_OWN, "The size of the label map in the meta",
        "own"},
    {GST_SAM_EXPORT_MASK_SIZE_FRAME, "The size of the frame", "frame"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamExportMaskSize", values);
}

static GType
overload_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_EXPORT_OVERLOAD_AUTO, "Drop in a live pipeline, else block",
        "auto"},
    {GST_SAM_EXPORT_OVERLOAD_BLOCK,
        "Wait for room in the queue, at most a second after data has stopped",
        "block"},
    {GST_SAM_EXPORT_OVERLOAD_DROP, "Pass the frame without writing it", "drop"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamExportOverload", values);
}

static gchar **
get_text (GstSamExport * self, guint id)
{
  switch (id) {
    case PROP_LOCATION:
      return &self->location;
    case PROP_TRACKER:
      return &self->tracker;
    case PROP_RUN:
      return &self->run;
    case PROP_MQTT_URI:
      return &self->mqtt_uri;
    case PROP_MQTT_TOPIC:
      return &self->mqtt_topic;
    case PROP_MQTT_USER:
      return &self->mqtt_user;
    case PROP_MQTT_PASSWORD:
      return &self->mqtt_password;
    case PROP_KAFKA_URI:
      return &self->kafka_uri;
    case PROP_KAFKA_KEY:
      return &self->kafka_key;
    default:
      return NULL;
  }
}

/* Called with the object lock held. */
static void
set_locked (GstSamExport * self, guint id, const GValue * value,
    GParamSpec * pspec)
{
  gchar **text = get_text (self, id);

  if (text) {
    g_free (*text);
    *text = g_value_dup_string (value);
    return;
  }
  switch (id) {
    case PROP_FORMAT:
      self->format = g_value_get_enum (value);
      break;
    case PROP_MASK_SIZE:
      self->mask_size = g_value_get_enum (value);
      break;
    case PROP_VOLATILE:
      self->volatile_fields = g_value_get_boolean (value);
      break;
    case PROP_ATOMIC:
      self->atomic = g_value_get_boolean (value);
      break;
    case PROP_QUEUE_SIZE:
      self->queue_size = g_value_get_uint (value);
      break;
    case PROP_OVERLOAD_POLICY:
      self->policy = g_value_get_enum (value);
      break;
    case PROP_STRICT:
      self->tally.strict = g_value_get_boolean (value);
      break;
    case PROP_MQTT_QOS:
      self->mqtt_qos = g_value_get_int (value);
      break;
    case PROP_MQTT_BUFFER_SIZE:
      self->mqtt_buffer = g_value_get_uint64 (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (self, id, pspec);
      break;
  }
}

static void
gst_sam_export_set_property (GObject * object, guint id, const GValue * value,
    GParamSpec * pspec)
{
  GstSamExport *self = GST_SAM_EXPORT (object);
  gboolean refused;

  gst_sam_object_lock (self);
  refused = self->frozen;
  if (!refused)
    set_locked (self, id, value, pspec);
  gst_sam_object_unlock (self);
  if (refused)
    gst_sam_frozen_refuse (GST_ELEMENT (self), pspec, value,
        "samexport-refusal", id == PROP_MQTT_PASSWORD || id == PROP_MQTT_URI);
}

static GstStructure *
get_stats (GstSamExport * self)
{
  GstStructure *s = gst_sam_tally_to_structure (&self->tally,
      "application/x-samexport-stats");

  gst_structure_set (s, "frames-queued", G_TYPE_UINT,
      gst_sam_writer_get_queued (&self->writer), NULL);
  return s;
}

static void
gst_sam_export_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * pspec)
{
  GstSamExport *self = GST_SAM_EXPORT (object);
  gchar **text = get_text (self, id);

  if (id == PROP_STATS) {
    g_value_take_boxed (value, get_stats (self));
    return;
  }
  gst_sam_object_lock (self);
  switch (id) {
    case PROP_FORMAT:
      g_value_set_enum (value, self->format);
      break;
    case PROP_MASK_SIZE:
      g_value_set_enum (value, self->mask_size);
      break;
    case PROP_VOLATILE:
      g_value_set_boolean (value, self->volatile_fields);
      break;
    case PROP_ATOMIC:
      g_value_set_boolean (value, self->atomic);
      break;
    case PROP_QUEUE_SIZE:
      g_value_set_uint (value, self->queue_size);
      break;
    case PROP_OVERLOAD_POLICY:
      g_value_set_enum (value, self->policy);
      break;
    case PROP_STRICT:
      g_value_set_boolean (value, self->tally.strict);
      break;
    case PROP_MQTT_QOS:
      g_value_set_int (value, self->mqtt_qos);
      break;
    case PROP_MQTT_BUFFER_SIZE:
      g_value_set_uint64 (value, self->mqtt_buffer);
      break;
    default:
      if (text)
        g_value_set_string (value, *text);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, pspec);
      break;
  }
  gst_sam_object_unlock (self);
}

static void
install_what (GObjectClass * klass)
{
  /**
   * GstSamExport:format:
   *
   * Form in which frames are written.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_FORMAT,
      g_param_spec_enum ("format", "Format",
          "Form in which frames are written", format_get_type (),
          GST_SAM_EXPORT_FORMAT_JSON_LINES, SETTABLE));
  /**
   * GstSamExport:mask-size:
   *
   * Size of the masks. Label maps of another size than the frame's are
   * stretched over it as #samoverlay draws them.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MASK_SIZE,
      g_param_spec_enum ("mask-size", "Mask size",
          "Size of the masks that are written", mask_size_get_type (),
          GST_SAM_EXPORT_MASK_SIZE_FRAME, SETTABLE));
  /**
   * GstSamExport:tracker:
   *
   * Name of the #samtrack whose results are written. If it is not set, those of
   * the first one in the pipeline are.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_TRACKER,
      g_param_spec_string ("tracker", "Tracker",
          "Name of the samtrack whose results are written (NULL = the first)",
          NULL, SETTABLE));
}

/* What makes files of the same frames the same. */
static void
install_steady (GObjectClass * klass)
{
  /**
   * GstSamExport:run:
   *
   * Text of the field `run` of all lines. %NULL: one that differs each time the
   * element starts.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_RUN,
      g_param_spec_string ("run", "Run",
          "Text of the field run of all lines (NULL = another one at each "
          "start)", NULL, SETTABLE));
  /**
   * GstSamExport:volatile:
   *
   * Whether lines have the fields that differ each time the same frames are
   * tracked: `inference_time`.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_VOLATILE,
      g_param_spec_boolean ("volatile", "Volatile fields",
          "Whether lines have the time that tracking took, which differs each "
          "time", TRUE, SETTABLE));
  /**
   * GstSamExport:atomic:
   *
   * Whether a file of lines is written beside its name, and renamed at the end
   * of the stream: a stream that does not come to its end leaves none. COCO
   * files are always written so.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_ATOMIC,
      g_param_spec_boolean ("atomic", "Atomic",
          "Whether a file of lines has its name only when the stream has ended",
          FALSE, SETTABLE));
}

static void
install_queue (GObjectClass * klass)
{
  /**
   * GstSamExport:location:
   *
   * File to write, or `-` for standard output; for `davis` and `yolo` a folder,
   * which is created if its parent exists. A file that exists is replaced; a
   * folder with PNGs or labels in it is refused, as two runs would mix.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_LOCATION,
      g_param_spec_string ("location", "Location",
          "File to write, or - for standard output; for davis and yolo a "
          "folder without PNGs or labels", NULL,
          SETTABLE));
  /**
   * GstSamExport:queue-size:
   *
   * Number of frames that may wait to be written. Each holds its label map.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_QUEUE_SIZE,
      g_param_spec_uint ("queue-size", "Queue size",
          "Number of frames that may wait to be written", 1, 4096,
          DEFAULT_QUEUE_SIZE, SETTABLE));
  /**
   * GstSamExport:overload-policy:
   *
   * Handling of frames that come faster than they can be written.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_OVERLOAD_POLICY,
      g_param_spec_enum ("overload-policy", "Overload policy",
          "Handling of frames that come faster than they can be written",
          overload_get_type (), GST_SAM_EXPORT_OVERLOAD_AUTO, SETTABLE));
  /**
   * GstSamExport:strict:
   *
   * Whether the stream ends with an error at the first frame that cannot be
   * written. By default a warning tells that an outage begins, and the stream
   * goes on.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STRICT,
      g_param_spec_boolean ("strict", "Strict",
          "Whether a frame that cannot be written is an error", FALSE,
          SETTABLE));
  /**
   * GstSamExport:stats:
   *
   * What was written and lost: docs/GSTREAMER.md lists the fields.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_STATS,
      g_param_spec_boxed ("stats", "Statistics",
          "Numbers of frames written and lost, bytes, reconnects",
          GST_TYPE_STRUCTURE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS));
}

static void
install_broker (GObjectClass * klass)
{
  /**
   * GstSamExport:mqtt-uri:
   *
   * MQTT broker to publish lines at, and optionally the topic:
   * `mqtt://host[:port][/topic]`.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MQTT_URI,
      g_param_spec_string ("mqtt-uri", "MQTT URI",
          "Broker to publish lines at: mqtt://host[:port][/topic]", NULL,
          SETTABLE));
  /**
   * GstSamExport:mqtt-topic:
   *
   * Topic to publish lines under; replaces that of #GstSamExport:mqtt-uri.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MQTT_TOPIC,
      g_param_spec_string ("mqtt-topic", "MQTT topic",
          "Topic to publish lines under; replaces that of mqtt-uri", NULL,
          SETTABLE));
  /**
   * GstSamExport:mqtt-qos:
   *
   * Quality of service: 0, lines may be lost without notice; 1, the broker
   * acknowledges each line.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MQTT_QOS,
      g_param_spec_int ("mqtt-qos", "MQTT quality of service",
          "Quality of service (0 = at most once, 1 = at least once)", 0, 1, 1,
          SETTABLE));
  /**
   * GstSamExport:mqtt-buffer-size:
   *
   * Bytes of the lines that may wait for the broker's acknowledgement, and for
   * the broker while it cannot be reached.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MQTT_BUFFER_SIZE,
      g_param_spec_uint64 ("mqtt-buffer-size", "MQTT buffer size",
          "Bytes of the lines that may wait for the broker", 1,
          G_GUINT64_CONSTANT (1) << 40, DEFAULT_MQTT_BUFFER, SETTABLE));
}

static void
install_login (GObjectClass * klass)
{
  /**
   * GstSamExport:mqtt-user:
   *
   * User name for the broker.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MQTT_USER,
      g_param_spec_string ("mqtt-user", "MQTT user",
          "User name for the broker", NULL, SETTABLE));
  /**
   * GstSamExport:mqtt-password:
   *
   * Password for the broker; sent without encryption.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_MQTT_PASSWORD,
      g_param_spec_string ("mqtt-password", "MQTT password",
          "Password for the broker; sent without encryption", NULL, SETTABLE));
}

static void
install_kafka (GObjectClass * klass)
{
  /**
   * GstSamExport:kafka-uri:
   *
   * Brokers to publish lines at, instead of #GstSamExport:location.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_KAFKA_URI,
      g_param_spec_string ("kafka-uri", "Kafka URI", "Brokers to publish lines "
          "at: kafka://host[:port][,host[:port]...]/topic", NULL, SETTABLE));
  /**
   * GstSamExport:kafka-key:
   *
   * Key of the messages; unset, the lines' `run`.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_KAFKA_KEY,
      g_param_spec_string ("kafka-key", "Kafka key",
          "Key of the messages; unset, that of the run", NULL, SETTABLE));
}

static void
install_properties (GObjectClass * gobject_class)
{
  gobject_class->set_property = gst_sam_export_set_property;
  gobject_class->get_property = gst_sam_export_get_property;
  install_what (gobject_class);
  install_steady (gobject_class);
  install_queue (gobject_class);
  install_broker (gobject_class);
  install_login (gobject_class);
  install_kafka (gobject_class);
}

static void
init_properties (GstSamExport * self)
{
  self->mask_size = GST_SAM_EXPORT_MASK_SIZE_FRAME;
  self->volatile_fields = TRUE;
  self->queue_size = DEFAULT_QUEUE_SIZE;
  self->mqtt_qos = 1;
  self->mqtt_buffer = DEFAULT_MQTT_BUFFER;
}

static void
clear_properties (GstSamExport * self)
{
  guint id;

  for (id = PROP_0; id <= PROP_STATS; id++) {
    if (get_text (self, id))
      g_free (*get_text (self, id));
  }
}

/* ---- The object */

static void
gst_sam_export_finalize (GObject * object)
{
  GstSamExport *self = GST_SAM_EXPORT (object);

  gst_sam_writer_clear (&self->writer);
  gst_sam_tally_clear (&self->tally);
  clear_properties (self);
  G_OBJECT_CLASS (parent_class)->finalize (object);
}

static void
gst_sam_export_class_init (GstSamExportClass * klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *base_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_sam_export_debug, "samexport", 0,
      "export of object masks");

  G_OBJECT_CLASS (klass)->finalize = gst_sam_export_finalize;
  install_properties (G_OBJECT_CLASS (klass));
  element_class->change_state = GST_DEBUG_FUNCPTR (gst_sam_export_change_state);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Object mask export",
      "Filter/Analyzer/Video",
      "Writes the masks, boxes, ids and scores that samtrack attached",
      "The samtrack authors");

  /**
   * GstSamExport::reopen:
   * @samexport: the element
   *
   * Open the file that #GstSamExport:location names again, at its end, or
   * create it: what is written from now on goes there. For programs that rotate
   * files, after they have moved one. The downstream event `samexport-reopen`
   * does the same. The element message `samexport-reopened` tells that it is
   * done. Only files of lines are reopened.
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("reopen", G_TYPE_FROM_CLASS (klass),
      G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION,
      G_CALLBACK (gst_sam_export_reopen), NULL, NULL, NULL, G_TYPE_NONE, 0);

  base_class->start = GST_DEBUG_FUNCPTR (gst_sam_export_start);
  base_class->stop = GST_DEBUG_FUNCPTR (gst_sam_export_stop);
  base_class->set_caps = GST_DEBUG_FUNCPTR (gst_sam_export_set_caps);
  base_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_sam_allocation_propose);
  base_class->sink_event = GST_DEBUG_FUNCPTR (gst_sam_export_sink_event);
  base_class->transform_ip = GST_DEBUG_FUNCPTR (gst_sam_export_transform_ip);
}

static void
gst_sam_export_init (GstSamExport * self)
{
  GstBaseTransform *base = GST_BASE_TRANSFORM (self);

  /* In passthrough nothing is made writable, and transform_ip is called. */
  gst_base_transform_set_in_place (base, TRUE);
  gst_base_transform_set_passthrough (base, TRUE);
  gst_sam_flush_install (base);
  init_properties (self);
  gst_sam_tally_init (&self->tally, GST_ELEMENT (self));
  gst_sam_writer_init (&self->writer, &self->tally);
  gst_video_info_init (&self->info);
}

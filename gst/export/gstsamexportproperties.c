/* SPDX-License-Identifier: MIT */
/* The properties of samexport. */

#include "common/gstsamenums.h"
#include "common/gstsammutex.h"
#include "gstsamexportprivate.h"


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
  PROP_STATS,
};

#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_READY)

#define DEFAULT_QUEUE_SIZE 64
#define DEFAULT_MQTT_BUFFER (16 << 20)

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

void
gst_sam_export_set_frozen (GstSamExport * self, gboolean frozen)
{
  gst_sam_object_lock (self);
  self->frozen = frozen;
  gst_sam_object_unlock (self);
}

/* The element has started, so @pspec keeps its value. Setting a property to the
 * value that it already has is allowed. Values are not told: one of them is a
 * password. */
static void
refuse_change (GstSamExport * self, GParamSpec * pspec, const GValue * wanted)
{
  GValue value = G_VALUE_INIT;
  gchar *text;

  g_value_init (&value, pspec->value_type);
  g_object_get_property (G_OBJECT (self), pspec->name, &value);
  if (g_param_values_cmp (pspec, &value, wanted)) {
    text = g_strdup_printf ("The property '%s' keeps its value: it can be set "
        "only in the states NULL and READY.", pspec->name);
    gst_element_message_full_with_details (GST_ELEMENT (self),
        GST_MESSAGE_WARNING, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        text, NULL, __FILE__, GST_FUNCTION, __LINE__,
        gst_structure_new ("samexport-refusal", "reason", G_TYPE_STRING,
            "state", "property", G_TYPE_STRING, pspec->name, NULL));
  }
  g_value_unset (&value);
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
    refuse_change (self, pspec, value);
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
   * File to write, or `-` for standard output; for the format `davis` a folder,
   * which is created if its parent exists. A file that exists is replaced; a
   * folder with PNGs in it is refused, as two runs would mix.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, PROP_LOCATION,
      g_param_spec_string ("location", "Location",
          "File to write, or - for standard output; for davis a folder without "
          "PNGs", NULL,
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

void
gst_sam_export_install_properties (GstSamExportClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);

  gobject_class->set_property = gst_sam_export_set_property;
  gobject_class->get_property = gst_sam_export_get_property;
  install_what (gobject_class);
  install_steady (gobject_class);
  install_queue (gobject_class);
  install_broker (gobject_class);
  install_login (gobject_class);
}

void
gst_sam_export_init_properties (GstSamExport * self)
{
  self->mask_size = GST_SAM_EXPORT_MASK_SIZE_FRAME;
  self->volatile_fields = TRUE;
  self->queue_size = DEFAULT_QUEUE_SIZE;
  self->mqtt_qos = 1;
  self->mqtt_buffer = DEFAULT_MQTT_BUFFER;
}

void
gst_sam_export_clear_properties (GstSamExport * self)
{
  guint id;

  for (id = PROP_0; id <= PROP_STATS; id++) {
    if (get_text (self, id))
      g_free (*get_text (self, id));
  }
}

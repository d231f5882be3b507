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

#include "gstsamexportprivate.h"

#include "common/gstsamallocation.h"
#include "common/gstsamflush.h"
#include "common/gstsamlive.h"
#include "common/gstsamtext.h"
#include "gstsammqtt.h"

#include <string.h>

GST_DEBUG_CATEGORY (gst_sam_export_debug);
#define GST_CAT_DEFAULT gst_sam_export_debug

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink",
    GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src",
    GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));

#define gst_sam_export_parent_class parent_class
G_DEFINE_TYPE (GstSamExport, gst_sam_export, GST_TYPE_BASE_TRANSFORM);
GST_ELEMENT_REGISTER_DEFINE (samexport, "samexport", GST_RANK_NONE,
    GST_TYPE_SAM_EXPORT);

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
  const gboolean pictures = self->format == GST_SAM_EXPORT_FORMAT_DAVIS;
  const gboolean coco = self->format == GST_SAM_EXPORT_FORMAT_COCO ||
      self->format == GST_SAM_EXPORT_FORMAT_COCO_VIDEO;

  if (!is_set (self->location) && !is_set (self->mqtt_uri))
    return refuse (error, "None of the properties 'location' and 'mqtt-uri' is "
        "set, expected one of them.");
  if (is_set (self->location) && is_set (self->mqtt_uri))
    return refuse (error, "Both of the properties 'location' and 'mqtt-uri' "
        "are set, expected one of them.");
  if (is_set (self->mqtt_uri) &&
      self->format != GST_SAM_EXPORT_FORMAT_JSON_LINES)
    return refuse (error, "The property 'mqtt-uri' is set, which expects the "
        "format 'json-lines'.");
  if (self->atomic && (is_set (self->mqtt_uri) || pictures))
    return refuse (error, "The property 'atomic' is set, which expects a file, "
        "not the format 'davis' or a broker.");
  if (pictures && !strcmp (self->location, "-"))
    return refuse (error, "The property 'location' is '-', but the format "
        "'davis' expects a folder.");
  if (self->mask_size == GST_SAM_EXPORT_MASK_SIZE_NONE && (pictures || coco))
    return refuse (error, "The property 'mask-size' is 'none', but the formats "
        "'coco', 'coco-video' and 'davis' consist of masks.");
  return TRUE;
}

static GstSamOutput *
open_output (GstSamExport * self, GError ** error)
{
  GstSamMqttParams params;

  if (is_set (self->location))
    return self->atomic ? gst_sam_output_new_atomic (self->location,
        &self->tally, error) : gst_sam_output_new_file (self->location,
        &self->tally, error);
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
  GstSamFormat *format;
  GstSamOutput *output;
  gchar *run;

  if (self->format == GST_SAM_EXPORT_FORMAT_COCO ||
      self->format == GST_SAM_EXPORT_FORMAT_COCO_VIDEO)
    return gst_sam_format_new_coco (self->location,
        self->format == GST_SAM_EXPORT_FORMAT_COCO_VIDEO, self->mask_size,
        &self->tally, error);
  if (self->format == GST_SAM_EXPORT_FORMAT_DAVIS)
    return gst_sam_format_new_davis (self->location, self->mask_size,
        &self->tally, error);
  output = open_output (self, error);
  if (!output)
    return NULL;
  if (self->format == GST_SAM_EXPORT_FORMAT_MOT)
    return gst_sam_format_new_mot (output, self->location, self->atomic,
        &self->tally);
  run = self->run ? g_strdup (self->run) : g_strdup_printf ("%08x%08x",
      g_random_int (), g_random_int ());
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

  gst_sam_export_set_frozen (self, TRUE);
  gst_video_info_init (&self->info);
  self->frame = self->stream_start = 0;
  self->stream = 0;
  self->asked = FALSE;
  gst_sam_tally_start (&self->tally);
  if (check_settings (self, &error))
    format = open_format (self, &error);
  if (format && gst_sam_writer_start (&self->writer, format,
          is_set (self->location) ? self->location : self->mqtt_uri,
          self->queue_size, &error))
    return TRUE;
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR,
      error->domain, error->code, gst_sam_plain_text (error->message), NULL,
      __FILE__, GST_FUNCTION, __LINE__);
  g_error_free (error);
  gst_sam_export_set_frozen (self, FALSE);
  return FALSE;
}

static gboolean
gst_sam_export_stop (GstBaseTransform * base)
{
  GstSamExport *self = GST_SAM_EXPORT (base);

  gst_sam_writer_stop (&self->writer);
  gst_sam_export_set_frozen (self, FALSE);
  return TRUE;
}

static gboolean
gst_sam_export_set_caps (GstBaseTransform * base, GstCaps * in, GstCaps * out)
{
  GstSamExport *self = GST_SAM_EXPORT (base);

  /* Only the size is used, and only of frames without a meta. */
  if (!gst_video_info_from_caps (&self->info, in))
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

static void
gst_sam_export_finalize (GObject * object)
{
  GstSamExport *self = GST_SAM_EXPORT (object);

  gst_sam_writer_clear (&self->writer);
  gst_sam_tally_clear (&self->tally);
  gst_sam_export_clear_properties (self);
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
  gst_sam_export_install_properties (klass);
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
  gst_sam_export_init_properties (self);
  gst_sam_tally_init (&self->tally, GST_ELEMENT (self));
  gst_sam_writer_init (&self->writer, &self->tally);
  gst_video_info_init (&self->info);
}
